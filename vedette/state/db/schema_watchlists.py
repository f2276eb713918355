"""Tables of watchlists, and watermarks of commit followers.

Migrations (`migrations/`) create them, like those of `schema.py`.
"""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, Table, Text

from vedette.record.columns import columns
from vedette.record.member import audited_members
from vedette.record.objects.watchlist import Watchlist
from vedette.state.db.audited import audited
from vedette.state.db.schema import METADATA


def _number(name: str, default: int = 0) -> Column[int]:
    return Column(name, BigInteger, nullable=False, server_default=str(default))


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False, server_default="")


WATERMARK = Table(
    "watermark",
    METADATA,
    Column("name", Text, primary_key=True),  # name of the follower
    _number("seq"),  # newest commit that it has processed
)

WATCHLIST = Table(
    "watchlist",
    METADATA,
    *columns(
        Watchlist,
        Column("key", Integer, primary_key=True),
        Column("id", Integer, nullable=False, unique=True),
    ),
    sqlite_autoincrement=True,
    # Not `stopped`: every round writes it.
    info=audited("watchlist", "id", only=audited_members(Watchlist)),
)

WATCHLIST_ID = Table(
    "watchlist_id",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),  # every id that was ever assigned
    # Watchlist that has this id, or had it before its query changed; null: deleted.
    Column("watchlist_key", ForeignKey("watchlist.key", ondelete="SET NULL")),
    _text("name"),
    _text("search_query"),
    _text("index_type"),
    _number("from_us"),
    _number("until_us"),  # 0: current
    Index("ix_watchlist_id_watchlist_key", "watchlist_key"),
)
