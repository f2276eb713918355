"""Options shared by commands, and their conversion to settings."""

import os
import pwd
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from vedette.bootstrap.local_access import ELSEWHERE, LocalAccess
from vedette.errors import StartError
from vedette.settings import Examined, Loaded, SettingsError, examine, load
from vedette.state.db.author import Author, acting_as, operator_header, operator_name
from vedette.state.db.database import Database, open_database
from vedette.state.start import check_current

_OPTIONS = {"listen_host": "--host", "listen_port": "--port"}
"""Options of `serve` whose name differs from their setting."""

DataOption = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help="Data directory of the server."),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="TOML file; default DIR/vedette.toml."),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Any setting; repeatable."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def load_settings(
    data: Path | None = None,
    config: Path | None = None,
    assignments: Sequence[str] | None = None,
    **flags: object,
) -> Loaded:
    """Loads the settings of all layers. `flags` override `--set`; None means not given.

    Raises StartError that names the argument, variable or line, and the setting.
    """
    given = {name: value for name, value in flags.items() if value is not None}
    if data is not None:
        given["data"] = data
    assigned = _assigned(assignments or ())
    typed_as = {name: f"--set {name}" for name in assigned}
    typed_as |= {name: option for name, option in _OPTIONS.items() if name in given}
    typed_as |= {name: f"--{name}" for name in given if name in assigned and name not in _OPTIONS}
    try:
        return load(flags=assigned | given, environ=os.environ, config=config, typed_as=typed_as)
    except SettingsError as error:
        raise StartError(str(error)) from None


def examine_settings(
    data: Path | None, config: Path | None, assignments: Sequence[str] | None
) -> Examined:
    """Returns the settings of all layers with all their problems."""
    given: dict[str, object] = {} if data is None else {"data": data}
    assigned = _assigned(assignments or ())
    typed_as = {name: f"--set {name}" for name in assigned}
    return examine(flags=assigned | given, environ=os.environ, config=config, typed_as=typed_as)


@contextmanager
def open_state(data: Path | None, config: Path | None) -> Iterator[Database]:
    """Opens the state database of a server, running or not. Never creates or migrates it.

    Raises StartError if it does not exist or has another version.
    """
    settings = load_settings(data, config).settings
    if not settings.state_dsn and not (settings.data / "state.db").exists():
        raise StartError(
            f"no server data in {settings.data}; set --data, or "
            "start a server there first with vedette serve"
        )
    database = open_database(settings.state_dsn, settings.data)
    try:
        check_current(database)
        with acting_as(operator()):
            yield database
    finally:
        database.close()


def operator() -> Author:
    """Returns the person who runs the command, for the audit log."""
    try:
        name = os.environ.get("SUDO_USER") or pwd.getpwuid(os.getuid()).pw_name
    except (KeyError, OSError):  # an account without a name
        name = str(os.getuid())
    return Author("command", operator_name(name))


def local_headers(access: LocalAccess) -> dict[str, str]:
    """Returns the headers of requests to a server: the token and, for a server on this machine, the
    person who runs the command."""
    typed_by = {} if access.pid == ELSEWHERE else operator_header(operator())
    return {"X-Auth-Token": access.token, **typed_by}


def _assigned(assignments: Sequence[str]) -> dict[str, object]:
    values: dict[str, object] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals:
            raise StartError(f"--set {assignment}: must be NAME=VALUE")
        values[name.strip().replace("-", "_")] = value
    return values
