"""The life of a time partition (docs/api-objects.md#time-partition)."""

import shutil
from pathlib import Path

import pytest

from tests.contract.store.rows import HOUR_MS, file, partial, process_id, store
from vedette.errors import ConflictError, NotFoundError
from vedette.model.scope import EVERYTHING
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.partitions.content import content
from vedette.store.partitions.lifecycle import (
    delete,
    drop_leftovers,
    free_disk_bytes,
    hot_partition,
    list_partitions,
    mount,
    open_partition,
    recover,
    unmount,
    unmounted,
)
from vedette.store.partitions.partition import partition_name
from vedette.store.read.recovery import known_processes
from vedette.store.read.segment_search import count_segments
from vedette.store.schema.tables import PARTITIONED
from vedette.store.sql.scope_filter import ALL
from vedette.store.write.alerts import write_alerts
from vedette.web.server.partitions_json import partition_body

OLD, NEW = HOUR_MS, HOUR_MS + 3_600_000
OLD_NAME = "events_2023_11_14_222000"


def two_partitions(engine: ClickHouseEngine) -> None:
    open_partition(engine, OLD)
    store(engine, partial(1, file("c:\\old"), partition_ms=OLD, last_update=1))
    open_partition(engine, NEW)
    store(engine, partial(2, partition_ms=NEW, window_ms=NEW, last_update=2))


def states(engine: ClickHouseEngine) -> dict[str, str]:
    return {partition.name: partition.state for partition in list_partitions(engine)}


def seen(engine: ClickHouseEngine) -> int:
    return count_segments(engine, ALL, EVERYTHING)


def test_a_new_store_has_no_partition(contract_engine: ClickHouseEngine) -> None:
    assert hot_partition(contract_engine) is None
    assert list_partitions(contract_engine) == []


def test_rolling_makes_the_old_writer_warm(contract_engine: ClickHouseEngine) -> None:
    two_partitions(contract_engine)
    assert hot_partition(contract_engine) == NEW
    assert states(contract_engine) == {"writer": "hot", OLD_NAME: "warm"}
    assert seen(contract_engine) == 2


def test_a_partition_is_listed_as_clients_read_it(engine: ClickHouseEngine) -> None:
    two_partitions(engine)
    hot, warm = map(partition_body, list_partitions(engine))
    assert (hot["name"], hot["status"], hot["info"]["endDate"]) == ("writer", "hot", None)
    info = warm["info"]
    assert info["startDate"] == "2023-11-14T22:20:00.000000Z"
    assert info["endDate"] == "2023-11-14T23:20:00.000000Z"
    assert info["partitionId"] == OLD // 1_000 << 16
    assert (info["numDocs"], info["maxDoc"], info["deletedDocs"]) == (1, 1, 0)
    assert (info["userMounted"], info["isLegacy"], info["schema"]) == (False, False, "vedette_v1")
    assert info["sizeInBytes"] > 0
    assert info["segmentCount"] == 1
    assert info["dir"].endswith(str(OLD))


def test_unmounting_hides_and_mounting_shows(contract_engine: ClickHouseEngine) -> None:
    two_partitions(contract_engine)
    unmount(contract_engine, OLD_NAME)
    assert states(contract_engine)[OLD_NAME] == "cold"
    assert (seen(contract_engine), unmounted(contract_engine)) == (1, frozenset({OLD}))
    assert known_processes(contract_engine, [process_id(1)]) == {}
    cold = partition_body(list_partitions(contract_engine)[1])["info"]
    assert "numDocs" not in cold
    assert cold["sizeInBytes"] > 0
    mount(contract_engine, OLD_NAME)
    assert states(contract_engine)[OLD_NAME] == "warm"
    assert (seen(contract_engine), unmounted(contract_engine)) == (2, frozenset())
    assert list_partitions(contract_engine)[1].user_mounted


@pytest.mark.parametrize("cold_first", [False, True])
def test_deleting_is_for_good(contract_engine: ClickHouseEngine, cold_first: bool) -> None:
    two_partitions(contract_engine)
    if cold_first:
        unmount(contract_engine, OLD_NAME)
    delete(contract_engine, OLD_NAME)
    assert states(contract_engine) == {"writer": "hot"}
    assert seen(contract_engine) == 1
    with pytest.raises(NotFoundError):
        mount(contract_engine, OLD_NAME)


@pytest.mark.parametrize("change", [unmount, mount, delete])
@pytest.mark.parametrize("name", ["writer", partition_name(NEW)])
def test_the_hot_partition_cannot_be_moved(
    engine: ClickHouseEngine, change: object, name: str
) -> None:
    two_partitions(engine)
    with pytest.raises(ConflictError):
        change(engine, name)  # type: ignore[operator]
    assert seen(engine) == 2


@pytest.mark.parametrize("done", range(len(PARTITIONED) + 1))
def test_a_crash_while_unmounting_is_finished_at_start(
    contract_engine: ClickHouseEngine, done: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_partitions(contract_engine)
    broken_after(contract_engine, monkeypatch, done)
    if done < len(PARTITIONED):
        with pytest.raises(KeyboardInterrupt):
            unmount(contract_engine, OLD_NAME)
    else:
        unmount(contract_engine, OLD_NAME)
    monkeypatch.undo()
    recover(contract_engine)
    recover(contract_engine)
    assert (states(contract_engine)[OLD_NAME], seen(contract_engine)) == ("cold", 1)
    mount(contract_engine, OLD_NAME)
    assert seen(contract_engine) == 2


def test_a_crash_while_mounting_or_deleting_is_finished_at_start(
    engine: ClickHouseEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_partitions(engine)
    unmount(engine, OLD_NAME)
    for change, expected in ((mount, 2), (delete, 1)):
        broken_after(engine, monkeypatch, 1)
        with pytest.raises(KeyboardInterrupt):
            change(engine, OLD_NAME)
        monkeypatch.undo()
        recover(engine)
        assert seen(engine) == expected


def broken_after(
    engine: ClickHouseEngine, monkeypatch: pytest.MonkeyPatch, alterations: int
) -> None:
    """The server dies after so many partition commands."""
    command, left = engine.command, iter(range(alterations))

    def dying(sql: str, params: object = None) -> None:
        if sql.startswith("ALTER") and next(left, None) is None:
            raise KeyboardInterrupt
        command(sql, params)  # type: ignore[arg-type]

    monkeypatch.setattr(engine, "command", dying)


def test_the_disk_says_how_much_is_free(engine: ClickHouseEngine) -> None:
    assert free_disk_bytes(engine) > 1_000_000


def test_a_deletion_takes_away_what_its_content_says(contract_engine: ClickHouseEngine) -> None:
    open_partition(contract_engine, OLD)
    store(
        contract_engine,
        partial(1, file("c:\\a"), file("c:\\b"), partition_ms=OLD),
        partial(1, file("c:\\c"), partition_ms=OLD),  # of the same window: the same segment
        partial(2, partition_ms=OLD),
        partial(3, partition_ms=OLD, sensor_id=2),
    )
    open_partition(contract_engine, NEW)
    store(contract_engine, partial(2, partition_ms=NEW, window_ms=NEW))
    processes = (process_id(1), process_id(2), process_id(3, 2))
    write_alerts(
        contract_engine,
        [
            {
                "id": f"alert {number}",
                "version": number,
                "sensor_id": 2 if number == 2 else 1,
                "process_id": process,
                "created_time": NEW * 1_000,
                "status": "Resolved" if number == 2 else "Unresolved",
            }
            for number, process in enumerate(processes)
        ],
    )
    reported = content(contract_engine, OLD_NAME)
    assert (reported.segments, reported.events, reported.processes, reported.hosts) == (3, 3, 3, 2)
    assert [(one.day, one.segments, one.events) for one in reported.days] == [("2023-11-14", 3, 3)]
    assert (reported.alerts, reported.open_alerts) == (2, 1)  # not the second: its process goes on
    before = seen(contract_engine)
    delete(contract_engine, OLD_NAME)
    assert before - seen(contract_engine) == reported.segments


def test_of_an_unmounted_partition_nothing_is_told_but_its_size(engine: ClickHouseEngine) -> None:
    two_partitions(engine)
    unmount(engine, OLD_NAME)
    reported = content(engine, OLD_NAME)
    assert (reported.segments, reported.alerts, reported.days) == (None, None, ())
    assert reported.partition.byte_count > 0


def test_the_hot_partition_has_no_deletion_to_tell_of(engine: ClickHouseEngine) -> None:
    two_partitions(engine)
    with pytest.raises(ConflictError):
        content(engine, "writer")
    with pytest.raises(NotFoundError):
        content(engine, "no_such")


def test_what_another_replica_kept_of_a_deleted_partition_goes_later(
    engine: ClickHouseEngine, tmp_path: Path
) -> None:
    """A single replica of a shard drops detached parts; this test covers the parts of the other
    replicas."""
    two_partitions(engine)
    unmount(engine, OLD_NAME)
    folders = {
        Path(paths[0]) / "detached"
        for (paths,) in engine.query(
            "SELECT data_paths FROM system.tables WHERE database = {database:String} "
            "AND has_own_data AND notEmpty(data_paths)",
            {"database": engine.database},
        ).rows
    }
    kept = [part for folder in folders if folder.exists() for part in folder.glob(f"{OLD}_*")]
    assert kept
    for number, part in enumerate(kept):
        shutil.copytree(part, tmp_path / str(number))
    delete(engine, OLD_NAME)
    assert not any(part.exists() for part in kept)
    for number, part in enumerate(kept):
        shutil.copytree(tmp_path / str(number), part)
    drop_leftovers(engine)
    assert not any(part.exists() for part in kept)
    assert states(engine) == {"writer": "hot"}


def test_what_is_unmounted_is_no_leftover(engine: ClickHouseEngine) -> None:
    two_partitions(engine)
    unmount(engine, OLD_NAME)
    drop_leftovers(engine)
    mount(engine, OLD_NAME)
    assert seen(engine) == 2
