"""Tables of forwarders. Migrations (`migrations/`) create them, like those of `schema.py`."""

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
    _text("options"),  # JSON: options that may be shown
    _text("sealed"),  # JSON, encrypted: its secrets
    *map(_text, ("query", "record_schema", "file_format", "path")),
    *map(_number, ("interval_s", "created_us", "changed_us")),
    info=audited(
        "forwarder",
        "name",
        secrets=("sealed",),
        only=(
            "name",
            "enabled",
            "types",
            "destination",
            "options",
            "query",
            "record_schema",
            "file_format",
            "path",
            "interval_s",
        ),
    ),
)

FORWARDER_STREAM = Table(
    "forwarder_stream",
    METADATA,
    Column("forwarder_id", ForeignKey("forwarder.id", ondelete="CASCADE"), primary_key=True),
    Column("type", Text, primary_key=True),
    _number("position"),  # everything up to here was sent
    *map(_number, ("records", "files", "sent_us")),
    *map(_number, ("failures", "failed_us", "retry_us")),  # since the last success
    _text("error"),
    _number("lost"),  # records deleted unsent because too many were waiting
)

FORWARDED_HIT = Table(
    "forwarded_hit",
    METADATA,
    # Never reused: deleted rows precede every position.
    Column("id", Integer, primary_key=True),
    _number("created_us"),
    Column("body", Text, nullable=False),  # JSON: the record
    sqlite_autoincrement=True,
)
"""Hits of watchlists and feeds that wait for forwarders, in order of detection."""
