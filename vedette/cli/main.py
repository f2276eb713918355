"""The `vedette` command. `COMMANDS` lists the sub-commands; the module of one is imported when it
is typed, since all of them together take a second to import.

An error that the operator can correct is one line on standard error and exit code 2. Anything else
is a bug: a traceback and exit code 1.
"""

from importlib import import_module
from typing import Annotated, Any, Final, NamedTuple

import typer
from typer.core import TyperGroup

from vedette import __version__
from vedette.cli.loading import loading
from vedette.errors import VedetteError

EXIT_REFUSED = 2


class _Command(NamedTuple):
    """A group of commands, the `app` of a module of this package, or one function of it."""

    module: str
    function: str = ""
    help: str = ""

    def load(self, name: str) -> Any:
        with loading():
            module = import_module(f"vedette.cli.{self.module}")
        if self.function:
            single = typer.Typer(add_completion=False)
            single.command(name)(getattr(module, self.function))
            return typer.main.get_command(single)
        group = typer.main.get_group(module.app)
        group.name, group.help = name, self.help
        return group


COMMANDS: Final = {
    "user": _Command("accounts.users", help="People and programs that use the API."),
    "token": _Command("accounts.tokens", help="Secrets of users, and of senders of telemetry."),
    "group": _Command("groups", help="Sensor groups."),
    "host": _Command("hosts", help="Names of hosts."),
    "sensor": _Command("sensors", help="Re-enrolments that wait for approval."),
    "package": _Command("packages", help="Sensor packages for updates."),
    "installer": _Command("installers", help="Packages that installers carry."),
    "team": _Command("accounts.teams", help="Teams: who may see which sensor groups."),
    "feed": _Command("feeds", help="Feeds of threat intelligence."),
    "notify": _Command("notify", help="Messages to people and other systems."),
    "config": _Command("config", help="Settings."),
    "clock": _Command("clock", help="The server's clock, when it is in doubt."),
    "cloud": _Command("cloud.commands", help="Who may use the cloud side."),
    "forwarder": _Command("cloud.forwarders", help="Forwarders: alerts to other systems."),
    "alerts": _Command("cloud.alerts", help="Alerts of the running server."),
    "completeness": _Command("completeness", help="Whether all that was sent is stored."),
    "sigma": _Command("rules.sigma", help="Sigma rules: check them, try them on files."),
    "audit": _Command("accounts.audit", help="Who changed what."),
    "oidc": _Command("accounts.oidc", help="Sign-in with identities of other servers."),
    "approvedlist": _Command("accounts.approved_list", help="Addresses that may call the API."),
    "license": _Command("accounts.license", help="The license of this server."),
    "binary": _Command("binaries", help="Files of programs."),
    "yara": _Command("yara", help="YARA rules over the copies of programs."),
    "backup": _Command("backup", help="Copies of a server, made while it runs."),
    "restore": _Command("backup", function="restore"),
    "cluster": _Command("cluster.commands", help="A ClickHouse cluster for telemetry."),
    "serve": _Command("serve", function="serve"),
    "demo": _Command("demo", function="demo"),
    "doctor": _Command("doctor", function="doctor"),
    "import": _Command("importing.import_files", function="import_files"),
    "simulate": _Command("simulate", function="simulate"),
}


class Commands(TyperGroup):
    """The group of all commands; prints a VedetteError as one line instead of a traceback."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        # Names only, for suggestions after a typing error; `get_command` loads what is wanted.
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
