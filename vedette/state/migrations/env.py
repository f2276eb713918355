"""Run by Alembic: brings the connection that it is given to the wanted revision."""

from alembic import context

from vedette.state.schema import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
context.run_migrations()
