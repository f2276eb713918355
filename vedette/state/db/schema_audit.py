"""Tables of the audit log (`audit_log.py`). Migrations (`migrations/`) create them."""

from sqlalchemy import BigInteger, Column, Index, Integer, Table, Text

from vedette.state.db.schema import METADATA

AUDIT = Table(
    "audit",
    METADATA,
    Column("number", BigInteger, primary_key=True, autoincrement=False),  # from 1, without gaps
    Column("time_us", BigInteger, nullable=False),
    Column("author_kind", Text, nullable=False),  # author.py
    Column("author", Text, nullable=False),
    Column("address", Text, nullable=False),
    Column("request_id", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("before", Text, nullable=False),  # JSON, "" for none
    Column("after", Text, nullable=False),
    Column("hash", Text, nullable=False),
    Index("ix_audit_time_us", "time_us"),
    Index("ix_audit_target", "target"),
)

AUDIT_HEAD = Table(
    "audit_head",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),  # 1: the only row
    Column("number", BigInteger, nullable=False),  # number of the newest entry
    Column("hash", Text, nullable=False),
)
