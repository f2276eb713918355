"""Time partitions: listing, rolling, unmounting, mounting, deleting (api.md 2.23, 3.3, 4.12).

A partition is a ClickHouse partition of every table in `tables.PARTITIONED`. A change is
several partition commands, one a table, so it is written down first, as the state wanted
(table `partition`); `recover`, at start, finishes what a crash cut short. No command rewrites
a row, and each may be repeated.
"""

import math
import time
from typing import Final
from weakref import WeakKeyDictionary

from vedette.errors import ConflictError, NotFoundError
from vedette.store.engine.client import Engine
from vedette.store.partitions.partition import WRITER, Partition, State, partition_name
from vedette.store.schema.tables import PARTITIONED

_Wanted = dict[int, tuple[State, int, bool]]

_KNOWN_FOR_S: Final = 1
_remembered: WeakKeyDictionary[Engine, tuple[float, _Wanted]] = WeakKeyDictionary()


def hot_partition(engine: Engine) -> int | None:
    """Opening time of the partition that is written to; None in a new store."""
    hot = [opened for opened, (state, _, _) in _wanted(engine).items() if state == "hot"]
    return max(hot, default=None)


def open_partition(engine: Engine, opened_ms: int) -> None:
    """Begin a partition and make the one before it warm.

    The writer calls this between two commits, on a window's edge, before it writes there.
    """
    for older, (state, _, mounted) in _wanted(engine).items():
        if state == "hot" and older < opened_ms:
            _want(engine, older, "warm", opened_ms, user_mounted=mounted)
    _want(engine, opened_ms, "hot", 0, user_mounted=False)


def list_partitions(engine: Engine) -> list[Partition]:
    """Every partition that is not deleted, the newest first."""
    active = _sizes(engine, "parts", "active AND ")
    detached = _sizes(engine, "detached_parts", "")
    directory = _directory(engine)
    found = []
    for opened_ms, (state, closed_ms, user_mounted) in sorted(_wanted(engine).items()):
        if state == "deleted":
            continue
        sizes = detached if state == "cold" else active
        byte_count, row_count, part_count = sizes.get(str(opened_ms), (0, 0, 0))
        found.append(
            Partition(
                opened_ms,
                closed_ms,
                state,
                user_mounted,
                byte_count,
                row_count,
                part_count,
                f"{directory}{opened_ms}",
            )
        )
    return found[::-1]


def find_partition(engine: Engine, name: str) -> Partition:
    """The partition of a name. Raises NotFoundError."""
    for partition in list_partitions(engine):
        if name in (partition.name, partition_name(partition.opened_ms)):
            return partition
    raise NotFoundError(f"there is no partition {name[:100]!r}")


def unmount(engine: Engine, name: str) -> Partition:
    """Make a warm partition cold: its files stay, no read sees it. A cold one stays cold.

    Raises NotFoundError, and ConflictError for the hot one.
    """
    partition = _movable(engine, name, "unmounted")
    _want(engine, partition.opened_ms, "cold", partition.closed_ms, user_mounted=False)
    _detach(engine, partition.opened_ms)
    return partition


def mount(engine: Engine, name: str) -> Partition:
    """Make a cold partition warm again. Raises NotFoundError; ConflictError for the hot one."""
    partition = _movable(engine, name, "mounted")
    if partition.state == "cold":
        _want(engine, partition.opened_ms, "warm", partition.closed_ms, user_mounted=True)
        _attach(engine, partition.opened_ms)
    return partition


def delete(engine: Engine, name: str) -> Partition:
    """Remove a warm or cold partition for good. Raises NotFoundError; ConflictError if hot."""
    partition = _movable(engine, name, "deleted")
    _want(engine, partition.opened_ms, "deleted", partition.closed_ms, user_mounted=False)
    _drop(engine, partition.opened_ms)
    return partition


def recover(engine: Engine) -> None:
    """Make every partition what it was wanted to be when the server last ran."""
    active = _sizes(engine, "parts", "active AND ")
    detached = _sizes(engine, "detached_parts", "")
    for opened_ms, (state, _, _) in _wanted(engine).items():
        key = str(opened_ms)
        if state == "cold" and key in active:
            _detach(engine, opened_ms)
        elif state in ("hot", "warm") and key in detached:
            _attach(engine, opened_ms)
        elif state == "deleted" and (key in active or key in detached):
            _drop(engine, opened_ms)


def unmounted(engine: Engine) -> frozenset[int]:
    """Opening times of the partitions that nothing may be written to any more."""
    return frozenset(
        opened for opened, (state, _, _) in _wanted(engine).items() if state in ("cold", "deleted")
    )


def cold_partitions(engine: Engine) -> list[int]:
    """Closing times of the partitions that no search sees until they are mounted again. What
    another server changed is known a second later."""
    return [closed_ms for state, closed_ms, _ in _known(engine).values() if state == "cold"]


def open_partitions(engine: Engine) -> list[int]:
    """Opening times of the partitions that are written to, as of a second ago: at most one, unless
    another server changes them."""
    return [opened_ms for opened_ms, (state, _, _) in _known(engine).items() if state == "hot"]


def closed_partitions(engine: Engine) -> list[int]:
    """Opening times of the partitions that searches see and nothing new is written to, as of a
    second ago."""
    return [opened_ms for opened_ms, (state, _, _) in _known(engine).items() if state == "warm"]


def free_disk_bytes(engine: Engine) -> int:
    """Free bytes of the fullest disk of the engine."""
    disks = engine.capabilities.system("disks")
    free: int = engine.query(f"SELECT min(free_space) FROM {disks}").rows[0][0]
    return free


def _movable(engine: Engine, name: str, change: str) -> Partition:
    partition = find_partition(engine, name)
    if partition.state == "hot":
        raise ConflictError(f"{WRITER} is the partition that is written to: it cannot be {change}")
    return partition


def _detach(engine: Engine, opened_ms: int) -> None:
    # The segments leave first: what remains for a moment is only seen through them.
    for table in PARTITIONED:
        _alter(engine, table, f"DETACH PARTITION ID '{opened_ms:d}'")


def _attach(engine: Engine, opened_ms: int) -> None:
    for table in reversed(PARTITIONED):
        _alter(engine, table, f"ATTACH PARTITION ID '{opened_ms:d}'")


def _drop(engine: Engine, opened_ms: int) -> None:
    for table in PARTITIONED:
        _alter(engine, table, f"DROP PARTITION ID '{opened_ms:d}'")
        _alter(
            engine,
            table,
            f"DROP DETACHED PARTITION ID '{opened_ms:d}' SETTINGS allow_drop_detached = 1",
        )


def _alter(engine: Engine, table: str, command: str) -> None:
    capabilities = engine.capabilities
    engine.command(
        f"ALTER TABLE `{capabilities.storage(table)}`{capabilities.on_cluster} {command}"
    )


def _known(engine: Engine) -> _Wanted:
    """`_wanted`, as of a second ago where another server changed it: every search asks this."""
    since, found = _remembered.get(engine, (-math.inf, {}))
    if time.monotonic() - since > _KNOWN_FOR_S:
        since, found = time.monotonic(), _wanted(engine)
        _remembered[engine] = since, found
    return found


def _wanted(engine: Engine) -> _Wanted:
    """State, closing time and whether a user mounted it, by opening time."""
    # A few rows are grouped here in less time than the engine needs.
    found = engine.query(
        "SELECT opened_ms, state, closed_ms, user_mounted FROM partition ORDER BY version"
    )
    wanted = {row[0]: (row[1], row[2], bool(row[3])) for row in found.rows}
    return dict(sorted(wanted.items()))


def _want(
    engine: Engine, opened_ms: int, state: State, closed_ms: int, *, user_mounted: bool
) -> None:
    engine.command(
        "INSERT INTO partition SELECT {opened:UInt64}, {state:String}, {closed:UInt64}, "
        "{mounted:UInt8}, (SELECT max(version) + 1 FROM partition)",
        {
            "opened": opened_ms,
            "state": state,
            "closed": closed_ms,
            "mounted": int(user_mounted),
        },
    )
    _remembered.pop(engine, None)


def _sizes(engine: Engine, table: str, condition: str) -> dict[str, tuple[int, int, int]]:
    """Bytes of all tables, rows and parts of `segment`, by partition."""
    segment = engine.capabilities.storage("segment")
    rows = "sumIf(rows, table = {segment:String})" if table == "parts" else "0"
    found = engine.query(
        f"SELECT partition_id, sum(bytes_on_disk), {rows}, countIf(table = {{segment:String}}) "
        f"FROM {engine.capabilities.system(table)} WHERE {condition} "
        "database = {database:String} AND table IN {tables:Array(String)} GROUP BY partition_id",
        {
            "segment": segment,
            "database": engine.database,
            "tables": [engine.capabilities.storage(name) for name in PARTITIONED],
        },
    )
    return {row[0]: (row[1], row[2], row[3]) for row in found.rows}


def _directory(engine: Engine) -> str:
    found = engine.query(
        "SELECT data_paths[1] FROM system.tables "
        "WHERE database = {database:String} AND name = {segment:String}",
        {"database": engine.database, "segment": engine.capabilities.storage("segment")},
    )
    path: str = found.rows[0][0]
    return path
