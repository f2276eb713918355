"""Binaries as documents, in SQL: what the sensors of a scope saw of each, summed up.

The table `binary` has a row for every hash and sensor. Whoever asks about a binary asks about
all rows that the caller may see together: a signature that one sensor told holds for all. On a
cluster those rows lie on the shards of their sensors, so sets of hashes are made by `GLOBAL IN`:
once, over all shards, wherever the question stands.

The scope is in the text as two bound values that `store/plan/scope_filter.py` fills in. A condition
with a join that nobody scoped does not run.
"""

from collections.abc import Iterable

from vedette.model.columns import SIGHTING

SCOPE_ALL = "scope_all"
SCOPE_SENSORS = "scope_sensors"
"""Parameters: 1 when every sensor is visible; else the sensors that are."""

IN_SCOPE = f"({{{SCOPE_ALL}:UInt8}} OR sensor_id IN {{{SCOPE_SENSORS}:Array(UInt32)}})"

_BY_SENSOR = frozenset({"hostname", "group"})
_SUMMED: dict[str, str] = {
    **{
        column.name: f"{column.merge}(`{column.name}`)"
        for column in SIGHTING
        if column.name not in _BY_SENSOR
    },
    "observed_filename": "groupUniqArrayArray(observed_filename)",
    "hostname": "groupUniqArray(toString(hostname))",
    "group": "groupUniqArray(toString(`group`))",
    "endpoint": "groupUniqArray(concat(hostname, '|', toString(sensor_id)))",
    "host_count": "uniqExact(sensor_id)",
}

BINARY_COLUMNS: tuple[str, ...] = ("hash", *_SUMMED)
"""Columns of a binary document."""


def binaries_sql(which: str = "1", columns: Iterable[str] = BINARY_COLUMNS) -> str:
    """A SELECT of all binaries of the scope of whose rows `which` is true, with `hash` and some
    of `BINARY_COLUMNS`. The engine computes only those columns that are used."""
    names = [name for name in columns if name != "hash"]
    summed = ", ".join(f"{_SUMMED[name]} AS `_{name}`" for name in names)
    named = ", ".join(f"`_{name}` AS `{name}`" for name in names)
    return (
        f"SELECT hash, {named} FROM (SELECT hash, {summed} FROM binary "
        f"WHERE {IN_SCOPE} AND {which} GROUP BY hash)"
    )


ROW_COLUMNS = frozenset(BINARY_COLUMNS) - {"hostname", "group", "endpoint", "host_count"}
"""Columns that each row has too. A test that is true of a binary is true of one of its rows:
the greatest, the least and the collected values are all there."""


def seen_sql(condition: str) -> str:
    """A condition on rows: one of the binary's rows in scope answers the condition, which asks
    for `ROW_COLUMNS` only. It costs a look at those columns, where summing up costs all."""
    return f"hash GLOBAL IN (SELECT hash FROM binary WHERE {IN_SCOPE} AND {condition})"


def hashes_sql(condition: str, columns: Iterable[str]) -> str:
    """A SELECT of the hashes, MD5 and SHA-256, of all binaries for which a condition on some
    columns is true; each is a `digest`."""
    named = list(dict.fromkeys(("md5", "sha256", *columns)))
    which = seen_sql(condition) if ROW_COLUMNS.issuperset(named) else "1"
    binaries = binaries_sql(which, named)
    return (
        "SELECT arrayJoin(arrayFilter(h -> h != '', [md5, sha256])) AS digest "
        f"FROM ({binaries}) WHERE {condition}"
    )
