"""`vedette cloud role`: sets of permissions, for apps and keys of the cloud API."""

from typing import Annotated

import typer

from vedette.cli.options import ConfigOption, DataOption, JsonOption, open_state
from vedette.cli.printing import print_json, print_table
from vedette.model.rights.permission import PERMISSIONS
from vedette.state.accounts import cloud_roles
from vedette.state.accounts.cloud_roles import RoleChange
from vedette.state.db.database import Database
from vedette.state.policy import groups

app = typer.Typer(no_args_is_help=True)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Name of the role.")]
PermissionOption = Annotated[
    list[str] | None,
    typer.Option("--permission", metavar="NAME", help="Permission; repeatable."),
]
GroupOption = Annotated[
    list[str] | None,
    typer.Option("--group", metavar="NAME", help="Limit to this sensor group; repeatable."),
]
DescriptionOption = Annotated[str | None, typer.Option(help="Purpose of the role.")]


@app.command("add")
def add(
    name: NameArgument,
    permission: PermissionOption = None,
    group: GroupOption = None,
    description: DescriptionOption = None,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Add a role for apps."""
    with open_state(data, config) as database:
        new = RoleChange(name, description, permission, _groups(database, group))
        role = cloud_roles.add(database, new)
    typer.echo(f"added role {role.id}: {role.name}")


@app.command("change")
def change(
    name: NameArgument,
    rename: Annotated[str | None, typer.Option(metavar="NEW", help="A new name.")] = None,
    permission: PermissionOption = None,
    group: GroupOption = None,
    all_groups: Annotated[
        bool, typer.Option("--all-groups", help="Apply in all sensor groups.")
    ] = False,
    description: DescriptionOption = None,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Change a role. The given permissions and groups replace its present ones."""
    with open_state(data, config) as database:
        new = RoleChange(
            rename, description, permission, _groups(database, group), all_groups or None
        )
        cloud_roles.change(database, cloud_roles.named(database, name).id, new)
    typer.echo(f"changed role {rename or name}")


@app.command("delete")
def delete(name: NameArgument, data: DataOption = None, config: ConfigOption = None) -> None:
    """Delete a role. Its apps lose the permissions."""
    with open_state(data, config) as database:
        cloud_roles.remove(database, cloud_roles.named(database, name).id)
    typer.echo(f"deleted role {name}")


@app.command("list")
def list_roles(
    data: DataOption = None, config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """List all roles, with their groups and permissions."""
    with open_state(data, config) as database:
        rows = [
            {
                "id": role.id,
                "name": role.name,
                "groups": "all" if role.groups is None else ", ".join(map(str, role.groups)),
                "permissions": ", ".join(role.permissions),
            }
            for role in cloud_roles.all_roles(database)
        ]
    if as_json:
        print_json(rows)
        return
    print_table(("id", "name", "groups", "permissions"), [tuple(row.values()) for row in rows])


@app.command("permissions")
def permissions() -> None:
    """List all permissions with both of their names."""
    rows = [(one.name, one.platform_name, one.what) for one in PERMISSIONS.values()]
    print_table(("permission", "on the platform", "what it permits"), rows)


def _groups(database: Database, names: list[str] | None) -> list[int] | None:
    return [groups.named(database, name).id for name in names] if names else None
