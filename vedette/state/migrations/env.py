"""Run by Alembic: brings the connection that it is given to the wanted revision."""

from alembic import context

from vedette.state.db.schema import METADATA
from vedette.state.db.schema_actions import ACTION
from vedette.state.db.schema_alerts import SUPPRESSION
from vedette.state.db.schema_cloud import CLOUD_APP
from vedette.state.db.schema_cloud_jobs import CLOUD_JOB
from vedette.state.db.schema_console import PREFERENCE
from vedette.state.db.schema_feeds import FEED
from vedette.state.db.schema_fleet import ENROLMENT_SECRET
from vedette.state.db.schema_rules import SIGMA_RULE
from vedette.state.db.schema_updates import UPDATE_JOB
from vedette.state.db.schema_watchlists import WATCHLIST

_OF_OTHER_FILES = (
    *(ACTION, CLOUD_APP, CLOUD_JOB, ENROLMENT_SECRET, FEED, PREFERENCE, SIGMA_RULE),
    *(SUPPRESSION, UPDATE_JOB, WATCHLIST),
)
assert all(table.metadata is METADATA for table in _OF_OTHER_FILES)

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
context.run_migrations()
