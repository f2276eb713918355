"""`vedette package`: sensor packages for updates."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from vedette.bootstrap.open_blobs import open_blobs
from vedette.cli.options import ConfigOption, DataOption, JsonOption, load_settings, open_state
from vedette.cli.printing import print_json, print_table
from vedette.respond.package_files import add_sensor_package
from vedette.state.sensors import sensor_packages

app = typer.Typer(no_args_is_help=True)

OsOption = Annotated[str, typer.Option("--os", metavar="OS", help="linux, windows or osx.")]


@app.command("add")
def add(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The package.", exists=True)],
    os_type: OsOption,
    version: Annotated[str, typer.Option(help="Version of the package.")],
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Register the package of an operating system. Its sensors update to it."""
    with open_state(data, config) as database:
        blobs = open_blobs(load_settings(data, config).settings, database)
        package = add_sensor_package(database, blobs, file, os_type, version)
    typer.echo(f"{os_type} sensors update to {version}: {package.sha256}")


@app.command("list")
def list_packages(
    data: DataOption = None, config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """List the sensor package of each operating system."""
    with open_state(data, config) as database:
        all_of_them = [
            package
            for os_type in sensor_packages.OS_TYPES
            if (package := sensor_packages.package_of(database, os_type)) is not None
        ]
    rows = [asdict(package) for package in all_of_them]
    if as_json:
        print_json(rows)
    else:
        print_table(("os", "version", "sha256", "size"), [tuple(row.values()) for row in rows])


@app.command("remove")
def remove(os_type: OsOption, data: DataOption = None, config: ConfigOption = None) -> None:
    """Remove the package of an operating system. Its sensors are no longer updated."""
    with open_state(data, config) as database:
        sensor_packages.withdraw(database, os_type)
    typer.echo(f"{os_type} sensors are not updated")
