"""Recorded event logs through decode and normalise alone: no record is lost, no order matters.

`test_sets.py` asks the same of a whole server; here it takes seconds, and points at the stage.
"""

import io
import random
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import evtx
import msgspec
import pytest

from tests.recorded.event_table import LISTS
from tests.recorded.expected import expect
from tests.recorded.raw import members, read_set
from tests.recorded.sets import MANIFEST, NEEDED, archive, parameters
from vedette.ingest.context.host_context import HostContext
from vedette.ingest.decode import decode
from vedette.ingest.normalise import SOURCES
from vedette.ingest.normalise.keep import KEEP
from vedette.ingest.record import Record
from vedette.model.event import BinarySeen, Kept, Outcome

pytestmark = NEEDED

_WINDOWS = [name for name in MANIFEST if "audit" not in name and "auoms" not in name]
_SMALL = [name for name in _WINDOWS if MANIFEST[name]["bytes"] < 900_000]
_JSON = [name for name in _WINDOWS if "sysmon_by_host" in MANIFEST[name].get("expect", {})]
_EVTX = [name for name in _WINDOWS if "by_channel_eid" in MANIFEST[name].get("expect", {})]


@lru_cache(maxsize=1)
def _texts(name: str) -> tuple[bytes, ...]:
    """Returns the request texts of a set: lines of JSON, and EVTX rendered by the importer, which
    takes longer than most tests. Each test parses its own records, because normalization may change
    them."""
    return tuple(_rendered(name))


def _rendered(name: str) -> Iterator[bytes]:
    for member, content in members(archive(name)):
        if content[:8] == b"ElfFile\0":
            entries: Iterator[Any] = evtx.PyEvtxParser(io.BytesIO(content)).records_json()
            for entry in entries:
                yield str(entry["data"]).encode()
        elif member.endswith((".json", ".txt")) and name in _JSON:
            yield from filter(None, map(bytes.strip, content.split(b"\n")))


def _records(name: str) -> list[Record]:
    """Records of a set, each once."""
    records = [record for text in _texts(name) for record in decode(text)]
    seen: set[tuple[str, str, int]] = set()
    once: list[Record] = []
    for record in records:
        key = (record.host, record.channel, record.record_id)
        if not record.record_id or key not in seen:
            seen.add(key)
            once.append(record)
    return once


def windows_sets() -> list[str]:
    """Sets of Windows event logs, and of Sysmon for Linux."""
    return sorted({*_JSON, *_EVTX})


def records_of_set(name: str) -> list[Record]:
    """Records of a set, each once."""
    return _records(name)


def _become(records: list[Record]) -> list[tuple[Record, list[Outcome]]]:
    """Returns the outcomes of the records as one batch."""
    contexts = {
        host: HostContext(number)
        for number, host in enumerate(sorted({record.host for record in records}), 1)
    }
    for record in records:
        SOURCES[record.vedette_record].learn(record, contexts[record.host])
    return [(r, SOURCES[r.vedette_record].normalise(r, contexts[r.host], KEEP)) for r in records]


@pytest.mark.parametrize("name", parameters(_JSON))
def test_sysmon_records_by_host_and_id_are_those_of_the_manifest(name: str) -> None:
    found: dict[str, Counter[str]] = {}
    for text in _texts(name):
        for record in decode(text):
            if "Sysmon" in record.channel:
                found.setdefault(record.host, Counter())[str(record.event_id)] += 1
    wanted = MANIFEST[name]["expect"]["sysmon_by_host"]
    assert found == {host.lower(): Counter(counts) for host, counts in wanted.items()}


@pytest.mark.parametrize("name", parameters(_EVTX))
def test_evtx_records_by_channel_and_id_are_those_of_the_manifest(name: str) -> None:
    found = Counter(f"{r.channel}|{r.event_id}" for text in _texts(name) for r in decode(text))
    wanted = MANIFEST[name]["expect"]["by_channel_eid"]
    assert {key: found[key] for key in wanted} == wanted


@pytest.mark.parametrize("name", parameters(_WINDOWS))
def test_every_sysmon_record_becomes_an_event_or_is_kept(name: str) -> None:
    modelled = {*range(1, 4), *range(5, 9), *range(10, 16), 17, 18, 22, 23, *range(25, 30)}
    for record, outcomes in _become(_records(name)):
        if "Sysmon" in record.channel:
            is_kept = [type(outcome) for outcome in outcomes] == [Kept]
            assert outcomes
            assert is_kept == (record.event_id not in modelled), record


@pytest.mark.parametrize("name", parameters(_WINDOWS))
def test_events_and_processes_by_host_are_those_of_the_file(name: str) -> None:
    expected = expect(read_set(archive(name)))
    events: dict[str, Counter[str]] = {}
    processes: dict[str, set[str]] = {}
    for record, outcomes in _become(_records(name)):
        for outcome in outcomes:
            if not isinstance(outcome, Kept | BinarySeen):
                processes.setdefault(record.host, set()).add(outcome.process_id)
                events.setdefault(record.host, Counter())[type(outcome).__name__.lower()] += 1
    for host, wanted in expected.totals.items():
        assert {n: events[host][n] for n in LISTS} == {n: wanted[n] for n in LISTS}
    assert {h: len(p) for h, p in processes.items()} == {
        h: len(p) for h, p in expected.processes.items()
    }


@pytest.mark.parametrize("name", parameters(_SMALL))
def test_reversed_and_shuffled_records_become_the_same(name: str) -> None:
    records = _records(name)
    in_file_order = _counted(records)
    assert _counted(records[::-1]) == in_file_order
    random.Random(1).shuffle(records)
    assert _counted(records) == in_file_order


def _counted(records: list[Record]) -> Counter[bytes]:
    """Counts each outcome, regardless of the order of its values."""
    return Counter(
        type(outcome).__name__.encode() + msgspec.json.encode(outcome, order="sorted")
        for _, outcomes in _become(records)
        for outcome in outcomes
    )
