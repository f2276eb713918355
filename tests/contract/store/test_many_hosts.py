"""Reads over hosts of both shards answer what one engine does, within every scope."""

import random
from collections.abc import Callable, Iterator
from dataclasses import asdict, is_dataclass, replace
from typing import Any

import pytest

from tests.contract.alerting.detections import detection
from tests.contract.store.rows import HOUR_MS, NEXT_MS, partial, process_id, store
from tests.support.indexed import ALL_STORES, STORES
from tests.support.store_pool import StorePool
from vedette.alerting.alert_rows import Context, new_alert
from vedette.model.binary_fields import BINARY
from vedette.model.event import BinarySeen, Childproc, Filemod
from vedette.model.findings.alert import AlertRow
from vedette.model.scope import EVERYTHING, Scope
from vedette.model.segment import PartialSegment
from vedette.query import check, compile_binaries, compile_segments, parse
from vedette.query.compile.processes_sql import compile_processes
from vedette.store.engine.client import Engine
from vedette.store.integrity.identity import newest_sensor_id, read_hosts
from vedette.store.partitions.content import content
from vedette.store.partitions.lifecycle import open_partition
from vedette.store.partitions.partition import Partition, partition_name
from vedette.store.read import binaries, binary_facets, binary_usage, process, recovery, relatives
from vedette.store.read.detection import (
    alert_context,
    alert_facets,
    alert_groups,
    alert_selection,
    alerts,
)
from vedette.store.read.detection.alert_histogram import alerts_over_time
from vedette.store.read.recent_processes import processes_since
from vedette.store.read.running_hosts import running
from vedette.store.read.segment_facets import FACETS, count_facets
from vedette.store.read.segment_groups import count_groups, search_groups
from vedette.store.read.segment_histogram import count_by_week_hour, count_over_time, span_of
from vedette.store.read.segment_search import count_segments, search_segments
from vedette.store.sql.scope_filter import ALL
from vedette.store.write.alerts import write_alerts
from vedette.store.write.commit import BinaryRow, Commit
from vedette.store.write.insert import write_commit

pytestmark = pytest.mark.skipif(not ALL_STORES, reason="one of `make contracts`")

SENSORS = range(1, 6)
NUMBERS = range(1, 7)
IDS = [process_id(number, sensor) for sensor in SENSORS for number in NUMBERS]
MD5S = [f"{number:02x}" * 16 for number in range(1, 5)]
NOW_US = (HOUR_MS + 10_000_000) * 1_000
MINUTE_US = 60_000_000
NEWEST = (("created_time", True),)
PARTITION = Partition(HOUR_MS, 0, "warm", False, 0, 0, 0, "")
"""In place of one with its sizes on disk."""
SCOPES = {
    "all": EVERYTHING,
    "both": Scope(frozenset({1, 2, 4})),
    "one": Scope(frozenset({1, 3})),
    "none": Scope(frozenset()),
}


def ran(draw: random.Random, number: int, sensor_id: int, seq: int) -> PartialSegment:
    """Returns a segment of a program: some events differ per host, the others are common to all
    hosts."""
    own, child = process_id(number, sensor_id), process_id(draw.choice(NUMBERS), sensor_id)
    return partial(
        number,
        Filemod(own, draw.randrange(1_000), 1, draw.choice(("c:\\x\\a.exe", "c:\\y"))),
        Childproc(own, draw.randrange(1_000), 1, 0, child, "/bin/c"),
        sensor_id=sensor_id,
        window_ms=draw.choice((HOUR_MS, NEXT_MS)),
        seq=seq,
        parent_id=process_id(max(1, number // 2), sensor_id),
        parent_name=f"p{'x' * sensor_id if number == 4 else number // 2}.exe",
        parent_md5=MD5S[number // 2 % 4],
        start=NOW_US - 1_000 * number - 60 * MINUTE_US * sensor_id,
        hostname=f"h{sensor_id}",
        group=f"g{sensor_id % 2}",
        process_name=f"p{number}.exe",
        process_md5=MD5S[number % 4],
        cmdline=f"p{number}.exe {'x' * sensor_id if number == 5 else 'all'}",
        last_update=NOW_US + seq,
        last_server_update=NOW_US + seq,
    )


def saw(draw: random.Random, sensor_id: int, seq: int) -> BinaryRow:
    """Each host knows something else of a file."""
    said = {"product_name": draw.choice("pq"), "digsig_result": "Signed"}
    known = {name: value for name, value in said.items() if draw.random() < 0.4}
    md5 = draw.choice(MD5S)
    seen = BinarySeen(NOW_US - seq, md5, md5 * 2, "", f"c:\\{sensor_id}.exe", known)
    group = f"g{sensor_id % 2}"
    return BinaryRow(sensor_id, f"h{sensor_id}", group, "windows", seen, NOW_US, seq)


def alert(number: int) -> AlertRow:
    sensor_id = SENSORS[number % 5]
    made = new_alert([detection(number, sensor_id=sensor_id)], Context(), NOW_US + number)
    return made | {
        "hostname": f"h{sensor_id}",
        "group": f"g{sensor_id % 2}",
        "md5": MD5S[number % 4],
        "process_id": process_id(NUMBERS[number % 6], sensor_id),
        "status": "Resolved" if number % 3 else "Unresolved",
        "assigned_to": ("", "anna", "bob")[number % 3],
    }


def fill(engine: Engine) -> None:
    draw = random.Random(11)
    open_partition(engine, HOUR_MS)
    for seq in range(1, 5):
        places = [(number, sensor_id) for sensor_id in SENSORS for number in NUMBERS]
        store(engine, *(ran(draw, *place, seq) for place in places if draw.random() < 0.7))
        write_commit(engine, Commit(binaries=[saw(draw, one, seq) for one in SENSORS]))
    write_alerts(engine, [alert(number) for number in range(12)])
    open_partition(engine, HOUR_MS + 86_400_000)


Read = Callable[[Engine, Scope], Any]
READS: dict[str, Read] = {
    "over time": lambda e, s: count_over_time(e, ALL, s, "start", MINUTE_US, by_process=True),
    "weeks": lambda e, s: count_by_week_hour(e, ALL, s, by_process=True),
    "span": lambda e, s: span_of(e, ALL, s, "start"),
    "groups": lambda e, s: search_groups(e, ALL, s, "process_md5", rows=3),
    "group count": lambda e, s: count_groups(e, ALL, s, "process_md5"),
    "facets": lambda e, s: count_facets(e, ALL, s, list(FACETS), NOW_US),
    "files": lambda e, s: binaries.binaries_of(e, MD5S, s),
    "claims": lambda e, s: binaries.claimed_sha256(e, MD5S[0], s),
    "signatures": lambda e, s: binaries.signatures_of(e, MD5S, MD5S, s),
    "standings": lambda e, s: binaries.standings_of(e, MD5S, s),
    "frequency": lambda e, s: binaries.frequency_of(e, "md5", MD5S[1], s),
    "usage": lambda e, s: binary_usage.usage_of(e, MD5S[:2], s),
    "holders": lambda e, s: binary_usage.holders_of(e, MD5S[:2], s),
    "paths": lambda e, _: binary_usage.paths_on(e, MD5S, list(SENSORS), 5),
    "unsigned": lambda e, _: binary_usage.first_unsigned(e, list(SENSORS), 0, 9),
    "running": lambda e, s: running(e, MD5S[1], s, 0),
    "processes": lambda e, s: process.process_rows(e, IDS, s),
    "children": lambda e, s: [process.children_of(e, one, s, limit=3) for one in IDS[:8]],
    "segments": lambda e, s: [process.segments_of(e, one, s) for one in IDS[:8]],
    "ties": lambda e, s: relatives.ties_of(e, IDS, s, limit=100),
    "first ties": lambda e, s: relatives.ties_of(e, IDS, s, limit=3),
    "named children": lambda e, _: relatives.children_named(e, IDS, 100),
    "reported children": lambda e, s: relatives.reports_of(e, IDS, s, limit=100),
    "first reports": lambda e, s: relatives.reports_of(e, IDS, s, limit=5),
    "facts": lambda e, s: relatives.facts_of(e, IDS, s),
    "recent": lambda e, _: list(processes_since(e, 0, 100)),
    "known": lambda e, _: recovery.known_processes(e, IDS),
    "newest": lambda e, _: recovery.newest(e),
    "hosts": lambda e, _: (read_hosts(e), newest_sensor_id(e)),
    "content": lambda e, _: replace(content(e, partition_name(HOUR_MS)), partition=PARTITION),
    "facts of alerts": lambda e, _: alert_context.process_facts(e, IDS),
    "hosts by file": lambda e, _: alert_context.hosts_by_file(e, MD5S),
    "alerts": lambda e, s: alerts.search_alerts(e, ALL, s, NEWEST, start=2, rows=5),
    "alert facets": lambda e, s: alert_facets.count_alert_facets(e, ALL, s, ["group", "status"]),
    "alert groups": lambda e, s: alert_groups.group_alerts(e, ALL, s, "md5", ("count", True)),
    "alerts over time": lambda e, s: alerts_over_time(e, ALL, s, 1_000),
    "selection": lambda e, s: alert_selection.summary(e, ALL, s, "bob"),
}
QUERIES = (
    "process_name:p1.exe",
    "filemod:a.exe -process_name:p1.exe",
    "prevalence:[1 TO 2]",
    "prevalence_parent:[1 TO 3]",
    "prevalence_pair:[1 TO 2]",
    "prevalence_cmdline:[1 TO 2]",
    "digsig_result:Signed",
    "process_name:p2.exe OR filemod:a.exe",
)
BINARY_QUERIES = ("product_name:p", "-product_name:p", "host_count:[2 TO *]", "group:g1")


@pytest.fixture(scope="module")
def engines(store_pool: StorePool) -> Iterator[tuple[Engine, Engine]]:
    """One without shards, and one with two."""
    one, two = (store_pool.take(STORES[name]) for name in ("plain", "two_shards"))
    for engine in (one, two):
        fill(engine)
    yield one, two
    for engine in (one, two):
        store_pool.give_back(engine)


def unordered(found: Any) -> Any:
    """An answer; members of lists in an order of their own, since many have none."""
    if is_dataclass(found) and not isinstance(found, type):
        return unordered(asdict(found))
    if isinstance(found, dict):
        return {name: unordered(value) for name, value in found.items()}
    if isinstance(found, list | tuple | set | frozenset):
        return sorted((unordered(one) for one in found), key=repr)
    return found


def check_all(engines: tuple[Engine, Engine], read: Read) -> None:
    one, two = engines
    for name, scope in SCOPES.items():
        assert unordered(read(two, scope)) == unordered(read(one, scope)), name


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_read_is_answered_alike(engines: tuple[Engine, Engine], read: Read) -> None:
    check_all(engines, read)


@pytest.mark.parametrize("compiler", [compile_segments, compile_processes])
@pytest.mark.parametrize("text", QUERIES)
def test_a_search_finds_the_same(
    engines: tuple[Engine, Engine], compiler: Callable[..., Any], text: str
) -> None:
    where = compiler(check(parse(text), now_us=NOW_US))
    check_all(engines, lambda e, s: search_segments(e, where, s, rows=200))
    check_all(engines, lambda e, s: search_segments(e, where, s, start=3, rows=4))
    check_all(engines, lambda e, s: count_segments(e, where, s))
    assert count_segments(engines[0], where, EVERYTHING)


@pytest.mark.parametrize("text", BINARY_QUERIES)
def test_a_search_of_files_finds_the_same(engines: tuple[Engine, Engine], text: str) -> None:
    where = compile_binaries(check(parse(text), BINARY, now_us=NOW_US))
    by_md5, names = (("md5", False),), ["digsig_result", "group"]
    check_all(engines, lambda e, s: binaries.search_binaries(e, where, s, by_md5, rows=2))
    check_all(engines, lambda e, s: binaries.count_binaries(e, where, s))
    check_all(engines, lambda e, s: binary_facets.count_binary_facets(e, where, s, names, NOW_US))
    assert binaries.count_binaries(engines[0], where, EVERYTHING)
