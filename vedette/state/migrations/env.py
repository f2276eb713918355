"""Alembic's entry point: migrates the given connection to the requested revision."""

from alembic import context

from vedette.state.table_list import ALL_TABLES

context.configure(
    connection=context.config.attributes["connection"], target_metadata=ALL_TABLES[0].metadata
)
context.run_migrations()
