"""`vedette cluster migrate-state`: moves the state from SQLite to PostgreSQL."""

from contextlib import closing

import typer

from vedette.bootstrap.local_access import read_access
from vedette.cli.options import ConfigOption, DataOption, SetOption, load_settings
from vedette.errors import BadRequestError, ConflictError
from vedette.state import state_migration
from vedette.state.db.database import Database, open_database
from vedette.state.start import check_current, migrate
from vedette.state.state_migration import TableContent


def migrate_state(
    data: DataOption = None,
    config: ConfigOption = None,
    assignments: SetOption = None,
) -> None:
    """Move the state of a stopped server from DIR/state.db into the empty PostgreSQL database that
    state_dsn names. A run that was interrupted is continued by the next; state.db stays as it
    is."""
    settings = load_settings(data, config, assignments).settings
    path = settings.data / "state.db"
    if not path.exists():
        raise BadRequestError(f"no state database at {path}")
    if read_access(settings.data) is not None:
        raise ConflictError(f"a server runs on {settings.data}: stop it first")
    with (
        closing(open_database(settings.state_dsn, settings.data)) as target,
        closing(open_database("", settings.data)) as source,
    ):
        if not target.name:
            raise BadRequestError(
                "state_dsn names no PostgreSQL database: write postgresql://user@host/name"
            )
        check_current(source)
        _move(source, target)
    typer.echo(f"all state is in PostgreSQL; {path} is no longer used")


def _move(source: Database, target: Database) -> None:
    if not state_migration.is_under_way(target):
        migrate(target)
    check_current(target)

    def note(table: str, found: TableContent, was_sent: bool) -> None:
        result = "equal" if was_sent else "there already"
        typer.echo(f"{table}: {found.rows} rows, checksum {found.checksum:016x}: {result}")

    state_migration.move(source, target, note)
