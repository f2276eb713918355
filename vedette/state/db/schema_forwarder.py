"""Tables of forwarders. Their history is in `migrations/`, like that of `schema.py`."""

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Integer, Table, Text, true

from vedette.state.db.audited import audited
from vedette.state.db.schema import METADATA


def _number(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False, server_default="0")


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False, server_default="")


FORWARDER = Table(
    "forwarder",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("enabled", Boolean, nullable=False, server_default=true()),
    Column("types", Text, nullable=False),  # JSON: a list
    Column("destination", Text, nullable=False),  # directory, s3, https, kafka
    _text("options"),  # JSON: what may be shown of the destination
    _text("sealed"),  # JSON, encrypted: its secrets
    *map(_text, ("query", "record_schema", "file_format", "path")),
    *map(_number, ("interval_s", "created_us", "changed_us")),
    info=audited("forwarder", "name", secrets=("sealed",), only=(
        *("name", "enabled", "types", "destination", "options", "query", "record_schema"),
        *("file_format", "path", "interval_s"),
    )),
)  # fmt: skip

FORWARDER_STREAM = Table(
    "forwarder_stream",
    METADATA,
    Column("forwarder_id", ForeignKey("forwarder.id", ondelete="CASCADE"), primary_key=True),
    Column("type", Text, primary_key=True),
    _number("position"),  # what is behind it was sent
    *map(_number, ("records", "files", "sent_us")),
    *map(_number, ("failures", "failed_us", "retry_us")),  # since the last success
    _text("error"),
    _number("lost"),  # records that were deleted before they were sent, as too many waited
)

FORWARDED_HIT = Table(
    "forwarded_hit",
    METADATA,
    # Never given twice: what was deleted lies before every position.
    Column("id", Integer, primary_key=True),
    _number("created_us"),
    Column("body", Text, nullable=False),  # JSON: the record
    sqlite_autoincrement=True,
)
"""Hits of watchlists and feeds that wait for forwarders, in the order they were found."""
