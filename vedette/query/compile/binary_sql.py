"""SQL for binary documents: sightings of a file by all sensors of a scope, aggregated by hash.

Table `binary` has a row per hash and sensor; `binary_reading` has a row for each reading of a
file's bytes. A caller sees the aggregate of the rows in scope, so a signature reported by one
sensor applies to the file. Readings take precedence over reports of sensors. On a cluster the rows
are on the shards of their sensors, so sets of hashes are built with `GLOBAL IN`: once, over all
shards.

The scope consists of two bound parameters, which `store/sql/scope_filter.py` sets. A statement
without them fails instead of running without a scope.
"""

from collections.abc import Iterable, Sequence

from vedette.model.columns import BINARY, NOT_READ, READ_ONLY, SIGHTING, UNREAD_AT, Column

SCOPE_ALL = "scope_all"
SCOPE_SENSORS = "scope_sensors"
"""Parameters of the scope: 1 if every sensor is visible; else the visible sensors."""

IN_SCOPE = f"({{{SCOPE_ALL}:UInt8}} OR sensor_id IN {{{SCOPE_SENSORS}:Array(UInt32)}})"

_BY_SENSOR = frozenset({"hostname", "group"})
_READ = {column.name: column for column in (*BINARY, *READ_ONLY) if column.name not in NOT_READ}
"""Columns that can be read from the bytes of a file."""

_EMPTY = {"text": "''", "time": "toDateTime64(0, 6, 'UTC')"}
_IS_SIGHTING = "said = 0"
WEAK = {"digsig_result": "Unsigned", "digsig_result_code": str(0x800B0100)}
"""Values of a reading that any sensor's report overrides."""


def _decided(column: Column) -> str:
    """Returns the aggregate of a column: the newest reading, else the greatest value that a sensor
    reported. A reading that finds no signature ranks lowest, because operating systems sign their
    own files in catalogues."""
    name, empty = f"`{column.name}`", _EMPTY.get(column.type, "0")
    weak = WEAK.get(column.name)
    rank = f"multiIf({name} = {empty}, -2, said > 0 AND {name} = '{weak}', -1, said)"
    if weak is None:
        rank = f"if({name} = {empty}, -1, said)"
    return f"max(({rank}, {name})).2"


_SUMMED: dict[str, str] = {
    **{
        column.name: _decided(column)
        if column.name in _READ
        else f"{column.merge}(`{column.name}`)"
        for column in (*SIGHTING, *READ_ONLY)
        if column.name not in _BY_SENSOR
    },
    "is_read": f"toUInt8(max(said) > {UNREAD_AT})",
    "observed_filename": "groupUniqArrayArray(observed_filename)",
    "hostname": f"groupUniqArrayIf(toString(hostname), {_IS_SIGHTING})",
    "group": f"groupUniqArrayIf(toString(`group`), {_IS_SIGHTING})",
    "endpoint": f"groupUniqArrayIf(concat(hostname, '|', toString(sensor_id)), {_IS_SIGHTING})",
    "host_count": f"uniqExactIf(sensor_id, {_IS_SIGHTING})",
}

BINARY_COLUMNS: tuple[str, ...] = ("hash", *_SUMMED)
"""Columns of a binary document."""

_SEEN_DEFAULTS = {column.name: _EMPTY.get(column.type, "0") for column in READ_ONLY}
_READING_DEFAULTS = {
    "sha1": "''",
    "last_seen": "toDateTime64(0, 6, 'UTC')",
    "os_type": "''",
    "group": "''",
    "hostname": "''",
    "seq": "toUInt64(0)",
    "tampered": "toUInt8(0)",
    "observed_filename": "[]::Array(String)",
}
"""Values that replace columns missing in the other table."""

_ROWS_OF: dict[str, tuple[str, ...]] = {
    "endpoint": ("hostname", "sensor_id"),
    "host_count": ("sensor_id",),
    "is_read": (),
}
"""Row columns from which a binary's column is computed, if not the column of the same name."""

READING_IN_SCOPE = f"(sensor_id = 0 OR {IN_SCOPE})"
"""Condition for visible readings. Readings of verified files (sensor 0) are visible to everyone who
sees the file. Readings of partial files, which cannot be verified, are visible only to those who
see the sensor that sent the file."""


def _rows(columns: Iterable[str], which: str, which_read: str) -> str:
    """Returns a SELECT of sightings, with `said` 0, and readings, with their time as `said`.
    `which` filters the sightings, `which_read` the readings."""
    names = dict.fromkeys(
        row for name in columns for row in _ROWS_OF.get(name, (name,)) if row != "hash"
    )
    seen = "".join(
        f", {_SEEN_DEFAULTS[name]} AS `{name}`" if name in _SEEN_DEFAULTS else f", `{name}`"
        for name in names
    )
    read = "".join(
        f", {_READING_DEFAULTS[name]} AS `{name}`" if name in _READING_DEFAULTS else f", `{name}`"
        for name in names
    )
    return (
        f"SELECT hash, toInt64(0) AS said, toUInt8(0) AS is_added{seen} FROM binary "
        f"WHERE {IN_SCOPE} AND {which} UNION ALL "
        f"SELECT hash, toUnixTimestamp64Micro(read_at) AS said, is_added{read} "
        f"FROM binary_reading FINAL WHERE {READING_IN_SCOPE} AND {which_read}"
    )


def binaries_sql(
    which: str = "1", columns: Iterable[str] = BINARY_COLUMNS, *, which_read: str = ""
) -> str:
    """Returns a SELECT of `hash` and some `BINARY_COLUMNS` of the binaries in scope, aggregated
    from the rows that satisfy `which`, a condition on `hash`. If `which_read` is given, `which`
    filters only sightings; the result may then also contain files that an operator added.

    Leaves out files that no sensor of the scope has seen, even if they were read. Files that an
    operator added are included for callers who see all sensors.
    """
    names = [name for name in columns if name != "hash"]
    summed = ", ".join(f"{_SUMMED[name]} AS `_{name}`" for name in names)
    named = ", ".join(f"`_{name}` AS `{name}`" for name in names)
    visible = f"countIf({_IS_SIGHTING}) > 0 OR ({{{SCOPE_ALL}:UInt8}} AND max(is_added))"
    rows = _rows(names, which, which_read or which)
    return (
        f"SELECT hash, {named} FROM (SELECT hash, {summed} FROM ({rows}) "
        f"GROUP BY hash HAVING {visible})"
    )


ROW_COLUMNS = frozenset(BINARY_COLUMNS) - {"hostname", "group", "endpoint", "host_count", "is_read"}
"""Columns of single rows. If a test is true for the aggregate it is true for one of its rows,
because the maximum, the minimum and collected values are values of rows."""


def seen_sql(condition: str, columns: Iterable[str]) -> str:
    """Returns a SELECT of `hash`, a prefilter on rows: a row of the binary in scope satisfies a
    condition on some of `ROW_COLUMNS`. Reads only those columns, whereas aggregation reads all."""
    return f"SELECT hash FROM ({_rows(columns, '1', '1')}) WHERE {condition}"


def seen_in_sql(selects: Sequence[str]) -> str:
    """Returns the condition on `hash` that combines prefilters."""
    return " AND ".join(f"hash GLOBAL IN ({one})" for one in selects) or "1"


def hashes_sql(condition: str, columns: Iterable[str], used: str = "") -> str:
    """Returns a SELECT of the MD5 and SHA-256, as `digest`, of all binaries that satisfy a
    condition on the given columns. If that requires whole binaries, only those with `used`, a
    condition on `hash`: counting the hosts of a million files takes longer than the search."""
    named = list(dict.fromkeys(("md5", "sha256", *columns)))
    is_of_rows = ROW_COLUMNS.issuperset(named)
    if is_of_rows:
        binaries = binaries_sql(seen_in_sql([seen_sql(condition, named)]), named)
    else:  # Readings are few: filtering them by `used` would take longer than reading them.
        binaries = binaries_sql(used or "1", named, which_read="1")
    return (
        "SELECT arrayJoin(arrayFilter(h -> h != '', [md5, sha256])) AS digest "
        f"FROM ({binaries}) WHERE {condition}"
    )
