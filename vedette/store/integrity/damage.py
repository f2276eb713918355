"""Data parts that the engine cannot read.

At start the engine moves a part with missing or truncated files to `detached/` and continues
without it (`broken-on-start`); results then lack the part's rows. Corruption in the middle of a
part is found when a query reads it (`engine.unreadable_parts`), or by `verify_parts`. A part whose
files are all gone is found by comparison with the list of the last stop (`part_list.py`).
"""

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from weakref import WeakKeyDictionary

from vedette.limits import Limit
from vedette.store.engine.capabilities import WHO_ANSWERS
from vedette.store.engine.client import Engine
from vedette.store.engine.errors import PartName
from vedette.store.integrity.part_list import ListedPart
from vedette.store.partitions.lifecycle import list_partitions
from vedette.store.partitions.partition import Partition, time_text
from vedette.store.schema.tables import PARTITIONED, TABLES

DAMAGE_AGE_S: Limit[int] = 10
"""Maximum age of the list of damaged parts that searches and `/readyz` use."""

PART_COUNT_BYTES_MAX: Limit[int] = 32
"""Bytes read of a part's `count.txt`: a number, unless the file is damaged."""


_BROKEN: Final = "startsWith(reason, 'broken')"


_cache: WeakKeyDictionary[Engine, "_Cached"] = WeakKeyDictionary()
_lost: WeakKeyDictionary[Engine, tuple[ListedPart, ...]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class DamagedPart:
    """A damaged part. `name` is its name before it was detached. `opened_ms` and `closed_ms` (epoch
    milliseconds) are those of its partition, 0 if unknown or still open."""

    table: str
    name: str
    reason: str
    opened_ms: int = 0
    closed_ms: int = 0
    row_count: int | None = None
    """None if the part's files do not state it."""

    @property
    def key(self) -> str:
        """Identifies the part among those of all tables; contains no spaces."""
        return f"{self.table}/{self.name}"

    def text(self) -> str:
        """Returns one line for logs, `/readyz` and commands."""
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
    """Returns the parts that results lack. The list is at most `limits.DAMAGE_AGE_S` old, since
    every search calls this; parts that a query found corrupt appear at once. Raises
    UnavailableError."""
    cached, unreadable = _cache.get(engine.root, _Cached()), engine.unreadable_parts
    is_fresh = time.monotonic() - cached.read_s < DAMAGE_AGE_S
    if not is_fresh or cached.unreadable != unreadable:
        parts = (
            *_detached(engine),
            *_unreadable(engine, unreadable, "unreadable"),
            *_gone(engine),
        )
        cached = _cache[engine.root] = _Cached(time.monotonic(), unreadable, parts)
    return cached.parts


def note_lost(engine: Engine, parts: Iterable[ListedPart]) -> None:
    """Adds lost parts (`part_list.lost_parts`) to the damaged parts."""
    _lost[engine.root] = tuple(parts)
    _cache.pop(engine.root, None)


def known_damage(engine: Engine) -> tuple[DamagedPart, ...]:
    """Returns the last result of `damaged_parts` without a query, for health checks."""
    return _cache.get(engine.root, _Cached()).parts


def verify_parts(engine: Engine) -> tuple[DamagedPart, ...]:
    """Returns `damaged_parts` and the parts with wrong checksums. Reads the whole store: seconds
    per gigabyte."""
    failed = []
    for table in TABLES:
        storage = engine.capabilities.storage(table.name) if table.sharded else table.name
        failed += [PartName(table.name, part) for part in _failed_checks(engine, storage)]
    known = {(part.table, part.name) for part in damaged_parts(engine)}
    new = [name for name in failed if (name.table, name.part) not in known]
    return (*damaged_parts(engine), *_unreadable(engine, new, "checksum mismatch"))


def _failed_checks(engine: Engine, storage: str) -> list[str]:
    """Returns the parts that fail CHECK TABLE. The driver returns the result of any statement but
    SELECT as tab-separated text: part, 1 or 0, message."""
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
        _in_period(one.table, one.name, "gone", one.name.split("_")[0], one.row_count, periods)
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
    """Returns the number in `count.txt` of a part on this machine; None on a cluster, or if the
    file is gone."""
    try:
        with (part / "count.txt").open("rb") as file:
            return int(file.read(PART_COUNT_BYTES_MAX))
    except (OSError, ValueError):
        return None
