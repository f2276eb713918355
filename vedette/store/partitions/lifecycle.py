"""Time partitions: listing, rolling, unmounting, mounting, deleting
(docs/api-objects.md#time-partition).

A partition is a ClickHouse partition of every table in `tables.PARTITIONED`. A change takes one
command per table, so the intended state is recorded first (table `partition`); `recover` completes
interrupted changes at start. No command rewrites rows, and each is idempotent.
"""

import math
import time
from typing import Final, Literal
from weakref import WeakKeyDictionary

from vedette.errors import ConflictError, NotFoundError
from vedette.limits import Limit
from vedette.store.engine.capabilities import EVERY_REPLICA, WHO_ANSWERS
from vedette.store.engine.client import Engine
from vedette.store.partitions.partition import WRITER, Partition, State, partition_name
from vedette.store.schema.tables import PARTITIONED

PARTITION_COMMAND_S: Limit[int] = 30
"""Time that a change of a partition waits for the available servers of a cluster. It takes them
milliseconds, and commits wait meanwhile."""

PARTITIONS_CACHE_S: Limit[int] = 1
"""Maximum age of the cached list of partitions: searches are more frequent than changes of
partitions."""


_Intended = dict[int, tuple[State, int, bool]]

_cache: WeakKeyDictionary[Engine, tuple[float, _Intended]] = WeakKeyDictionary()


def hot_partition(engine: Engine) -> int | None:
    """Returns the opening time (epoch ms) of the hot partition; None for a new store."""
    return _hot(_intended(engine))


def _hot(intended: _Intended) -> int | None:
    return max(
        (opened for opened, (state, _, _) in intended.items() if state == "hot"), default=None
    )


def writable(engine: Engine) -> tuple[int, frozenset[int]]:
    """Returns `hot_partition` (0: none) and `unmounted` as of the same moment."""
    intended = _intended(engine)
    return _hot(intended) or 0, _unmounted(intended)


def open_partition(engine: Engine, opened_ms: int) -> None:
    """Opens a partition and makes the previous one warm.

    The writer calls this between two commits, at the edge of a window, before it writes there.
    """
    for older, (state, _, mounted) in _intended(engine).items():
        if state == "hot" and older < opened_ms:
            _record(engine, older, "warm", opened_ms, user_mounted=mounted)
    _record(engine, opened_ms, "hot", 0, user_mounted=False)


def list_partitions(engine: Engine) -> list[Partition]:
    """Returns all partitions that are not deleted, newest first."""
    active = _sizes(engine, "parts", "active AND ")
    detached = _sizes(engine, "detached_parts", "")
    directory = _directory(engine)
    found = []
    for opened_ms, (state, closed_ms, user_mounted) in sorted(_intended(engine).items()):
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
    """Returns the partition with this name. Raises NotFoundError."""
    for partition in list_partitions(engine):
        if name in (partition.name, partition_name(partition.opened_ms)):
            return partition
    raise NotFoundError(f"partition {name[:100]!r} not found")


def unmount(engine: Engine, name: str) -> Partition:
    """Makes a warm partition cold: its files stay, but reads exclude it. Idempotent.

    Raises NotFoundError, and ConflictError for the hot partition.
    """
    partition = _movable(engine, name, "unmounted")
    _record(engine, partition.opened_ms, "cold", partition.closed_ms, user_mounted=False)
    _detach(engine, partition.opened_ms)
    return partition


def announce(engine: Engine, name: str, state: Literal["cold", "deleted"]) -> None:
    """Records the state that `unmount` or `delete` is going to set, before any row becomes
    unavailable: servers that read it stop writing to the partition. Raises the same errors."""
    partition = _movable(engine, name, "unmounted" if state == "cold" else "deleted")
    _record(engine, partition.opened_ms, state, partition.closed_ms, user_mounted=False)


def mount(engine: Engine, name: str) -> Partition:
    """Makes a cold partition warm again. Raises NotFoundError; ConflictError for the hot
    partition."""
    partition = _movable(engine, name, "mounted")
    if partition.state == "cold":
        _record(engine, partition.opened_ms, "warm", partition.closed_ms, user_mounted=True)
        _attach(engine, partition.opened_ms)
    return partition


def delete(engine: Engine, name: str) -> Partition:
    """Deletes a warm or cold partition permanently. Raises NotFoundError; ConflictError for the hot
    partition."""
    partition = _movable(engine, name, "deleted")
    _record(engine, partition.opened_ms, "deleted", partition.closed_ms, user_mounted=False)
    _drop(engine, partition.opened_ms)
    return partition


def recover(engine: Engine) -> None:
    """Completes changes that a crash interrupted: brings partitions to their intended states."""
    active = _present(engine, "parts", "active AND ")
    detached = _present(engine, "detached_parts", "")
    for opened_ms, (state, _, _) in _intended(engine).items():
        key = str(opened_ms)
        if state == "cold" and key in active:
            _detach(engine, opened_ms)
        elif state in ("hot", "warm") and key in detached:
            _attach(engine, opened_ms)
        elif state == "deleted" and (key in active or key in detached):
            _drop(engine, opened_ms)


def drop_leftovers(engine: Engine) -> None:
    """Removes leftovers of deleted partitions that were unmounted. Each call cleans up one replica
    of a shard, and a replica that was away has leftovers when it is back, so repeat it."""
    detached = _present(engine, "detached_parts", "")
    for opened_ms, (state, _, _) in _intended(engine).items():
        if state == "deleted" and str(opened_ms) in detached:
            for table in PARTITIONED:
                _drop_detached(engine, table, opened_ms)


def unmounted(engine: Engine) -> frozenset[int]:
    """Returns the opening times of cold and deleted partitions, which must not be written to."""
    return _unmounted(_intended(engine))


def _unmounted(intended: _Intended) -> frozenset[int]:
    return frozenset(
        opened for opened, (state, _, _) in intended.items() if state in ("cold", "deleted")
    )


def cold_partitions(engine: Engine) -> list[int]:
    """Returns the closing times (epoch ms) of cold partitions, which searches exclude. Changes by
    other servers appear within a second."""
    return [closed_ms for state, closed_ms, _ in _recent(engine).values() if state == "cold"]


def periods(engine: Engine) -> list[tuple[int, int, State]]:
    """Returns (opening time, closing time, state) of all partitions that are not deleted, cached
    for a second. Times are epoch ms; closing time 0: open."""
    return [
        (opened_ms, closed_ms, state)
        for opened_ms, (state, closed_ms, _) in _recent(engine).items()
        if state != "deleted"
    ]


def open_partitions(engine: Engine) -> list[int]:
    """Returns the opening times of hot partitions, cached for a second: at most one, unless another
    server is rolling."""
    return [opened_ms for opened_ms, (state, _, _) in _recent(engine).items() if state == "hot"]


def closed_partitions(engine: Engine) -> list[int]:
    """Returns the opening times of warm partitions, cached for a second."""
    return [opened_ms for opened_ms, (state, _, _) in _recent(engine).items() if state == "warm"]


def free_disk_bytes(engine: Engine) -> int:
    """Returns the free bytes on the fullest disk of the servers that answer."""
    disks = engine.capabilities.system("disks")
    found = engine.query(f"SELECT min(free_space) FROM {disks}", settings=WHO_ANSWERS)
    free: int = found.rows[0][0]
    return free


def _movable(engine: Engine, name: str, change: str) -> Partition:
    partition = find_partition(engine, name)
    if partition.state == "hot":
        raise ConflictError(f"{WRITER} is the partition that is written to: it cannot be {change}")
    return partition


def _detach(engine: Engine, opened_ms: int) -> None:
    # `segment` first: rows of the other tables are reached through it.
    for table in PARTITIONED:
        _alter(engine, table, f"DETACH PARTITION ID '{opened_ms:d}'")


def _attach(engine: Engine, opened_ms: int) -> None:
    for table in reversed(PARTITIONED):
        _alter(engine, table, f"ATTACH PARTITION ID '{opened_ms:d}'")


def _drop(engine: Engine, opened_ms: int) -> None:
    for table in PARTITIONED:
        _alter(engine, table, f"DROP PARTITION ID '{opened_ms:d}'")
        _drop_detached(engine, table, opened_ms)


def _drop_detached(engine: Engine, table: str, opened_ms: int) -> None:
    """Drops the detached parts of a partition. Each call cleans up one replica of a shard."""
    command = f"DROP DETACHED PARTITION ID '{opened_ms:d}'"
    _alter(engine, table, command, "allow_drop_detached = 1")


def _alter(engine: Engine, table: str, command: str, *settings: str) -> None:
    """Runs an ALTER TABLE. Commits wait meanwhile, so it does not wait for unavailable servers,
    which execute it when they are back."""
    capabilities = engine.capabilities
    if capabilities.on_cluster:
        settings += _WHO_IS_THERE
    engine.command(
        f"ALTER TABLE `{capabilities.storage(table)}`{capabilities.on_cluster} {command}"
        + (f" SETTINGS {', '.join(settings)}" if settings else "")
    )


_WHO_IS_THERE: Final = (
    "distributed_ddl_output_mode = 'none_only_active'",
    f"distributed_ddl_task_timeout = {PARTITION_COMMAND_S:d}",
)


def _recent(engine: Engine) -> _Intended:
    """Like `_intended`, cached for a second, since every search calls it."""
    since, found = _cache.get(engine.root, (-math.inf, {}))
    if time.monotonic() - since > PARTITIONS_CACHE_S:
        since, found = time.monotonic(), _intended(engine)
        _cache[engine.root] = since, found
    return found


def _intended(engine: Engine) -> _Intended:
    """Maps opening time to (state, closing time, whether a user mounted it)."""
    # Grouping a few rows here is faster than in the engine.
    intended = {row[0]: (row[1], row[2], bool(row[3])) for row in _changes(engine)}
    return dict(sorted(intended.items()))


def _changes(engine: Engine) -> list[tuple[int, State, int, int, int]]:
    """Returns (opening time, state, closing time, whether a user mounted it, version), ordered by
    version. Queries all servers: with the state of a lagging server, other servers would write to a
    partition that is being unmounted."""
    return list(
        engine.query(
            "SELECT DISTINCT opened_ms, state, closed_ms, user_mounted, version "
            f"FROM {engine.capabilities.whole('partition')} ORDER BY version",
            settings=EVERY_REPLICA,
        ).rows
    )


def _record(
    engine: Engine, opened_ms: int, state: State, closed_ms: int, *, user_mounted: bool
) -> None:
    engine.command(
        "INSERT INTO partition SELECT {opened:UInt64}, {state:String}, {closed:UInt64}, "
        "{mounted:UInt8}, {version:UInt64}",
        {
            "version": 1 + max((row[-1] for row in _changes(engine)), default=0),
            "opened": opened_ms,
            "state": state,
            "closed": closed_ms,
            "mounted": int(user_mounted),
        },
    )
    _cache.pop(engine.root, None)


def _sizes(engine: Engine, table: str, condition: str) -> dict[str, tuple[int, int, int]]:
    """Maps partition to (bytes of all tables, rows and parts of `segment`), from one replica of
    each shard."""
    rows = "sumIf(rows, table = {segment:String})" if table == "parts" else "0"
    found = engine.query(
        f"SELECT partition_id, sum(bytes_on_disk), {rows}, countIf(table = {{segment:String}}) "
        f"FROM {engine.capabilities.of_shards(table)} WHERE {condition}{_PARTITIONED} "
        "GROUP BY partition_id",
        {**_partitioned(engine), "segment": engine.capabilities.storage("segment")},
    )
    return {row[0]: (row[1], row[2], row[3]) for row in found.rows}


def _present(engine: Engine, table: str, condition: str) -> set[str]:
    """Returns the partitions of which any answering server has parts."""
    found = engine.query(
        f"SELECT DISTINCT partition_id FROM {engine.capabilities.system(table)} "
        f"WHERE {condition}{_PARTITIONED}",
        _partitioned(engine),
        settings=WHO_ANSWERS,
    )
    return {row[0] for row in found.rows}


_PARTITIONED: Final = "database = {database:String} AND table IN {tables:Array(String)}"


def _partitioned(engine: Engine) -> dict[str, object]:
    """The parameters of `_PARTITIONED`."""
    tables = [engine.capabilities.storage(name) for name in PARTITIONED]
    return {"database": engine.database, "tables": tables}


def _directory(engine: Engine) -> str:
    found = engine.query(
        "SELECT data_paths[1] FROM system.tables "
        "WHERE database = {database:String} AND name = {segment:String}",
        {"database": engine.database, "segment": engine.capabilities.storage("segment")},
    )
    path: str = found.rows[0][0]
    return path
