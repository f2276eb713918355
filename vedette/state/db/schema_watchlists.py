"""Tables of watchlists, and of how far followers of commits have come.

Their history is in `migrations/`, like that of `schema.py`.
"""

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Integer, Table, Text, false

from vedette.state.db.audited import audited
from vedette.state.db.schema import METADATA


def _number(name: str, default: int = 0) -> Column[int]:
    return Column(name, BigInteger, nullable=False, server_default=str(default))


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False, server_default="")


WATERMARK = Table(
    "watermark",
    METADATA,
    Column("name", Text, primary_key=True),  # of the follower
    _number("seq"),  # the newest commit that it is done with
)

WATCHLIST = Table(
    "watchlist",
    METADATA,
    Column("key", Integer, primary_key=True),  # never changes; `id` does
    Column("id", Integer, nullable=False, unique=True),  # higher after every change of the query
    _text("name"),
    Column("description", Text),
    Column("search_query", Text, nullable=False),  # as it was saved
    Column("index_type", Text, nullable=False),  # events or modules
    Column("enabled", Boolean, nullable=False),
    Column("readonly", Boolean, nullable=False, server_default=false()),
    _number("group_id", -1),  # -1: all groups
    _text("alliance_id"),
    Column("from_alliance", Boolean, nullable=False, server_default=false()),
    _number("user_id"),  # who made it
    _number("date_added_us"),
    # What it found.
    _number("last_hit_us"),
    _number("last_hit_count"),
    _number("total_hits"),
    _number("total_tags"),
    # How it ran.
    _number("search_us"),  # when it was executed last
    _number("last_result"),  # 0: without an error
    _text("last_error"),
    _number("last_us"),  # duration
    _number("cost_us"),  # spent in the hour `cost_hour`
    _number("cost_hour"),  # since 1970
    _text("stopped"),  # why it is not executed any more; "": it is
    # The stored past that is still to be judged: windows before `past_ms`, down to `past_from_ms`.
    _number("past_ms"),
    _number("past_from_ms"),
    sqlite_autoincrement=True,
    info=audited(
        "watchlist",
        "id",
        # Not `stopped`: every round writes it.
        only=(
            *("id", "name", "description", "search_query", "index_type", "enabled", "readonly"),
            "group_id",
        ),
    ),
)

WATCHLIST_ID = Table(
    "watchlist_id",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),  # every id that was ever given
    # Of the record that has it, or that had it before its query changed; null: deleted.
    Column("watchlist_key", ForeignKey("watchlist.key", ondelete="SET NULL")),
    _text("name"),
    _text("search_query"),
    _text("index_type"),
    _number("from_us"),
    _number("until_us"),  # 0: it is current
    Index("ix_watchlist_id_watchlist_key", "watchlist_key"),
)
