"""Data parts that the engine cannot read.

At start the engine moves a part with missing or truncated files to `detached/` and goes on without
it (`broken-on-start`); answers then lack the part's rows. A part that is corrupt in the middle is
found when a query reads it (`engine.unreadable_parts`), or by `verify_parts`. One whose files are
gone altogether is found by the list of the last stop (`part_list.py`).
"""

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from weakref import WeakKeyDictionary

from vedette import limits
from vedette.limits import PART_COUNT_BYTES_MAX
from vedette.store.engine.capabilities import WHO_ANSWERS
from vedette.store.engine.client import Engine
from vedette.store.engine.errors import PartName
from vedette.store.integrity.part_list import ListedPart
from vedette.store.partitions.lifecycle import list_partitions
from vedette.store.partitions.partition import Partition, time_text
from vedette.store.schema.tables import PARTITIONED, TABLES

_BROKEN: Final = "startsWith(reason, 'broken')"


_cache: WeakKeyDictionary[Engine, "_Cached"] = WeakKeyDictionary()
_lost: WeakKeyDictionary[Engine, tuple[ListedPart, ...]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class DamagedPart:
    """`name` is the part's name before it was detached. Times are epoch milliseconds; the period
    is that of the part's partition, 0 where it is unknown or not over."""

    table: str
    name: str
    reason: str
    opened_ms: int = 0
    closed_ms: int = 0
    row_count: int | None = None
    """None where the part's files do not say."""

    @property
    def key(self) -> str:
        """Names the part among those of all tables; without spaces."""
        return f"{self.table}/{self.name}"

    def text(self) -> str:
        """One line for people: logs, `/readyz`, commands."""
        rows = "unknown rows" if self.row_count is None else f"{self.row_count} rows"
        opened = time_text(self.opened_ms) if self.opened_ms else "unknown"
        closed = time_text(self.closed_ms) if self.closed_ms else "now"
        period = f"{opened} to {closed}" if self.opened_ms else "unknown period"
        return f"{self.table} {self.name} ({self.reason}): {rows}, {period}"


@dataclass(frozen=True, slots=True)
class _Cached:
    read_s: float = -math.inf
    unreadable: frozenset[PartName] = frozenset()
    parts: tuple[DamagedPart, ...] = ()


def damaged_parts(engine: Engine) -> tuple[DamagedPart, ...]:
    """Parts that answers lack. At most `limits.DAMAGE_AGE_S` old, since every search calls this;
    parts that a query found corrupt are in it at once. Raises UnavailableError."""
    cached, unreadable = _cache.get(engine.root, _Cached()), engine.unreadable_parts
    is_fresh = time.monotonic() - cached.read_s < limits.DAMAGE_AGE_S
    if not is_fresh or cached.unreadable != unreadable:
        parts = (
            *_detached(engine),
            *_unreadable(engine, unreadable, "unreadable"),
            *_gone(engine),
        )
        cached = _cache[engine.root] = _Cached(time.monotonic(), unreadable, parts)
    return cached.parts


def note_lost(engine: Engine, parts: Iterable[ListedPart]) -> None:
    """These are damaged parts from now on (`part_list.lost_parts`)."""
    _lost[engine.root] = tuple(parts)
    _cache.pop(engine.root, None)


def known_damage(engine: Engine) -> tuple[DamagedPart, ...]:
    """`damaged_parts` as last read, without a query: for health checks."""
    return _cache.get(engine.root, _Cached()).parts


def verify_parts(engine: Engine) -> tuple[DamagedPart, ...]:
    """Reads every part of every table and compares checksums, besides `damaged_parts`. Reads the
    whole store: seconds per gigabyte."""
    failed = []
    for table in TABLES:
        storage = engine.capabilities.storage(table.name) if table.sharded else table.name
        failed += [PartName(table.name, part) for part in _failed_checks(engine, storage)]
    known = {(part.table, part.name) for part in damaged_parts(engine)}
    new = [name for name in failed if (name.table, name.part) not in known]
    return (*damaged_parts(engine), *_unreadable(engine, new, "checksum mismatch"))


def _failed_checks(engine: Engine, storage: str) -> list[str]:
    """The driver reads any statement but SELECT as tab-separated text: part, 1 or 0, message."""
    rows = engine.query(f"CHECK TABLE `{storage}`").rows
    lines = "\t".join(map(str, rows[0])).split("\n") if rows else []
    checks = [line.split("\t") for line in lines]
    return [check[0] for check in checks if len(check) > 1 and check[1] == "0"]


def _detached(engine: Engine) -> tuple[DamagedPart, ...]:
    capabilities = engine.capabilities
    logical = {
        capabilities.storage(table.name) if table.sharded else table.name: table.name
        for table in TABLES
    }
    rows = engine.query(
        "SELECT table, name, reason, partition_id, path "
        f"FROM {capabilities.system('detached_parts')} "
        f"WHERE database = {{database:String}} AND {_BROKEN} ORDER BY table, name",
        {"database": engine.database},
        settings=WHO_ANSWERS,
    ).rows
    if not rows:
        return ()
    periods = _periods(engine)
    return tuple(
        _damaged(logical.get(table, table), name, reason, partition_id, path, periods)
        for table, name, reason, partition_id, path in rows
    )


def _damaged(
    table: str,
    name: str,
    reason: str,
    partition_id: str | None,
    path: str,
    periods: dict[str, Partition],
) -> DamagedPart:
    part = name.removeprefix(f"{reason}_")
    return _in_period(
        table, part, reason, partition_id or part.split("_")[0], _row_count(Path(path)), periods
    )


def _unreadable(engine: Engine, parts: Iterable[PartName], reason: str) -> list[DamagedPart]:
    names = sorted(parts)
    if not names:
        return []
    periods = _periods(engine)
    return [
        _in_period(one.table, one.part, reason, one.part.split("_")[0], _rows(engine, one), periods)
        for one in names
    ]


def _gone(engine: Engine) -> list[DamagedPart]:
    lost = _lost.get(engine.root, ())
    periods = _periods(engine) if lost else {}
    return [
        _in_period(*(one.table, one.name, "gone", one.name.split("_")[0], one.row_count), periods)
        for one in lost
    ]


def _in_period(
    table: str,
    part: str,
    reason: str,
    partition_id: str,
    row_count: int | None,
    periods: dict[str, Partition],
) -> DamagedPart:
    period = periods.get(partition_id) if table in PARTITIONED else None
    if period is None:
        return DamagedPart(table, part, reason, row_count=row_count)
    return DamagedPart(table, part, reason, period.opened_ms, period.closed_ms, row_count)


def _periods(engine: Engine) -> dict[str, Partition]:
    return {str(partition.opened_ms): partition for partition in list_partitions(engine)}


def _rows(engine: Engine, name: PartName) -> int | None:
    table: Any = engine.capabilities.storage(name.table)
    found = engine.query(
        f"SELECT max(rows) FROM {engine.capabilities.system('parts')} "
        "WHERE database = {database:String} AND table = {table:String} AND name = {part:String}",
        {"database": engine.database, "table": table, "part": name.part},
        settings=WHO_ANSWERS,
    ).rows
    return int(found[0][0]) or None


def _row_count(part: Path) -> int | None:
    """`count.txt` of a part on this machine; None for one of a cluster, or where it is gone."""
    try:
        with (part / "count.txt").open("rb") as file:
            return int(file.read(PART_COUNT_BYTES_MAX))
    except (OSError, ValueError):
        return None
