"""The `vedette` command; every sub-command is registered at the end of this file.

An error that the operator can correct is one line on standard error and exit code 2. Anything else
is a bug: a traceback and exit code 1.
"""

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from vedette import __version__
from vedette.cli import (
    backup,
    binaries,
    clock,
    completeness,
    config,
    demo,
    doctor,
    feeds,
    groups,
    hosts,
    import_files,
    installers,
    notify,
    packages,
    sensors,
    serve,
    simulate,
)
from vedette.cli.accounts import approved_list, audit, license, teams, tokens, users
from vedette.cli.rules import sigma
from vedette.errors import VedetteError

EXIT_REFUSED = 2


class OneLineErrors(TyperGroup):
    """Command group that prints a VedetteError as one line instead of a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except VedetteError as error:
            typer.echo(f"vedette: {error.message}", err=True)
            raise typer.Exit(EXIT_REFUSED) from None


app = typer.Typer(
    name="vedette",
    cls=OneLineErrors,
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


app.add_typer(users.app, name="user", help="People and programs that use the API.")
app.add_typer(tokens.app, name="token", help="Secrets of users, and of senders of telemetry.")
app.add_typer(groups.app, name="group", help="Sensor groups.")
app.add_typer(hosts.app, name="host", help="Names of hosts.")
app.add_typer(sensors.app, name="sensor", help="Re-enrolments that wait for approval.")
app.add_typer(packages.app, name="package", help="Sensor packages for updates.")
app.add_typer(binaries.app, name="binary", help="Files of programs.")
app.add_typer(installers.app, name="installer", help="Packages that installers carry.")
app.add_typer(teams.app, name="team", help="Teams: who may see which sensor groups.")
app.add_typer(feeds.app, name="feed", help="Feeds of threat intelligence.")
app.add_typer(notify.app, name="notify", help="Messages to people and other systems.")
app.add_typer(config.app, name="config", help="Settings.")
app.add_typer(clock.app, name="clock", help="The server's clock, when it is in doubt.")
app.add_typer(completeness.app, name="completeness", help="Whether all that was sent is stored.")
app.add_typer(sigma.app, name="sigma", help="Sigma rules: check them, try them on files.")
app.add_typer(audit.app, name="audit", help="Who changed what.")
app.add_typer(approved_list.app, name="approvedlist", help="Addresses that may call the API.")
app.add_typer(license.app, name="license", help="The license of this server.")
app.add_typer(backup.app, name="backup", help="Copies of a server, made while it runs.")
app.command("restore")(backup.restore)
app.command("serve")(serve.serve)
app.command("demo")(demo.demo)
app.command("doctor")(doctor.doctor)
app.command("import")(import_files.import_files)
app.command("simulate")(simulate.simulate)
