"""Assembles observations, in any order of arrival, into events in chronological order."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from vedette.sensor.events.assemble import Assembler, Inbox, Outputs
from vedette.sensor.events.collection import Collection
from vedette.sensor.events.event_format import EventWriter
from vedette.sensor.events.filters import Filters
from vedette.sensor.events.hashes import FileHashes
from vedette.sensor.events.process_table import Processes
from vedette.sensor.kernel.boot import Boot
from vedette.sensor.kernel.observations import (
    Accessed,
    Blocked,
    Connected,
    Ended,
    Executed,
    FileChanged,
    Forked,
    Observation,
)
from vedette.sensor.limits import HOLD_US, INBOX_MAX

T = 1_700_000_000_000_000
NOBODY = 4_000_000  # above the largest pid, so nothing is found in /proc


class Bench:
    """An assembler with what it wrote."""

    def __init__(self, folder: Path) -> None:
        self.events: list[dict[str, Any]] = []
        self.inbox = Inbox()
        boot = Boot("b", T - 10**12)
        outputs = Outputs(
            lambda line: self.events.append(json.loads(line)),
            FileHashes(),
            Filters(folder / "filters.json"),
            lambda ip, port: (ip, port) == ("203.0.113.9", 80),
            Collection(folder / "collection.json"),
            "/var/lib/own",
        )
        self.collection = outputs.collection
        self.assembler = Assembler(Processes(boot), EventWriter("b", T), outputs, self.inbox)

    def emit(self, *seen: Observation) -> list[dict[str, Any]]:
        """Returns the events written for these observations, in this order of arrival."""
        self.inbox.put(list(seen))
        self.assembler.round(T + 10**9)
        return self.events

    def kinds(self) -> list[tuple[str, int]]:
        return [(event["type"], event["proc"]["pid"] - NOBODY) for event in self.events]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def executed(pid: int, after_ms: int, path: str = "/bin/no-such", **members: Any) -> Executed:
    usual = {"ppid": NOBODY, "cmdline": path, "cwd": "/", "uid": 0, "loginuid": -1, "sid": 1}
    return Executed(T + after_ms * 1_000, NOBODY + pid, path=path, **{**usual, **members})


def forked(pid: int, after_ms: int, parent: int = 1) -> Forked:
    at_us = T + after_ms * 1_000
    return Forked(at_us, NOBODY + parent, NOBODY + pid, at_us // 10_000 * 10_000)


def ended(pid: int, after_ms: int) -> Ended:
    return Ended(T + after_ms * 1_000, NOBODY + pid, 0)


def wrote(pid: int, after_ms: int, action: str = "create", path: str = "/tmp/x") -> FileChanged:
    return FileChanged(T + after_ms * 1_000, NOBODY + pid, action, path, exe="/bin/exe")


def test_events_are_emitted_in_the_order_of_their_times(bench: Bench) -> None:
    bench.emit(ended(2, 30), wrote(2, 20), executed(2, 10), forked(2, 10))
    assert bench.kinds() == [("start", 2), ("file", 2), ("end", 2)]


def test_a_fork_goes_before_what_audit_says_a_tick_too_early(bench: Bench) -> None:
    bench.emit(executed(2, 6), forked(2, 10), ended(2, 10), wrote(2, 8))
    assert bench.kinds() == [("start", 2), ("file", 2), ("end", 2)]
    assert len({event["proc"]["start_us"] for event in bench.events}) == 1


def test_a_fork_that_does_nothing_is_not_reported(bench: Bench) -> None:
    assert bench.emit(executed(1, 0), forked(2, 10), ended(2, 20))[1:] == []


def test_a_fork_that_does_something_runs_its_parents_program(bench: Bench) -> None:
    bench.emit(executed(1, 0, "/bin/parent"), forked(2, 30), wrote(2, 40))
    assert bench.kinds() == [("start", 1), ("start", 2), ("file", 2)]
    assert bench.events[1]["path"] == "/bin/parent"
    assert bench.events[1]["ppid"] == NOBODY + 1
    assert bench.events[1]["parent_start_us"] == bench.events[0]["proc"]["start_us"]


def test_a_second_program_in_a_process_is_an_exec_with_the_same_key(bench: Bench) -> None:
    bench.emit(executed(2, 0, "/bin/one"), executed(2, 50, "/bin/two"))
    assert [event["type"] for event in bench.events] == ["start", "exec"]
    assert bench.events[0]["proc"] == bench.events[1]["proc"]


def test_a_pid_that_is_used_again_is_another_process(bench: Bench) -> None:
    bench.emit(forked(2, 0), executed(2, 10), ended(2, 100))
    bench.emit(forked(2, 200), executed(2, 210), ended(2, 300))
    starts = [event["proc"]["start_us"] for event in bench.events if event["type"] == "start"]
    assert len(set(starts)) == 2


def test_what_is_read_late_belongs_to_the_process_that_did_it(bench: Bench) -> None:
    bench.emit(forked(2, 0), executed(2, 10), ended(2, 100), forked(2, 200), executed(2, 210))
    bench.emit(wrote(2, 50, "last_write"))
    assert bench.events[-1]["type"] == "file"
    assert bench.events[-1]["proc"] == bench.events[0]["proc"]


def test_an_unknown_process_is_reported_with_its_first_action(bench: Bench) -> None:
    bench.emit(wrote(7, 10))
    assert bench.kinds() == [("start", 7), ("file", 7)]
    assert bench.events[0]["path"] == "/bin/exe"


def test_a_start_from_audit_is_not_reported_again_from_proc(bench: Bench) -> None:
    bench.emit(executed(2, 10), executed(2, 14, is_exact=False), executed(3, 10, is_exact=False))
    assert bench.kinds() == [("start", 2), ("start", 3)]


def test_a_file_that_is_opened_again_and_again_is_one_write_a_minute(bench: Bench) -> None:
    bench.emit(*(wrote(2, ms, "write") for ms in range(0, 1_000, 10)), wrote(2, 61_000, "write"))
    assert [event["type"] for event in bench.events].count("file") == 2


def test_young_events_wait(bench: Bench) -> None:
    bench.inbox.put([executed(2, 0)])
    bench.assembler.round(T + HOLD_US - 1_000)
    assert bench.events == []
    bench.assembler.round(T + HOLD_US)
    assert len(bench.events) == 1


def test_nothing_waits_at_the_end(bench: Bench) -> None:
    bench.inbox.put([executed(2, 0)])
    bench.assembler.round(T, final=True)
    assert len(bench.events) == 1


def connected(ip: str, exit_code: int) -> Connected:
    return Connected(T, NOBODY + 2, True, ip, 80, exit_code, exe="/bin/exe")


@pytest.mark.parametrize(
    ("ip", "exit_code", "found_events"),
    [
        ("203.0.113.1", 0, [False]),
        ("203.0.113.1", -115, [False]),
        ("203.0.113.1", -111, []),
        ("203.0.113.9", -111, [True]),
        ("203.0.113.9", -115, [True]),
    ],
)
def test_failed_connections_are_reported_when_isolation_refused_them(
    bench: Bench, ip: str, exit_code: int, found_events: list[bool]
) -> None:
    events = bench.emit(connected(ip, exit_code))
    found = [event.get("blocked", False) for event in events if event["type"] == "net"]
    assert found == found_events


def test_a_block_names_who_tried(bench: Bench) -> None:
    bench.emit(executed(1, 0), Blocked(T + 50_000, NOBODY + 1, "/tmp/evil", "aa", "bb"))
    assert bench.events[-1]["type"] == "block"
    assert bench.events[-1]["proc"] == bench.events[0]["proc"]
    assert bench.events[-1]["path"] == "/tmp/evil"


def test_texts_that_are_not_unicode_are_reported(bench: Bench) -> None:
    bench.emit(executed(2, 0, "/bin/\udcff"))
    assert bench.events[0]["path"] == "/bin/?"


def test_numbers_of_events_rise(bench: Bench) -> None:
    bench.emit(*(executed(pid, pid) for pid in range(1, 50)))
    numbers = [event["seq"] for event in bench.events]
    assert numbers == sorted(set(numbers))


def test_an_inbox_that_is_full_counts_what_it_loses() -> None:
    inbox = Inbox()
    inbox.put([ended(1, 0)] * INBOX_MAX)
    inbox.put([ended(1, 0)] * 3)
    assert (inbox.lost, len(inbox.take())) == (3, INBOX_MAX)


# --- what the group collects ------------------------------------------------------------


@pytest.mark.parametrize(
    ("skipped", "kinds"),
    [
        ("netconns", ["start", "file", "end"]),
        ("filemods", ["start", "net", "end"]),
        ("nonbinary_filewrites", ["start", "net", "end"]),
        ("processes", ["file", "net"]),
        ("regmods", ["start", "file", "net", "end"]),
    ],
)
def test_what_the_group_does_not_collect_is_not_reported(
    bench: Bench, skipped: str, kinds: list[str]
) -> None:
    bench.collection.replace([skipped])
    connected = Connected(T + 20_000, NOBODY + 2, True, "198.51.100.7", 443, 0, exe="/bin/exe")
    bench.emit(executed(2, 10), wrote(2, 15), connected, ended(2, 30))
    assert [kind for kind, _ in bench.kinds()] == kinds


def test_hashes_and_users_are_left_out_where_the_group_says_so(bench: Bench) -> None:
    bench.collection.replace(["filewritemd5s", "usercontext"])
    hashed = FileChanged(T + 20_000, NOBODY + 2, "last_write", "/tmp/x", exe="/b", md5="a" * 32)
    start, file = bench.emit(executed(2, 10), hashed)
    assert not {"uid", "user", "loginuid"} & set(start)
    assert "md5" not in file


def test_what_is_not_collected_is_saved(tmp_path: Path) -> None:
    path = tmp_path / "collection.json"
    Collection(path).replace(["netconns"])
    again = Collection(path)
    assert (again.includes("netconns"), again.includes("filemods")) == (False, True)


@pytest.mark.parametrize(
    ("pid", "path", "reported"),
    [
        (7, "/var/lib/own/bans.json", True),
        (7, "/var/lib/own", True),
        (7, "/var/lib/ownother/x", False),
        (7, "/tmp/x", False),
    ],
)
def test_who_changes_files_of_the_sensor_tampers(
    bench: Bench, pid: int, path: str, reported: bool
) -> None:
    changed = FileChanged(T, NOBODY + pid, "delete", path)
    (file,) = (one for one in bench.emit(changed) if one["type"] == "file")
    assert file.get("tamper", False) is reported


def test_who_kills_the_sensor_or_its_guard_tampers(bench: Bench) -> None:
    guard = Executed(T, NOBODY + 2, os.getpid(), "/usr/bin/guard", "guard", "/", 0, 0, 0)
    seen = [
        Accessed(T + 10, NOBODY + 7, "kill", os.getpid()),
        Accessed(T + 20, NOBODY + 7, "kill", NOBODY + 2),
        Accessed(T + 30, NOBODY + 7, "kill", NOBODY + 8),
        Accessed(T + 40, os.getpid(), "kill", NOBODY + 2),
    ]
    events = [one for one in bench.emit(guard, *seen) if one["type"] == "proc"]
    assert [one.get("tamper", False) for one in events] == [True, True, False, False]
