"""Tables of feeds: sources, synchronization state, and errors.

Migrations (`migrations/`) create them, like those of `schema.py`. The telemetry store contains
reports and indicators (`store/schema/tables.py`).
"""

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Integer,
    SmallInteger,
    Table,
    Text,
)

from vedette.record.columns import columns
from vedette.record.member import audited_members
from vedette.record.objects.feed import Feed
from vedette.state.db.audited import audited
from vedette.state.db.schema import METADATA


def _number(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False, server_default="0")


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False, server_default="")


FEED = Table(
    "feed",
    METADATA,
    *columns(
        Feed,
        Column("id", Integer, primary_key=True),
        Column("name", Text, nullable=False),  # as written; part of the names of search fields
        Column("position", Integer),
        Column("sync_wanted", SmallInteger, nullable=False, server_default="0"),
    ),
    Column("folded_name", Text, nullable=False, unique=True),
    _text("password_sealed"),  # state.db.sealing
    _text("ssl_client_key_sealed"),
    _number("created_us"),
    _number("changed_us"),
    sqlite_autoincrement=True,  # an id is never given twice: alerts and reports hold it
    info=audited(
        "feed",
        "name",
        only=audited_members(Feed),
        secrets=("password_sealed", "ssl_client_key_sealed", "icon", "icon_small"),
        urls=("feed_url",),
    ),
)

FEED_ERROR = Table(
    "feed_error",
    METADATA,
    Column("feed_id", ForeignKey("feed.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    _text("place"),
    _text("report_id"),
    _text("problem"),
)
