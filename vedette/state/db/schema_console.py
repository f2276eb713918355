"""Tables of what people keep for themselves: preferences, searches, links. And why a host is
isolated.

Their history is in `migrations/`, like that of `schema.py`.
"""

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Integer, Table, Text

from vedette.state.db.audited import audited
from vedette.state.db.schema import METADATA


def _number(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False, server_default="0")


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False, server_default="")


PREFERENCE = Table(
    "preference",
    METADATA,
    Column("user_id", ForeignKey("user_account.id", ondelete="CASCADE"), primary_key=True),
    Column("body", Text, nullable=False),  # JSON
    _number("changed_us"),
)

SAVED_SEARCH = Table(
    "saved_search",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("user_id", ForeignKey("user_account.id", ondelete="CASCADE"), nullable=False),
    Column("name", Text, nullable=False),
    Column("view", Text, nullable=False),  # the screen, such as process or alerts
    _text("params"),  # the query string of its address
    Column("shared", Boolean, nullable=False),  # with everybody; else the user's own
    _number("changed_us"),
    Index("ix_saved_search_user_id", "user_id"),
    sqlite_autoincrement=True,
)

PERMALINK = Table(
    "permalink",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("user_id", ForeignKey("user_account.id", ondelete="CASCADE"), nullable=False),
    Column("view", Text, nullable=False),
    _text("params"),
    _number("made_us"),
    _number("expires_us"),
    Index("ix_permalink_expires_us", "expires_us"),
    Index("ix_permalink_user_id", "user_id"),
)

ISOLATION = Table(
    "isolation",
    METADATA,
    Column("sensor_id", ForeignKey("sensor.id", ondelete="CASCADE"), primary_key=True),
    _text("reason"),
    _text("username"),
    _number("since_us"),
    _number("expires_us"),  # 0: never
    Index("ix_isolation_expires_us", "expires_us"),
    info=audited("isolation", "sensor_id"),
)
