"""Retention while the wall clock is set."""

from pathlib import Path

from tests.contract.pipeline.requests import sysmon
from tests.contract.pipeline.write_path import NOON_S, write_path
from vedette.clock import DrivenClock
from vedette.settings import Settings
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.partitions.lifecycle import list_partitions

DAY_S = 86_400
SETTINGS = Settings()


def states(engine: ClickHouseEngine) -> list[str]:
    return [partition.state for partition in list_partitions(engine)]


def test_a_clock_that_jumps_ahead_deletes_nothing_but_time_that_passes_does(
    engine: ClickHouseEngine, tmp_path: Path
) -> None:
    clock = DrivenClock(NOON_S * 1_000_000)
    with write_path(engine, tmp_path, clock) as path:
        path.post(sysmon())
        path.partitions.roll()
        clock.set_wall(clock.now_us() + 40 * DAY_S * 1_000_000)
        path.partitions.maintain(SETTINGS)
        assert states(engine) == ["hot", "warm"]
        clock.set_wall(clock.now_us() - 40 * DAY_S * 1_000_000)
        path.partitions.maintain(SETTINGS)
        assert states(engine) == ["hot", "warm"]
        clock.advance(40 * DAY_S)
        path.partitions.maintain(SETTINGS)
        assert states(engine) == ["hot"]
