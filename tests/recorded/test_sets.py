"""Every recorded set into an empty server: what the server says is what the raw file holds.

The other side of each comparison is `expected.py`, which reads the raw files by itself.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pytest

from tests.recorded.anchors import ANCHORS, Anchor
from tests.recorded.documents import Body, by_process, totals
from tests.recorded.event_table import LISTS
from tests.recorded.expected import Expected, expect
from tests.recorded.raw import read_set
from tests.recorded.server import Server, Tally, running, take, tally_of
from tests.recorded.sets import MANIFEST, NEEDED, archive, parameters

pytestmark = NEEDED


@dataclass(frozen=True)
class Imported:
    """A server that has taken one set, and what is expected of it."""

    name: str
    server: Server
    tally: Tally
    expected: Expected
    segments: list[Body]


@pytest.fixture(scope="module", params=parameters())
def imported(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Imported]:
    name: str = request.param
    data = tmp_path_factory.mktemp(name)
    tally = tally_of(take(data, archive(name)))  # without a server: `test_orders` has one
    with running(data) as server:
        yield Imported(name, server, tally, expect(read_set(archive(name))), server.segments())


def test_summary_counts_every_record_of_the_file_by_channel_and_id(imported: Imported) -> None:
    wanted: Counter[tuple[str, int]] = Counter()
    for (channel, event_id, _), count in imported.expected.tally.items():
        wanted[channel, event_id] += count
    reported: Counter[tuple[str, int]] = Counter()
    for (channel, event_id, _), count in imported.tally.items():
        reported[channel, event_id] += count
    assert reported == wanted


def test_summary_distinguishes_events_from_records_and_duplicates(imported: Imported) -> None:
    reported: Counter[tuple[str, int, str]] = Counter()
    for (channel, event_id, outcome), count in imported.tally.items():
        reported[channel, event_id, FATES[outcome]] += count
    assert _without_logons(reported) == _without_logons(imported.expected.tally)


FATES = {
    "events": "events",
    "record": "other",
    "not_kept": "other",
    "duplicate": "duplicate",
    "rejected": "rejected",
}
"""Maps outcomes of the summary to those of the independent reader, which ignores the setting that
decides which records without an event are kept."""


def _without_logons(tally: Counter[tuple[str, int, str]]) -> Counter[tuple[str, int, str]]:
    """A logon (4624) is an event only where a process of its session is known."""
    return Counter({key: n for key, n in tally.items() if key[:2] != ("security", 4624)})


def test_kept_or_not_is_decided_by_channel_and_id_alone(imported: Imported) -> None:
    kept = {key[:2] for key in imported.tally if key[2] == "record"}
    dropped = {key[:2] for key in imported.tally if key[2] == "not_kept"}
    assert not kept & dropped
    assert not {key for key in dropped if "sysmon" in key[0]}


def test_every_process_guid_with_an_event_is_found_by_process_id(imported: Imported) -> None:
    sensors = {s["hostname"].lower(): s["sensor_id"] for s in imported.segments}
    wanted = {
        f"{sensors[host]:08x}{guid[8:]}": host
        for host, guids in imported.expected.sources.items()
        for guid in guids
    }
    for ids in batched(wanted, IDS_A_QUERY):
        query = " OR ".join(f"process_id:{process_id}" for process_id in ids)
        found = {s["id"]: s["hostname"].lower() for s in imported.server.segments(query)}
        assert found == {process_id: wanted[process_id] for process_id in ids}


IDS_A_QUERY = 25


def batched(ids: Iterable[str], size: int) -> Iterator[list[str]]:
    remaining = iter(ids)
    while batch := list(islice(remaining, size)):
        yield batch


def test_events_by_host_and_list_are_those_of_the_file(imported: Imported) -> None:
    twice = imported.expected.reported_twice
    wanted = {
        host: {
            name: counts[name] - (name == "netconn") * twice[host] for name in LISTS if counts[name]
        }
        for host, counts in imported.expected.totals.items()
    }
    reported = {
        host: {name: count for name, count in counts.items() if count}
        for host, counts in totals(imported.segments).items()
    }
    assert reported == wanted


def test_processes_by_host_are_those_of_the_file(imported: Imported) -> None:
    reported = Counter(host for host, _ in by_process(imported.segments))
    assert reported == Counter({host: len(k) for host, k in imported.expected.processes.items()})


def test_every_anchor_is_found(imported: Imported) -> None:
    reported = MANIFEST[imported.name].get("anchors", [])
    for wanted, anchor in zip(reported, ANCHORS.get(imported.name, ()), strict=True):
        assert _found(imported, anchor, wanted) >= wanted["count"], wanted


def _found(imported: Imported, anchor: Anchor, wanted: dict[str, Any]) -> int:
    """Returns the number of occurrences of an anchor on its hosts."""
    if anchor.of == "tally":
        key = ("microsoft-windows-sysmon/operational", wanted["sysmon_eid"], "record")
        return imported.tally[key]
    hosts = {host.lower() for host in wanted["hosts"]}
    ids = {name for name in by_process(imported.server.segments(anchor.query)) if name[0] in hosts}
    if anchor.of == "process":
        return len(ids)
    segments = by_process(imported.segments)
    events = [e for name in ids for e in imported.server.events(segments[name])[anchor.of]]
    return sum(anchor.text in str(event) for event in events)


def test_importing_a_set_again_changes_nothing(imported: Imported) -> None:
    again = tally_of(imported.server.take(archive(imported.name)))
    assert {outcome for _, _, outcome in again} <= {"duplicate", "not_kept"}
    assert again.total() == imported.tally.total()
    assert imported.server.segments() == imported.segments
