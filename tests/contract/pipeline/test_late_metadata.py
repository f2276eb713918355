"""Better metadata that arrives late reaches every earlier segment of its process."""

from pathlib import Path

import pytest

from tests.contract.pipeline.requests import security
from tests.contract.pipeline.write_path import (
    NOON_S,
    Prepare,
    WritePath,
    event_texts,
    found,
    local_processor,
    merge,
    processes,
    segment_ids,
    worker_processor,
    write_path,
)
from tests.support.sysmon import Host, Process
from vedette.clock import DrivenClock
from vedette.limits import SEGMENT_WINDOW_MS
from vedette.store.engine.client import ClickHouseEngine

NOON_MS = NOON_S * 1_000
WINDOW_S = SEGMENT_WINDOW_MS // 1_000


class Late:
    """A process whose creation is reported after its events."""

    def __init__(self) -> None:
        self.host = Host("late.example", NOON_S - 60)
        self.parent = Process(4, "C:\\parent.exe", "parent.exe /p", NOON_S - 90)
        self.process = self.host.process(88, "C:\\late.exe", "late.exe --hide secret")

    def write(self, number: int) -> dict[str, object]:
        return self.host.of(self.process, 11, 60.0 + number, TargetFilename=f"C:\\{number}.txt")

    def id(self, engine: ClickHouseEngine) -> str:
        return next(
            name for name in processes(engine) if name.endswith(self.process.sensor_less_id)
        )


LATE = "cmdline:secret username:ann parent_name:parent.exe childproc_count:0"


@pytest.mark.parametrize("restarts", [False, True], ids=["running", "restarted"])
def test_a_late_creation_reaches_the_segments_of_earlier_windows(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock, restarts: bool
) -> None:
    late = Late()
    with write_path(engine, tmp_path, clock) as path:
        for number in range(3):
            path.post([late.write(number)])
            clock.advance(WINDOW_S)
        assert found(engine, LATE) == []
        if not restarts:
            path.post([late.host.created(late.process, late.parent)])
    if restarts:
        with write_path(engine, tmp_path, clock) as path:
            path.post([late.host.created(late.process, late.parent)])
    starts = [NOON_MS + n * SEGMENT_WINDOW_MS for n in range(4)]
    assert found(engine, LATE) == [(late.id(engine), start) for start in starts]
    assert found(engine, "filemod:1.txt cmdline:secret") == [(late.id(engine), starts[1])]
    merge(engine)
    assert len(found(engine, LATE)) == 4
    assert len(event_texts(engine, late.id(engine))) == 3


def test_what_the_memory_has_forgotten_is_completed_as_well(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock
) -> None:
    late = Late()
    others = [late.host.process(1_000 + n, "C:\\other.exe") for n in range(5)]
    with write_path(engine, tmp_path, clock, cached_processes=2) as path:
        path.post([late.write(0)])
        clock.advance(WINDOW_S)
        path.post([late.host.of(one, 11, 1, TargetFilename="C:\\x") for one in others])
        clock.advance(WINDOW_S)
        path.post([late.host.created(late.process, late.parent)])
    assert len(found(engine, LATE)) == 2


def test_facts_of_a_process_known_to_the_store_are_kept_in_the_next_window(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock
) -> None:
    late = Late()
    with write_path(engine, tmp_path, clock) as path:
        path.post([late.host.created(late.process, late.parent)])
    clock.advance(WINDOW_S)
    with write_path(engine, tmp_path, clock) as path:
        path.post([late.write(1)])
    assert len(found(engine, "filemod:1.txt cmdline:secret username:ann")) == 1
    assert len(segment_ids(engine, late.id(engine))) == 2


def test_late_metadata_leaves_the_time_of_an_earlier_segment_alone(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock
) -> None:
    late = Late()
    with write_path(engine, tmp_path, clock) as path:
        path.post([late.write(0)])
        columns = "last_update, last_server_update, first_server_update"
        question = f"SELECT {columns} FROM segment FINAL WHERE window_ms = {NOON_MS}"
        before = list(engine.query(question).rows)
        clock.advance(WINDOW_S)
        path.post([late.host.created(late.process, late.parent)])
        of_late = question + f" AND process_id = '{late.id(engine)}'"
        assert list(engine.query(of_late).rows) == before


class Family:
    """A parent whose creation reports its hash and user, and its child."""

    def __init__(self) -> None:
        self.host = Host("family.example", NOON_S - 60)
        self.top = self.host.process(4, "C:\\top.exe")
        self.parent = self.host.process(88, "C:\\parent.exe", after_s=5)
        self.child = self.host.process(99, "C:\\child.exe", after_s=10)

    @property
    def query(self) -> str:
        return f"process_name:child.exe parent_md5:{self.parent.md5}"


def test_a_child_learns_of_its_parent_when_the_parent_is_reported_later(
    path: WritePath, engine: ClickHouseEngine, clock: DrivenClock
) -> None:
    family = Family()
    path.post([family.host.created(family.child, family.parent)])
    clock.advance(WINDOW_S)
    path.post([family.host.of(family.child, 11, 1, TargetFilename="C:\\x")])
    assert found(engine, family.query) == []
    path.post([family.host.created(family.parent, family.top)])
    assert len(found(engine, family.query)) == 2
    merge(engine)
    assert len(found(engine, family.query)) == 2


def test_a_child_that_is_reported_after_a_restart_knows_its_parent(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock
) -> None:
    family = Family()
    with write_path(engine, tmp_path, clock) as path:
        path.post([family.host.created(family.parent, family.top)])
    with write_path(engine, tmp_path, clock) as path:
        path.post([family.host.created(family.child, family.parent)])
        path.post([family.host.of(family.parent, 5, 30)])
    assert len(found(engine, family.query)) == 1
    top = next(name for name in processes(engine) if name.endswith(family.top.sensor_less_id))
    ended = [text for text in event_texts(engine, top) if "started=0" in text]
    assert len(ended) == 1


@pytest.mark.parametrize("prepared", [local_processor, worker_processor])
def test_what_kind_of_host_it_is_stays_known(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock, prepared: Prepare
) -> None:
    host = Host("windows.example", NOON_S)
    with write_path(engine, tmp_path, clock, prepared=prepared) as path:
        path.post([security(4769, ServiceName="krbtgt")])
    clock.advance(WINDOW_S)
    with write_path(engine, tmp_path, clock, prepared=prepared) as path:
        path.post([host.of(host.process(5, "C:\\a.exe"), 11, 1, TargetFilename="C:\\1.txt")])
    assert len(found(engine, "process_name:a.exe host_type:domain_controller")) == 1
