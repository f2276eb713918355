"""Upgrades a store whose process metadata are plain columns, each merged by `max`.

The upgrade copies the merged rows of `segment` to a table of the new layout, which then replaces
the old table. Pending rows of `correction` become claims of their segments. All statements can be
repeated from any point of the sequence, because the conversion leaves converted rows unchanged.

Two kinds of stores cannot be upgraded: stores on a cluster, because replicated tables keep the
coordination path of their name; and stores with unmounted partitions, whose files have the old
layout.
"""

from dataclasses import replace
from typing import Final

from vedette.errors import StartError
from vedette.model.columns import (
    CLAIMS,
    EVENT_KINDS,
    KEY,
    METADATA,
    RANK_LENGTH,
    RANKS,
    SHAPE,
    Column,
)
from vedette.store.engine.capabilities import Capabilities
from vedette.store.engine.client import Engine
from vedette.store.schema.table import SQL_TYPES
from vedette.store.schema.tables import CMDLINE_SHAPE, SEGMENT, definitions

_NEXT: Final = "segment_next"

_KEYS: Final = ("partition_ms", "window_ms", "sensor_id", "process_id", "segment_id")
_CORRECTION: Final = (
    "CREATE TABLE IF NOT EXISTS correction (partition_ms UInt64, sensor_id UInt32, "
    "process_id String, windows Array(UInt64), seq UInt64, {columns}) "
    "ENGINE = MergeTree ORDER BY (partition_ms, process_id, seq)"
)

_OLD_ANCHORED: Final = 59
_OLD_RANK: Final = 56
_NEW_ANCHORED: Final = 63
_NEW_RANK: Final = 60
_LATE_LOST: Final = (1 << 56) - (1 << 52)
"""Difference of the rank of a late time between the old layout and the new."""

_LAST_REVISION: Final = 255
_CORRECTIONS: Final = (
    f"(SELECT *, least(row_number() OVER (PARTITION BY partition_ms, process_id ORDER BY seq), "
    f"{_LAST_REVISION:d}) AS revision FROM correction)"
)
"""Pending corrections with their revision. A correction replaces values of its own rank, also those
of earlier corrections."""

_SETTINGS: Final = (
    "SETTINGS max_partitions_per_insert_block = 0, max_threads = 1, max_insert_threads = 1, "
    "use_skip_indexes_if_final = 0"
)


def check_store(engine: Engine) -> None:
    """Raises StartError for stores that the step cannot upgrade."""
    if engine.capabilities.cluster:
        raise StartError(
            "a telemetry store on a cluster cannot be upgraded from schema 8: set up a new "
            "database and send its events again"
        )
    unmounted = engine.query(
        "SELECT count() FROM system.detached_parts "
        "WHERE database = {database:String} AND table = 'segment'",
        {"database": engine.database},
    ).rows[0][0]
    if unmounted:
        raise StartError(
            "a telemetry store of schema 8 cannot be upgraded while partitions are unmounted: "
            "mount or delete them with the version before"
        )


def claims_statements(capabilities: Capabilities) -> tuple[str, ...]:
    """Returns the statements of the step for an embedded store."""
    plain = [column.name for column in METADATA if not column.group]
    arrays = [column.name for kind in EVENT_KINDS for column in kind.columns]
    counts = [f"{kind.name}_count" for kind in EVENT_KINDS]
    names = [*(column.name for column in KEY), *plain, *arrays, *counts]
    names += ["record_keys", "request_keys"]
    claims = [(group, column) for group, columns in CLAIMS.items() for column in columns]
    values = ", ".join(_claim(_rank(group), column) for group, column in claims)
    corrected = ", ".join(_claim(f"{_rank(group)} + revision", column) for group, column in claims)
    quoted = ", ".join(f"`{name}`" for name in names)
    keys = ", ".join(_KEYS)
    inserted = ", ".join(f"`{column.physical}`" for _, column in claims)
    columns = ", ".join(
        f"`{one.name}` {SQL_TYPES[one.type]}"
        for one in (*RANKS.values(), *(column for _, column in claims))
        if one.name != SHAPE.name
    )
    return (
        _CORRECTION.format(columns=columns),
        f"DROP TABLE IF EXISTS {_NEXT} SYNC",
        *definitions(replace(SEGMENT, name=_NEXT), capabilities),
        f"INSERT INTO {_NEXT} ({quoted}, {inserted}) SELECT {quoted}, {values} "
        f"FROM segment FINAL {_SETTINGS}",
        f"INSERT INTO {_NEXT} ({keys}, first_server_update, {inserted}) "
        f"SELECT {keys}, first_seen, {corrected} FROM {_CORRECTIONS} AS pending INNER JOIN ("
        f"SELECT {keys}, min(first_server_update) AS first_seen FROM segment "
        f"WHERE process_id IN (SELECT process_id FROM correction) GROUP BY {keys}"
        ") AS stored USING (partition_ms, sensor_id, process_id) "
        f"WHERE has(windows, window_ms) {_SETTINGS}",
        # The indexes of all partitions of the new table must be built.
        "TRUNCATE TABLE IF EXISTS settled",
        f"EXCHANGE TABLES segment AND {_NEXT}",
        f"DROP TABLE IF EXISTS {_NEXT} SYNC",
        "DROP TABLE IF EXISTS correction SYNC",
    )


def _claim(rank: str, column: Column) -> str:
    ranked, value = f"toUInt64({rank})", f"`{column.name}`"
    if column.name == SHAPE.name:
        value = f"if(cmdline = '', 0, xxHash64({CMDLINE_SHAPE}))"
    if column.type == "text":
        return f"concat(reverse(reinterpretAsFixedString({ranked})), toString({value}))"
    if column.type == "time":
        value = f"reinterpretAsUInt64(toUnixTimestamp64Micro({value}))"
    return f"bitShiftLeft(toUInt128({ranked}), {8 * RANK_LENGTH:d}) + toUInt128({value})"


def _rank(group: str) -> str:
    """Returns the SQL expression that converts the rank of a group to the new layout."""
    name = f"`{RANKS[group].name}`"
    late = f"bitAnd({name}, {(1 << _OLD_RANK) - 1})"
    moved = (
        f"bitShiftLeft(bitShiftRight({name}, {_OLD_ANCHORED}), {_NEW_ANCHORED}) + "
        f"bitShiftLeft(bitAnd(bitShiftRight({name}, {_OLD_RANK}), 7), {_NEW_RANK}) + "
        f"bitShiftLeft({late} - least({late}, {_LATE_LOST}), 8)"
    )
    is_old = f"{name} >= {1 << _OLD_RANK} AND {name} < {1 << _NEW_RANK}"
    return f"if({is_old}, {moved}, {name})"
