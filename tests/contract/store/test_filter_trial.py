"""Dry run of an ingress filter: dropped events of a day by kind, host and program; its limits, and
its end on cancellation."""

import time
from dataclasses import replace

import pytest

from tests.contract.store.rows import HOUR_MS, connection, file, partial, store
from vedette.errors import UnavailableError
from vedette.model.host import SensorRef
from vedette.record.objects.ingress_filter import IngressFilter
from vedette.respond import filter_trial
from vedette.respond.filter_trial import (
    DAY_US,
    DRY_RUN_SPLIT_MAX,
    OnProgress,
    Trial,
    check_filters,
    no_progress,
)
from vedette.store.engine.client import ClickHouseEngine

NOW_US = HOUR_MS * 1_000 + DAY_US // 2
SENSORS = {one: SensorRef(one, f"h{one}.example", 1, "g", "linux") for one in (1, 2)}
NOISE = IngressFilter("noise", path_filters=("*/noise", "*/<b>"))


def tried(
    engine: ClickHouseEngine,
    *wanted: IngressFilter,
    ends_in_s: float = 60.0,
    on_progress: OnProgress = no_progress,
) -> list[Trial]:
    until_s = time.monotonic() + ends_in_s
    return check_filters(engine, SENSORS, wanted, NOW_US, (), until_s, on_progress)[0]


@pytest.fixture
def engine(contract_engine: ClickHouseEngine) -> ClickHouseEngine:
    store(
        contract_engine,
        partial(1, file("/a"), file("/b"), connection("x.example"), path="/opt/noise"),
        partial(2, file("/c", number=2), path="/opt/noise"),
        partial(3, file("/d", number=3), path="/opt/other"),
        partial(4, path="/opt/noise"),
        partial(5, file("/e", number=5), path="/x/<b>", sensor_id=2),
    )
    return contract_engine


def test_what_is_dropped_is_split_by_kind_host_and_program(engine: ClickHouseEngine) -> None:
    (trial,) = tried(engine, NOISE)
    assert (trial.processes, trial.processes_meant) == (5, 4)
    assert (trial.events, trial.events_dropped) == (6, 5)
    assert trial.by_kind.values == [("filemod", 4), ("netconn", 1)]
    assert trial.by_sensor.values == [("1", 4), ("2", 1)]
    assert trial.by_path.values == [("/opt/noise", 4), ("/x/<b>", 1)]
    assert (trial.is_estimate, trial.is_partial) == (False, False)


def test_of_single_events_those_are_split_that_are_dropped(engine: ClickHouseEngine) -> None:
    some = replace(NOISE, filter_all_events=False, filemod_filters=("^/(a|e)$",))
    (trial,) = tried(engine, some)
    assert trial.events_dropped == 2
    assert trial.by_kind.values == [("filemod", 2)]
    assert trial.by_path.values == [("/opt/noise", 1), ("/x/<b>", 1)]


def test_descendants_count_under_their_own_program(engine: ClickHouseEngine) -> None:
    store(
        engine,
        partial(6, file("/f", number=6), path="/bin/sh", parent_id=partial(2).process_id),
    )
    (trial,) = tried(engine, replace(NOISE, descendant_filtering_level=1))
    assert ("/bin/sh", 1) in trial.by_path.values


def test_of_many_programs_those_with_the_most_events_are_named(engine: ClickHouseEngine) -> None:
    rows = [partial(n, file("/z", number=n), path=f"/p/{n}/noise") for n in range(100, 120)]
    store(engine, *rows)
    (trial,) = tried(engine, NOISE)
    assert len(trial.by_path.values) == DRY_RUN_SPLIT_MAX
    assert trial.by_path.values[0] == ("/opt/noise", 4)
    assert trial.by_path.total == 22


def test_a_trial_says_how_far_it_is(
    engine: ClickHouseEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filter_trial, "DRY_RUN_PROGRESS_EVERY", 2)
    reported: list[tuple[str, int, int]] = []
    tried(engine, NOISE, on_progress=lambda *far: reported.append(far))
    assert reported == [("processes", 0, 5), ("processes", 2, 5), ("processes", 4, 5)]


def test_a_trial_ends_when_nobody_waits_for_it(engine: ClickHouseEngine) -> None:
    def gone(*_: object) -> None:
        raise UnavailableError("the query was cancelled", reason="cancelled")

    with pytest.raises(UnavailableError):
        tried(engine, NOISE, on_progress=gone)


def test_a_trial_without_time_is_of_a_part_and_says_so(engine: ClickHouseEngine) -> None:
    (trial,) = tried(engine, NOISE, ends_in_s=-1.0)
    assert (trial.processes, trial.is_partial) == (0, True)
