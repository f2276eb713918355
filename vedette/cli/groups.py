"""`vedette group`: sensor groups, the unit of access."""

from dataclasses import asdict
from typing import Annotated

import typer

from vedette.cli.options import ConfigOption, DataOption, JsonOption, open_state
from vedette.cli.printing import print_json, print_table
from vedette.state import groups

app = typer.Typer(no_args_is_help=True)


@app.command("add")
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the group.")],
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Add a sensor group; issue an ingest token for it to have hosts join it."""
    with open_state(data, config) as database:
        group = groups.add(database, name)
    typer.echo(f"added sensor group {group.id}: {group.name}")


@app.command("suppress-children")
def suppress_children(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the group.")],
    off: Annotated[bool, typer.Option("--off", help="Show all processes alike again.")] = False,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Show child processes that did nothing but load modules as suppressed; nothing is deleted."""
    with open_state(data, config) as database:
        groups.suppress_children(database, groups.named(database, name).id, not off)
    typer.echo(f"sensor group {name}: suppressed children {'off' if off else 'on'}")


@app.command("list")
def list_groups(
    data: DataOption = None, config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """All sensor groups."""
    with open_state(data, config) as database:
        found = groups.all_groups(database)
    if as_json:
        print_json([asdict(group) for group in found])
    else:
        rows = [
            (group.id, group.name, "yes" if group.suppress_children else "no") for group in found
        ]
        print_table(("id", "name", "suppresses children"), rows)
