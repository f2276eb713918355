"""`vedette team`: a team has roles in sensor groups, which its members share."""

from typing import Annotated

import typer

from vedette.cli.options import ConfigOption, DataOption, JsonOption, open_state
from vedette.cli.printing import print_json, print_table
from vedette.errors import BadRequestError
from vedette.model.principal import ROLE_NAMES, Role
from vedette.state.accounts import teams
from vedette.state.db.database import Database
from vedette.state.policy import groups

app = typer.Typer(no_args_is_help=True)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Name of the team.")]
AccessOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="GROUP=ROLE", help="Role in a sensor group: viewer, analyst or administrator."
    ),
]

_ROLES = {name.lower(): role for role, name in ROLE_NAMES.items()}


@app.command("add")
def add(
    name: NameArgument,
    access: AccessOption = None,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Add a team. Add members with `vedette user add --team`."""
    with open_state(data, config) as database:
        team = teams.add(database, name, dict(_access(database, item) for item in access or ()))
    typer.echo(f"added team {team.id}: {team.name}")


@app.command("change")
def change(
    name: NameArgument,
    rename: Annotated[str | None, typer.Option(metavar="NEW", help="A new name.")] = None,
    access: AccessOption = None,
    no_access: Annotated[
        list[str] | None, typer.Option(metavar="GROUP", help="Remove the role in this group.")
    ] = None,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Rename a team, or add and remove roles. Keeps all other roles."""
    with open_state(data, config) as database:
        team = teams.named(database, name)
        roles = {item.group_id: item.role for item in team.access}
        roles |= dict(_access(database, item) for item in access or ())
        for group in no_access or ():
            if roles.pop(groups.named(database, group).id, None) is None:
                raise BadRequestError(f"--no-access {group}: {name} has no role in it")
        changed = teams.change(database, team.id, name=rename, access=roles)
    typer.echo(f"changed team {changed.id}: {changed.name}")


@app.command("disable")
def disable(name: NameArgument, data: DataOption = None, config: ConfigOption = None) -> None:
    """Suspend the roles of a team until it is enabled again. Tokens of its members keep the roles
    of other teams. Takes effect within a second."""
    with open_state(data, config) as database:
        teams.change(database, teams.named(database, name).id, is_enabled=False)
    typer.echo(f"disabled team {name}")


@app.command("enable")
def enable(name: NameArgument, data: DataOption = None, config: ConfigOption = None) -> None:
    """Restore the roles of a disabled team."""
    with open_state(data, config) as database:
        teams.change(database, teams.named(database, name).id, is_enabled=True)
    typer.echo(f"enabled team {name}")


@app.command("remove")
def remove(name: NameArgument, data: DataOption = None, config: ConfigOption = None) -> None:
    """Delete a team. Its members lose its roles."""
    with open_state(data, config) as database:
        teams.remove(database, teams.named(database, name).id)
    typer.echo(f"removed team {name}")


@app.command("list")
def list_teams(
    data: DataOption = None, config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """List all teams with their roles."""
    with open_state(data, config) as database:
        found = teams.all_teams(database)
    rows = [
        {
            "id": team.id,
            "name": team.name,
            "is_enabled": team.is_enabled,
            "access": {item.group_name: ROLE_NAMES[item.role] for item in team.access},
        }
        for team in found
    ]
    if as_json:
        print_json(rows)
        return
    print_table(
        ("id", "name", "enabled", "access"),
        [(one.id, one.name, one.is_enabled, _roles(one)) for one in found],
    )


def _roles(team: teams.Team) -> str:
    return ", ".join(f"{one.group_name}={ROLE_NAMES[one.role]}" for one in team.access)


def _access(database: Database, text: str) -> tuple[int, Role]:
    group, _, role = text.rpartition("=")
    if role.lower() not in _ROLES:
        raise BadRequestError(
            f"--access {text}: must be GROUP=ROLE with a role of {', '.join(_ROLES)}"
        )
    return groups.named(database, group).id, _ROLES[role.lower()]
