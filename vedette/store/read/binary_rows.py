"""Reads complete binaries by their hashes. They are few, so sightings of sensors and readings of
the bytes are merged here.

The statement that does both for any number (`query/compile/binary_sql.py`) takes the engine 50 ms
to plan, whatever it reads; these two take 10. A contract test compares their results.
"""

from collections.abc import Sequence
from typing import Any, Final

from vedette.limits import Limit
from vedette.model.columns import BINARY, NOT_READ, READ_ONLY, READING, SIGHTING, Column
from vedette.model.scope import Scope
from vedette.query.compile.binary_sql import BINARY_COLUMNS, IN_SCOPE, READING_IN_SCOPE, WEAK
from vedette.query.compile.condition import SETTINGS
from vedette.store.engine.client import Engine
from vedette.store.sql.scope_filter import scope_params

BINARY_NAMES_MAX: Limit[int] = 1_000
"""File names, hosts and groups in the result for one binary."""


BinaryDocument = dict[str, Any]
"""A binary by `BINARY_COLUMNS`; times in epoch microseconds."""

_LISTS: Final = {
    "observed_filename": "groupUniqArrayArray(observed_filename)",
    "hostname": "groupUniqArray(toString(hostname))",
    "group": "groupUniqArray(toString(`group`))",
    "endpoint": "groupUniqArray(concat(hostname, '|', toString(sensor_id)))",
}
_SUMMED: Final = [column for column in SIGHTING if column.name not in _LISTS]
_AGGREGATED: Final = ", ".join(
    (
        *(f"{column.merge}(`{column.name}`) AS `_{column.name}`" for column in _SUMMED),
        *(
            f"arraySlice(arraySort({sql}), 1, {BINARY_NAMES_MAX}) AS `_{name}`"
            for name, sql in _LISTS.items()
        ),
        "uniqExact(sensor_id) AS `_host_count`",
    )
)
_SEEN: Final = (
    f"SELECT hash, {_AGGREGATED} FROM binary "
    f"WHERE {IN_SCOPE} AND hash IN {{hashes:Array(String)}} GROUP BY hash"
)
_READ: Final = (
    f"SELECT hash, toUnixTimestamp64Micro(read_at) AS said, is_added, "
    f"{', '.join(f'`{column.name}`' for column in READING)} FROM binary_reading FINAL "
    f"WHERE {READING_IN_SCOPE} AND hash IN {{hashes:Array(String)}}"
)
_DECIDED: Final = [column for column in (*BINARY, *READ_ONLY) if column.name not in NOT_READ]
_OLDEST: Final = ("first_seen", "added")
_EMPTY: Final[dict[str, Any]] = {
    column.name: "" if column.type == "text" else 0 for column in (*SIGHTING, *READ_ONLY)
} | {name: [] for name in _LISTS}


def binary_rows(engine: Engine, hashes: Sequence[str], scope: Scope) -> list[BinaryDocument]:
    """Returns the binaries of the scope whose rows have these hashes, in hash order. Omits binaries
    that no sensor of the scope saw, except those that an operator added, if the scope includes
    everything."""
    params = {"hashes": list(hashes), **scope_params(scope)}
    seen = {row["hash"]: row for row in engine.query(_SEEN, params, settings=SETTINGS).dicts()}
    read: dict[str, list[dict[str, Any]]] = {}
    for row in engine.query(_READ, params, settings=SETTINGS).dicts():
        read.setdefault(row["hash"], []).append(row)
    return [
        _merged(digest, seen.get(digest), read.get(digest, []))
        for digest in sorted(seen.keys() | read.keys())
        if digest in seen or (scope.sees_all and any(row["is_added"] for row in read[digest]))
    ]


def _merged(
    digest: str, seen: dict[str, Any] | None, readings: Sequence[dict[str, Any]]
) -> BinaryDocument:
    values = {name.removeprefix("_"): value for name, value in (seen or {}).items()}
    found: BinaryDocument = {**_EMPTY, "host_count": 0, **values, "hash": digest}
    for column in _DECIDED:
        found[column.name] = _decided(column, found[column.name], readings)
    for name in ("md5", "sha256"):
        found[name] = max([found[name], *(row[name] for row in readings)])
    for name in _OLDEST:
        known = [found[name]] if seen else []
        found[name] = min([*known, *(row[name] for row in readings)])
    found["is_read"] = int(any(row["said"] > 0 for row in readings))
    return {name: found[name] for name in BINARY_COLUMNS}


def _decided(column: Column, merged: Any, readings: Sequence[dict[str, Any]]) -> Any:
    """Returns the value from the newest reading of the bytes, else the value from sensors
    (`binary_sql._decided`)."""
    weak = WEAK.get(column.name)
    options = [(0 if merged else -2, merged)]
    for row in readings:
        value = row[column.name]
        options.append((-2 if not value else -1 if value == weak else row["said"], value))
    return max(options)[1]
