"""`vedette approvedlist`: readmits administrators who locked themselves out."""

from typing import Annotated

import typer

from vedette.cli.options import ConfigOption, DataOption, JsonOption, open_state
from vedette.cli.printing import print_json, print_table
from vedette.state.policy import approved_addresses

app = typer.Typer(no_args_is_help=True)


@app.command("list")
def list_entries(
    data: DataOption = None, config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """List the approved addresses, and whether other addresses are refused."""
    with open_state(data, config) as database:
        found = approved_addresses.entries(database)
        is_on = approved_addresses.is_enabled(database)
    if as_json:
        entries = [{"id": entry.id, "ipaddr": entry.network} for entry in found]
        print_json({"enabled": is_on, "entries": entries})
        return
    print_table(("id", "address"), [(entry.id, entry.network) for entry in found])
    typer.echo(
        "requests from other addresses are rejected"
        if is_on
        else "the approved list is off: no address is rejected"
    )


@app.command("add")
def add(
    address: Annotated[list[str], typer.Argument(help="Addresses or CIDR blocks.")],
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Approve client addresses or CIDR blocks."""
    with open_state(data, config) as database:
        approved_addresses.add(database, address)
    typer.echo(f"approved {', '.join(address)}")


@app.command("remove")
def remove(
    entry_id: Annotated[int, typer.Argument(metavar="ID", help="Id, as printed by `list`.")],
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Remove an address from the list."""
    with open_state(data, config) as database:
        approved_addresses.remove(database, entry_id)
    typer.echo(f"removed {entry_id}")


@app.command("enable")
def enable(data: DataOption = None, config: ConfigOption = None) -> None:
    """Refuse API requests from addresses that are not on the list."""
    with open_state(data, config) as database:
        approved_addresses.enable(database, True)
    typer.echo("the approved list is on; other addresses are rejected within seconds")


@app.command("disable")
def disable(data: DataOption = None, config: ConfigOption = None) -> None:
    """Accept API requests from all addresses."""
    with open_state(data, config) as database:
        approved_addresses.enable(database, False)
    typer.echo("the approved list is off; all addresses are accepted within seconds")
