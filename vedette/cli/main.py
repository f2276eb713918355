"""The `vedette` command. `COMMANDS` lists the sub-commands. A sub-command's module is imported only
when it is used, because importing all of them takes a second.

All paths on the command line become absolute before the command starts: loading the engine changes
the working directory of the process for a moment, while other threads may open files.

An error that the operator can correct is a line on standard error and exit code 2. Any other error
is a bug: a traceback and exit code 1.
"""

from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import typer
from typer.core import TyperGroup

from vedette import __version__
from vedette.cli.loading import loading
from vedette.errors import VedetteError

EXIT_REFUSED = 2


class _Command(NamedTuple):
    """A group of commands, which is the `app` of a module of this package, or a single function of
    it."""

    module: str
    function: str = ""
    help: str = ""

    def load(self, name: str) -> Any:
        with loading():
            module = import_module(f"vedette.cli.{self.module}")
        if self.function:
            single = typer.Typer(add_completion=False)
            single.command(name)(getattr(module, self.function))
            return with_absolute_paths(typer.main.get_command(single))
        group = typer.main.get_group(module.app)
        group.name, group.help = name, self.help
        return with_absolute_paths(group)


def with_absolute_paths(command: Any) -> Any:
    """Returns the command, or all commands of a group, with functions that receive absolute
    paths."""
    for inner in getattr(command, "commands", {}).values():
        with_absolute_paths(inner)
    run = command.callback
    if run is not None:

        def run_absolute(*args: Any, **arguments: Any) -> Any:
            return run(*args, **{name: _absolute(value) for name, value in arguments.items()})

        command.callback = run_absolute
    return command


def _absolute(value: Any) -> Any:
    """Makes a path or a list of paths absolute; returns any other value unchanged."""
    if isinstance(value, Path):
        return value.absolute()
    if isinstance(value, list | tuple):
        return type(value)(map(_absolute, value))
    return value


COMMANDS: Final = {
    "user": _Command("accounts.users", help="Users of the API."),
    "token": _Command("accounts.tokens", help="API and ingest tokens."),
    "group": _Command("groups", help="Sensor groups."),
    "host": _Command("hosts", help="Host aliases."),
    "sensor": _Command("sensors", help="Pending re-enrollments."),
    "package": _Command("packages", help="Sensor update packages."),
    "installer": _Command("installers", help="Packages for installers."),
    "team": _Command("accounts.teams", help="Teams and their roles in sensor groups."),
    "feed": _Command("feeds", help="Threat intelligence feeds."),
    "notify": _Command("notify", help="Notifications."),
    "config": _Command("config", help="Settings."),
    "clock": _Command("clock", help="Server clock."),
    "cloud": _Command("cloud.commands", help="Apps and roles of the cloud API."),
    "forwarder": _Command("cloud.forwarders", help="Forwarders of alerts to other systems."),
    "alerts": _Command("cloud.alerts", help="Alerts of the running server."),
    "completeness": _Command("completeness", help="Completeness of stored records."),
    "sigma": _Command("rules.sigma", help="Check Sigma rules and test them on files."),
    "audit": _Command("accounts.audit", help="Audit log."),
    "oidc": _Command("accounts.oidc", help="Sign-in with identity providers (OpenID Connect)."),
    "approvedlist": _Command(
        "accounts.approved_list", help="Approved client addresses of the API."
    ),
    "license": _Command("accounts.license", help="License of this server."),
    "binary": _Command("binaries", help="Files of binaries."),
    "yara": _Command("yara", help="YARA rules for copies of binaries."),
    "backup": _Command("backup", help="Backups of a running server."),
    "restore": _Command("backup", function="restore"),
    "cluster": _Command("cluster.commands", help="ClickHouse cluster for telemetry."),
    "serve": _Command("serve", function="serve"),
    "demo": _Command("demo", function="demo"),
    "doctor": _Command("doctor", function="doctor"),
    "import": _Command("importing.import_files", function="import_files"),
    "simulate": _Command("simulate", function="simulate"),
}


class Commands(TyperGroup):
    """The group of all commands. Prints a VedetteError as a line instead of a traceback."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        # Names only, for suggestions after a typing error; `get_command` loads the requested
        # command.
        self.commands = dict.fromkeys(COMMANDS, typer.core.TyperCommand(name=None))

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        command = COMMANDS.get(cmd_name)
        return command.load(cmd_name) if command else None

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except VedetteError as error:
            typer.echo(f"vedette: {error.message}", err=True)
            raise typer.Exit(EXIT_REFUSED) from None


app = typer.Typer(
    name="vedette",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"vedette {__version__}")
        raise typer.Exit


@app.callback()
def vedette(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Vedette, an endpoint detection and response server."""
