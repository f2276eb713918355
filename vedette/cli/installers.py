"""`vedette installer`: the Windows and macOS packages that installers contain."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from vedette.bootstrap.open_blobs import open_blobs
from vedette.cli.options import ConfigOption, DataOption, JsonOption, load_settings, open_state
from vedette.cli.printing import print_json, print_table
from vedette.clock import SystemClock
from vedette.respond.package_files import add_installer, remove_installer
from vedette.state.policy import groups
from vedette.state.policy.groups import checked_name
from vedette.state.sensors import installers

app = typer.Typer(no_args_is_help=True)


@app.command("add")
def add(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Package file, as signed by its vendor.")
    ],
    os: Annotated[str, typer.Option("--os", metavar="OS", help="windows or osx.")],
    kind: Annotated[str, typer.Option("--kind", metavar="KIND", help="exe, msi or pkg.")],
    version: Annotated[
        str, typer.Option("--version", metavar="TEXT", help="Version, as in the list of builds.")
    ] = "1",
    group: Annotated[
        str | None,
        typer.Option("--group", metavar="NAME", help="Only for this sensor group; default: all."),
    ] = None,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Register a package. The group's installers contain the newest package."""
    with open_state(data, config) as database:
        group_id = None if group is None else groups.named(database, group).id
        new = installers.NewInstaller(os, kind, checked_name(version), group_id)
        blobs = open_blobs(load_settings(data, config).settings, database)
        added = add_installer(database, blobs, file, new, SystemClock().now_us())
    typer.echo(f"added installer {added.id}: {added.file_name}, SHA-256 {added.sha256}")


@app.command("list")
def list_installers(
    data: DataOption = None, config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """List all registered packages, newest first."""
    with open_state(data, config) as database:
        found = installers.all_installers(database)
    if as_json:
        print_json([asdict(one) for one in found])
    else:
        rows = [
            (one.id, one.os, one.kind, one.group_id or "all", one.version, one.file_name, one.size)
            for one in found
        ]
        print_table(("id", "os", "kind", "group", "version", "file", "bytes"), rows)


@app.command("remove")
def remove(
    installer_id: Annotated[int, typer.Argument(metavar="ID", help="Id of the package.")],
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Remove a package. Hosts that installed it keep it."""
    with open_state(data, config) as database:
        blobs = open_blobs(load_settings(data, config).settings, database)
        remove_installer(database, blobs, installer_id)
    typer.echo(f"removed installer {installer_id}")
