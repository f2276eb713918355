"""`vedette host alias`: further names of a host, whose records belong to its sensor."""

from typing import Annotated

import typer

from vedette.cli.options import ConfigOption, DataOption, JsonOption, open_state
from vedette.cli.printing import print_json, print_table
from vedette.clock import SystemClock
from vedette.state.db.database import Database
from vedette.state.policy import groups
from vedette.state.sensors.hosts import aliases

app = typer.Typer(no_args_is_help=True)
alias_app = typer.Typer(no_args_is_help=True)
app.add_typer(alias_app, name="alias", help="Additional names of a host.")

GroupOption = Annotated[
    str, typer.Option("--group", metavar="NAME", help="Sensor group, if several have the host.")
]
AliasArgument = Annotated[str, typer.Argument(metavar="ALIAS", help="Additional name.")]


@alias_app.command("add")
def add(
    alias: AliasArgument,
    host: Annotated[str, typer.Argument(metavar="HOST", help="Name of the host.")],
    group: GroupOption = "",
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Assign later records that name ALIAS to the sensor of HOST."""
    with open_state(data, config) as database:
        aliases.add(database, alias, host, _group_id(database, group))
    typer.echo(f"{alias.lower()} is an alias of {host.lower()}")


@alias_app.command("remove")
def remove(
    alias: AliasArgument,
    group: GroupOption = "",
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Remove an alias: later records that name it get a sensor of their own. Running servers apply
    the change within seconds."""
    with open_state(data, config) as database:
        now_us = SystemClock().now_us()
        aliases.remove(database, alias, now_us, _group_id(database, group))
    typer.echo(f"{alias.lower()} is no longer an alias")


@alias_app.command("list")
def list_aliases(
    data: DataOption = None, config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """List all aliases with their sensors."""
    with open_state(data, config) as database:
        found = aliases.listed(database)
    names = ("alias", "sensor_id", "hostname")
    if as_json:
        print_json([dict(zip(names, row, strict=True)) for row in found])
    else:
        print_table(("alias", "sensor", "host"), found)


def _group_id(database: Database, name: str) -> int | None:
    return groups.named(database, name).id if name else None
