"""Several shards in one engine: every row of a sharded table has the number of its shard.

The front's cluster names its engine once for every shard, so a Distributed table reads the same
rows from all. A column that only the front knows leads the key of every local table, so rows of
two shards never merge; a filter on the local tables leaves each shard its own. (A database for each
shard would need servers that listen: an engine takes a shard with a database of its own for a
remote one.)
"""

import io
import re
from typing import Final

import pyarrow as pa

from tests.support.clickhouse_front.statements import Insert
from vedette.cluster.probe_table import PROBE
from vedette.store.engine.client import DATABASE
from vedette.store.schema.tables import SHARDED

COLUMN: Final = "of_shard"

_PAIR: Final = re.compile(r"'([\w.]+)': '((?:[^'\\\\]|\\\\.)*)'")
_CREATES_LOCAL: Final = re.compile(r"(CREATE TABLE IF NOT EXISTS `\w+_local`[^(]*\(\n)")
_PROJECTION: Final = re.compile(r"(PROJECTION \w+ \(SELECT )")
_READS_PROJECTION: Final = re.compile(r"cluster\('\w+', mergeTreeProjection\([^()]*\(\)[^()]*\)\)")
_MACRO: Final = "getMacro('shard')"
_OWN: Final = f"shardNum() IN (0, {COLUMN})"


def placed_sql(sql: str) -> str:
    """A statement for an engine whose local tables have the column."""
    if sql.lstrip().startswith("ALTER"):
        return sql.replace(_MACRO, f"toString({COLUMN})")
    sql = sql.replace(_MACRO, "toString(shardNum())")
    sql = _READS_PROJECTION.sub(lambda found: f"(SELECT * FROM {found[0]} WHERE {_OWN})", sql)
    if not _CREATES_LOCAL.search(sql):
        return sql
    sql = _CREATES_LOCAL.sub(rf"\1    `{COLUMN}` UInt8 DEFAULT 0,\n", sql)
    sql = _PROJECTION.sub(rf"\1{COLUMN}, ", sql)
    return sql.replace("\nORDER BY (", f"\nORDER BY ({COLUMN}, ")


def placed_insert(found: Insert, shard: int) -> Insert:
    """An insert of rows that are sent to a shard."""
    rows = pa.ipc.open_file(io.BytesIO(found.rows)).read_all()
    rows = rows.add_column(0, COLUMN, pa.array([shard] * rows.num_rows, pa.uint8()))
    sink = pa.BufferOutputStream()
    with pa.RecordBatchFileWriter(sink, rows.schema) as writer:
        writer.write(rows)
    into = found.into.replace("(", f"(`{COLUMN}`, ", 1)
    into = re.sub(r"SELECT ", f"SELECT `{COLUMN}`, ", into, count=1)
    structure = found.structure and f"'`{COLUMN}` UInt8, {found.structure[1:]}"
    return Insert(into, found.format, sink.getvalue().to_pybytes(), structure, found.rest)


def placed_filters(asked: str, database: str) -> str:
    """`additional_table_filters` that let each shard see its rows, besides those asked for. A
    statement may name the database of the servers, or be sent to its own."""
    found = dict(_PAIR.findall(asked))
    for table in (*SHARDED, PROBE.name):
        name = f"{table}_local"
        also = found.pop(name, "") or found.pop(f"{database}.{name}", "")
        for place in {database, DATABASE}:
            found[f"{place}.{name}"] = f"({also}) AND {_OWN}" if also else _OWN
    return "{" + ", ".join(f"'{name}': '{one}'" for name, one in found.items()) + "}"


def places_sql(database: str) -> str:
    """Sensors with the shards that have rows of them."""
    tables = " UNION ALL ".join(
        f"SELECT sensor_id, {COLUMN} FROM {database}.{table}_local" for table in sorted(SHARDED)
    )
    return f"SELECT sensor_id, groupUniqArray({COLUMN}) FROM ({tables}) GROUP BY sensor_id"
