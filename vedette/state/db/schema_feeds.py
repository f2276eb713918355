"""Tables of feeds: what is fetched, when it was, and what was wrong with it.

Their history is in `migrations/`, like that of `schema.py`. Reports and indicators lie in the
telemetry store (`store/schema/tables.py`).
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Integer,
    SmallInteger,
    Table,
    Text,
)

from vedette.state.db.audited import audited
from vedette.state.db.schema import METADATA


def _number(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False, server_default="0")


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False, server_default="")


def _optional(name: str) -> "Column[str | None]":
    return Column(name, Text)


FEED = Table(
    "feed",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False),  # as written; part of the names of search fields
    Column("folded_name", Text, nullable=False, unique=True),
    _text("display_name"),
    Column("feed_url", Text, nullable=False),
    _text("provider_url"),
    Column("enabled", Boolean, nullable=False),
    Column("manually_added", Boolean, nullable=False),
    *map(_optional, ("summary", "tech_data", "category", "icon", "icon_small")),
    *map(_optional, ("requires", "requires_what", "requires_who", "ssl_client_crt", "username")),
    Column("position", Integer),  # `order` of the API
    Column("use_proxy", Boolean),
    Column("validate_server_cert", Boolean),
    Column("provider_rating", Float),
    Column("local_rating", Float),
    _text("password_sealed"),  # state.db.sealing
    _text("ssl_client_key_sealed"),
    _number("created_us"),
    _number("changed_us"),
    # Synchronisation.
    Column("sync_wanted", SmallInteger, nullable=False, server_default="0"),  # 1 changes, 2 all
    _number("sync_requested_us"),
    _number("sync_started_us"),
    _number("synced_us"),  # the latest one that succeeded
    _number("full_synced_us"),
    _number("next_sync_us"),
    _number("failures"),  # since the last success
    _text("last_error"),
    _text("etag"),
    _text("format"),
    _number("reports_read"),  # by the latest synchronisation
    _number("reports_changed"),
    _number("reports_deleted"),
    _number("iocs_read"),
    _number("errors"),
    sqlite_autoincrement=True,  # an id is never given twice: alerts and reports hold it
    info=audited(
        "feed",
        "name",
        only=(
            *("name", "display_name", "provider_url", "enabled", "summary"),
            *("tech_data", "category", "requires", "requires_what", "requires_who"),
            *("ssl_client_crt", "username", "position", "use_proxy", "validate_server_cert"),
            *("provider_rating", "local_rating"),
        ),
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
