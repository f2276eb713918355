"""The independent reader, held against the counts that came with the sets.

Both were made by different people from the same raw files; the tests of the server stand on this.
"""

from collections import Counter

import pytest

from tests.recorded.anchors import ANCHORS
from tests.recorded.expected import guid_of
from tests.recorded.raw import read_set
from tests.recorded.sets import MANIFEST, NEEDED, archive, parameters

pytestmark = NEEDED


@pytest.mark.parametrize("name", parameters())
def test_reader_finds_the_counts_of_the_manifest(name: str) -> None:
    expect = MANIFEST[name]["expect"]
    by_host: dict[str, Counter[str]] = {}
    others: Counter[str] = Counter()
    for raw in read_set(archive(name)):
        if "sysmon" in raw.channel.lower():
            by_host.setdefault(raw.host, Counter())[str(raw.event_id)] += 1
        else:
            others[f"{raw.channel}|{raw.event_id}"] += 1
    wanted = expect.get("sysmon_by_host", {})
    if wanted:
        assert by_host == {host.lower(): Counter(counts) for host, counts in wanted.items()}
    for label, count in expect.get("other_top", {}).items():
        assert others[label] == count
    if "other_total" in expect:
        assert others.total() == expect["other_total"]


@pytest.mark.parametrize("name", parameters())
def test_reader_finds_the_evtx_counts_of_the_manifest(name: str) -> None:
    expect = MANIFEST[name]["expect"]
    if "by_channel_eid" not in expect:
        return
    records = [raw for raw in read_set(archive(name)) if raw.file.endswith(".evtx")]
    counts = Counter(f"{raw.channel}|{raw.event_id}" for raw in records)
    assert counts == Counter(expect["by_channel_eid"])
    assert len(records) == expect["records"]
    hosts = Counter(raw.host for raw in records)
    assert hosts == Counter({host.lower(): n for host, n in expect["hosts"].items()})


@pytest.mark.parametrize("name", parameters())
def test_reader_finds_the_processes_of_the_manifest(name: str) -> None:
    wanted = MANIFEST[name]["expect"].get("distinct_process_guids_by_host")
    if not wanted:
        return
    found: dict[str, set[str]] = {}
    for raw in read_set(archive(name)):
        if "sysmon" in raw.channel.lower():
            keys = ("ProcessGuid", "SourceProcessGuid", "SourceProcessGUID")
            guid = next((guid for key in keys if (guid := guid_of(raw.data.get(key)))), None)
            if guid:
                found.setdefault(raw.host, set()).add(guid)
    assert {host: len(some) for host, some in found.items()} == {
        host.lower(): count for host, count in wanted.items()
    }


def test_every_anchor_of_the_manifest_has_a_query() -> None:
    wanted = {name: len(entry["anchors"]) for name, entry in MANIFEST.items() if "anchors" in entry}
    assert {name: len(some) for name, some in ANCHORS.items()} == wanted
