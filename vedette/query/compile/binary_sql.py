"""SQL of binary documents: the sightings of a file by all sensors of a scope, aggregated by hash.

Table `binary` has a row per hash and sensor. A caller sees the aggregate of the rows in scope, so
a signature that one sensor reported holds for the file. On a cluster the rows lie on the shards
of their sensors, so sets of hashes are made with `GLOBAL IN`: once, over all shards.

The scope is two bound parameters that `store/sql/scope_filter.py` fills in; a statement without
them fails instead of running unscoped.
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
    """A SELECT of `hash` and some of `BINARY_COLUMNS` of the binaries in scope, aggregated from
    the rows for which `which` is true. The engine computes only the columns that are used."""
    names = [name for name in columns if name != "hash"]
    summed = ", ".join(f"{_SUMMED[name]} AS `_{name}`" for name in names)
    named = ", ".join(f"`_{name}` AS `{name}`" for name in names)
    return (
        f"SELECT hash, {named} FROM (SELECT hash, {summed} FROM binary "
        f"WHERE {IN_SCOPE} AND {which} GROUP BY hash)"
    )


ROW_COLUMNS = frozenset(BINARY_COLUMNS) - {"hostname", "group", "endpoint", "host_count"}
"""Columns that single rows have too. A test that is true of the aggregate is true of one of its
rows, because the maximum, the minimum and collected values are values of rows."""


def seen_sql(condition: str) -> str:
    """Prefilter on rows: one row in scope of the binary meets a condition on `ROW_COLUMNS`. Reads
    those columns alone, where aggregating reads all."""
    return f"hash GLOBAL IN (SELECT hash FROM binary WHERE {IN_SCOPE} AND {condition})"


def hashes_sql(condition: str, columns: Iterable[str]) -> str:
    """A SELECT of the MD5 and SHA-256, as `digest`, of all binaries that meet a condition on the
    given columns."""
    named = list(dict.fromkeys(("md5", "sha256", *columns)))
    which = seen_sql(condition) if ROW_COLUMNS.issuperset(named) else "1"
    binaries = binaries_sql(which, named)
    return (
        "SELECT arrayJoin(arrayFilter(h -> h != '', [md5, sha256])) AS digest "
        f"FROM ({binaries}) WHERE {condition}"
    )
