"""`vedette license`: show, apply, and, for a provider, issue."""

from pathlib import Path
from typing import Annotated

import typer

import vedette
from vedette.cli.options import ConfigOption, DataOption, load_settings, open_state
from vedette.cli.printing import print_table, time_text
from vedette.clock import SystemClock
from vedette.state.accounts import license as licenses

app = typer.Typer(no_args_is_help=True)


@app.command("show")
def show(data: DataOption = None, config: ConfigOption = None) -> None:
    """Show the current license, and the data that a provider needs to issue one."""
    settings = load_settings(data, config).settings
    with open_state(data, config) as database:
        found = licenses.status(database, settings.license_provider_key, SystemClock().now_us())
    known = found.license
    print_table(
        ("what", "value"),
        [
            ("license", "valid" if known else "none"),
            ("until", time_text(known.end_us) if known and known.end_us else ""),
            ("sensors licensed", known.sensors if known else ""),
            ("sensors active yesterday", found.sensors),
            ("request", licenses.request_block(found, vedette.__version__)),
        ],
    )


@app.command("apply")
def apply(
    file: Annotated[Path, typer.Argument(help="License file from the provider.")],
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Apply a license to the server."""
    settings = load_settings(data, config).settings
    now_us = SystemClock().now_us()
    with open_state(data, config) as database:
        text = licenses.read(file)
        found = licenses.apply(database, text, settings.license_provider_key, now_us)
    typer.echo(f"applied a license for {found.sensors} sensors")


@app.command("issue")
def issue(
    key: Annotated[Path, typer.Option(help="The provider's private key, PEM (Ed25519).")],
    sensors: Annotated[int, typer.Option(min=0, help="Number of licensed sensors.")],
    until: Annotated[str, typer.Option(metavar="YYYY-MM-DD", help="Last valid day.")] = "",
    server: Annotated[
        str, typer.Option(help="Server token from the license request; * for any server.")
    ] = "*",
) -> None:
    """Print a signed license. For providers, on any machine."""
    typer.echo(licenses.issue(key, server, sensors, until))
