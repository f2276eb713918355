"""Columns of `record` that serve the search of logs: what is read from the data of a record, made
from `model/log_fields.py`.

They are MATERIALIZED: computed when a row is inserted, and for rows of parts that are older than
the column when these are read or merged. An upgrade therefore rewrites nothing.
"""

from typing import Final, assert_never

from vedette.model.indexes import WORDS_SQL
from vedette.model.log_fields import LOG_TEXT_SQL, NO_VALUES, READINGS, Member, Reading
from vedette.store.engine.capabilities import Capabilities
from vedette.store.schema.table import TEXT_CODEC

LOG_INDEXES: Final[tuple[str, ...]] = (
    f"INDEX ix_words {WORDS_SQL.format(LOG_TEXT_SQL)} TYPE text(tokenizer = 'splitByNonAlpha')",
    # Rows are sorted by channel and host first: a granule has a short span of time.
    "INDEX ix_time time TYPE minmax",
)

_NO_VALUES: Final = ", ".join(f"'{text}'" for text in NO_VALUES)
_SQL_TYPES: Final = {"text": "String", "lower": "String", "number": "UInt32", "address": "IPv6"}


def _column(reading: Reading) -> str:
    kind = _SQL_TYPES[reading.type]
    return f"`{reading.name}` {kind} MATERIALIZED {_value_sql(reading)} {TEXT_CODEC}"


def _value_sql(reading: Reading) -> str:
    choices = ", ".join(f"{_has_value(one)}, {_text_of(one)}" for one in reading.members)
    text = f"multiIf({choices}, '')"
    match reading.type:
        case "text":
            return text
        case "lower":
            return f"lower({text})"
        case "number":
            return f"toUInt32OrZero(extract({text}, '^[0-9]{{1,9}}$'))"
        case "address":
            return f"toIPv6OrDefault(splitByChar('%', {text})[1])"
    assert_never(reading.type)


def _has_value(member: Member) -> str:
    found = f"{_of(member.name)} NOT IN ({_NO_VALUES})"
    if member.channel:
        found += f" AND channel = '{member.channel}'"
    if member.provider:
        found += f" AND provider = '{member.provider}'"
    return found


def _text_of(member: Member) -> str:
    name, domain = _of(member.name), _of(member.domain)
    if not member.domain:
        return name
    alone = rf"{domain} IN ({_NO_VALUES}) OR position({name}, '\\') > 0"
    return rf"if({alone}, {name}, concat({domain}, '\\', {name}))"


def _of(member: str) -> str:
    return f"`fields`['{member}']"


LOG_COLUMNS: Final[tuple[str, ...]] = (
    "`level` LowCardinality(String) CODEC(ZSTD(1))",
    *map(_column, READINGS),
    "`data` Array(String) ALIAS mapValues(`fields`)",
    # Identifies a record with its host and time, and gives records of one time a fixed order.
    "`content_hash` UInt64 MATERIALIZED "
    "cityHash64(channel, event_id, record_id, mapKeys(`fields`), mapValues(`fields`)) "
    "CODEC(NONE)",
)


def log_statements(capabilities: Capabilities) -> tuple[str, ...]:
    """The statements of the step that adds the columns and indexes; the route of a cluster last,
    so that it never names what a server lacks."""
    stored = capabilities.storage("record")
    columns = ", ".join(f"ADD COLUMN IF NOT EXISTS {column}" for column in LOG_COLUMNS)
    indexes = ", ".join(
        f"ADD {index.replace('INDEX', 'INDEX IF NOT EXISTS', 1)}" for index in LOG_INDEXES
    )
    names = dict.fromkeys((stored, "record"))
    added = [f"ALTER TABLE `{name}`{capabilities.on_cluster} {columns}" for name in names]
    return added[0], f"ALTER TABLE `{stored}`{capabilities.on_cluster} {indexes}", *added[1:]
