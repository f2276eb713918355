"""SQL of binary documents: the sightings of a file by all sensors of a scope, aggregated by hash.

Table `binary` has a row per hash and sensor, `binary_reading` one for what was read from a file's
bytes. A caller sees the aggregate of the rows in scope, so a signature that one sensor reported
holds for the file; what was read is believed before what was reported. On a cluster the rows lie
on the shards of their sensors, so sets of hashes are made with `GLOBAL IN`: once, over all shards.

The scope is two bound parameters that `store/sql/scope_filter.py` fills in; a statement without
them fails instead of running unscoped.
"""

from collections.abc import Iterable, Sequence

from vedette.model.columns import BINARY, NOT_READ, READ_ONLY, SIGHTING, Column

SCOPE_ALL = "scope_all"
SCOPE_SENSORS = "scope_sensors"
"""Parameters: 1 when every sensor is visible; else the sensors that are."""

IN_SCOPE = f"({{{SCOPE_ALL}:UInt8}} OR sensor_id IN {{{SCOPE_SENSORS}:Array(UInt32)}})"

_BY_SENSOR = frozenset({"hostname", "group"})
_READ = {column.name: column for column in (*BINARY, *READ_ONLY) if column.name not in NOT_READ}
"""Columns that the bytes of a file may answer."""

_EMPTY = {"text": "''", "time": "toDateTime64(0, 6, 'UTC')"}
_IS_SIGHTING = "said = 0"
WEAK = {"digsig_result": "Unsigned", "digsig_result_code": str(0x800B0100)}
"""What a reading says less surely than any sensor."""


def _decided(column: Column) -> str:
    """What the newest reading of the bytes says, else the greatest that a sensor said. That a file
    carries no signature is the weakest of all: systems sign their own files in catalogues."""
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
    "is_read": "toUInt8(max(said) > 0)",
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
"""What rows of the one table have where the other has a column."""

_ROWS_OF: dict[str, tuple[str, ...]] = {
    "endpoint": ("hostname", "sensor_id"),
    "host_count": ("sensor_id",),
    "is_read": (),
}
"""Columns of rows that a column of binaries is made of, where that is not the one of its name."""

READING_IN_SCOPE = f"(sensor_id = 0 OR {IN_SCOPE})"
"""Readings of verified files are facts for all who see the file; those of beginnings, which nobody
can verify, are for those who see the sensor that sent them."""


def _rows(columns: Iterable[str], which: str, which_read: str) -> str:
    """A SELECT of rows of sightings, with `said` 0, and of readings, `said` when they were made; of
    those for which `which` and `which_read` are true."""
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
    """A SELECT of `hash` and some of `BINARY_COLUMNS` of the binaries in scope, aggregated from
    the rows for which `which`, a condition on `hash`, is true. With `which_read` it is asked of
    sightings alone: then files that an operator added may be there besides.

    A file that no sensor of the scope has seen is left out, whatever was read from it; except one
    that an operator added, for those who see everything.
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
"""Columns that single rows have too. A test that is true of the aggregate is true of one of its
rows, because the maximum, the minimum and collected values are values of rows."""


def seen_sql(condition: str, columns: Iterable[str]) -> str:
    """Prefilter on rows, a SELECT of `hash`: one row in scope of the binary meets a condition on
    some `columns`, of `ROW_COLUMNS`. Reads those columns alone, where aggregating reads all."""
    return f"SELECT hash FROM ({_rows(columns, '1', '1')}) WHERE {condition}"


def seen_in_sql(selects: Sequence[str]) -> str:
    """The condition on `hash` of some prefilters."""
    return " AND ".join(f"hash GLOBAL IN ({one})" for one in selects) or "1"


def hashes_sql(condition: str, columns: Iterable[str], used: str = "") -> str:
    """A SELECT of the MD5 and SHA-256, as `digest`, of all binaries that meet a condition on the
    given columns; where that takes whole binaries, of those for which `used`, a condition on
    `hash`, is true: to count the hosts of a million files takes longer than to search."""
    named = list(dict.fromkeys(("md5", "sha256", *columns)))
    is_of_rows = ROW_COLUMNS.issuperset(named)
    if is_of_rows:
        binaries = binaries_sql(seen_in_sql([seen_sql(condition, named)]), named)
    else:  # There are few readings: looking for the used ones would take longer than they do.
        binaries = binaries_sql(used or "1", named, which_read="1")
    return (
        "SELECT arrayJoin(arrayFilter(h -> h != '', [md5, sha256])) AS digest "
        f"FROM ({binaries}) WHERE {condition}"
    )
