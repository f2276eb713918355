"""Run by Alembic: brings the connection that it is given to the wanted revision."""

from alembic import context

from vedette.state.db.schema import METADATA
from vedette.state.db.schema_fleet import ENROLMENT_SECRET

assert ENROLMENT_SECRET.metadata is METADATA  # the tables of both files

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
context.run_migrations()
