"""All tables of the state, in one import."""

from typing import Final

from sqlalchemy import Table

from vedette.state.db.schema import METADATA
from vedette.state.db.schema_actions import ACTION
from vedette.state.db.schema_alerts import SUPPRESSION
from vedette.state.db.schema_audit import AUDIT
from vedette.state.db.schema_cloud import CLOUD_APP
from vedette.state.db.schema_cloud_jobs import CLOUD_JOB
from vedette.state.db.schema_console import PREFERENCE
from vedette.state.db.schema_feeds import FEED
from vedette.state.db.schema_fleet import ENROLMENT_SECRET
from vedette.state.db.schema_forwarder import FORWARDER
from vedette.state.db.schema_rules import SIGMA_RULE
from vedette.state.db.schema_updates import UPDATE_JOB
from vedette.state.db.schema_watchlists import WATCHLIST
from vedette.state.servers.tables import SERVER

_OF_OTHER_FILES = (
    ACTION,
    AUDIT,
    CLOUD_APP,
    CLOUD_JOB,
    ENROLMENT_SECRET,
    FEED,
    FORWARDER,
    PREFERENCE,
    SERVER,
    SIGMA_RULE,
    SUPPRESSION,
    UPDATE_JOB,
    WATCHLIST,
)
assert all(table.metadata is METADATA for table in _OF_OTHER_FILES)

ALL_TABLES: Final[tuple[Table, ...]] = tuple(METADATA.sorted_tables)
"""Tables in dependency order: a table follows the tables that it refers to."""
