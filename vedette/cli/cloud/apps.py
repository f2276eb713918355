"""`vedette cloud app`: apps of the identity platform, native keys, and signing keys. Works on the
state database, also while the server runs, which applies changes within a second."""

from typing import Annotated

import typer

from vedette.cli.options import (
    ConfigOption,
    DataOption,
    JsonOption,
    load_settings,
    open_state,
)
from vedette.cli.printing import print_json, print_table, time_text
from vedette.clock import SystemClock
from vedette.state.accounts import cloud_apps, cloud_roles, signing_keys
from vedette.state.accounts.cloud_apps import AppChange
from vedette.state.db.database import Database
from vedette.state.db.sealing import open_sealing

app = typer.Typer(no_args_is_help=True)

AppArgument = Annotated[str, typer.Argument(metavar="APP", help="Name or id of the app.")]
RoleOption = Annotated[
    list[str] | None,
    typer.Option("--role", metavar="NAME", help="Role of the app; repeatable."),
]
TtlOption = Annotated[
    int | None,
    typer.Option("--token-ttl", metavar="SECONDS", help="Lifetime of its access tokens."),
]
DescriptionOption = Annotated[str | None, typer.Option(help="Purpose of the app.")]


@app.command("add")
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the app.")],
    role: RoleOption = None,
    key: Annotated[
        bool, typer.Option("--key", help="Native key, which sends its secret with every request.")
    ] = False,
    token_ttl: TtlOption = None,
    description: DescriptionOption = None,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add an app and print its secret, which is shown only once and not stored."""
    with open_state(data, config) as database:
        new = AppChange(name, description, token_ttl_s=token_ttl, roles=_roles(database, role))
        kind: cloud_apps.AppKind = "key" if key else "oauth"
        made, issued = cloud_apps.add(database, kind, new, SystemClock().now_us())
    _print_secret(made.id, issued.secret, as_json=as_json)


@app.command("secret")
def new_secret(
    name: AppArgument,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Replace the secret of an app and print the new one. Revokes the old secret and its tokens."""
    with open_state(data, config) as database:
        issued = cloud_apps.new_secret(database, cloud_apps.named(database, name).id)
    _print_secret(issued.id, issued.secret, as_json=as_json)


@app.command("change")
def change(
    name: AppArgument,
    rename: Annotated[str | None, typer.Option(metavar="NEW", help="A new name.")] = None,
    role: RoleOption = None,
    token_ttl: TtlOption = None,
    enable: Annotated[
        bool | None, typer.Option("--enable/--disable", help="Enable or disable the app.")
    ] = None,
    description: DescriptionOption = None,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Change an app. The given roles replace its present roles."""
    with open_state(data, config) as database:
        new = AppChange(
            rename,
            description,
            token_ttl_s=token_ttl,
            is_enabled=enable,
            roles=_roles(database, role),
        )
        cloud_apps.change(database, cloud_apps.named(database, name).id, new)
    typer.echo(f"changed app {rename or name}")


@app.command("delete")
def delete(name: AppArgument, data: DataOption = None, config: ConfigOption = None) -> None:
    """Delete an app and revoke its tokens."""
    with open_state(data, config) as database:
        cloud_apps.remove(database, cloud_apps.named(database, name).id)
    typer.echo(f"deleted app {name}")


@app.command("list")
def list_apps(
    data: DataOption = None, config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """List all apps and keys, without their secrets."""
    with open_state(data, config) as database:
        rows = [
            {
                "id": one.id,
                "kind": one.kind,
                "name": one.name,
                "enabled": one.is_enabled,
                "token_ttl_s": one.token_ttl_s,
                "roles": ", ".join(role.name for role in one.roles),
                "last_used": time_text(one.last_used_us),
            }
            for one in cloud_apps.all_apps(database)
        ]
    if as_json:
        print_json(rows)
        return
    headings = ("id", "kind", "name", "enabled", "token ttl", "roles", "last used")
    print_table(headings, [tuple(row.values()) for row in rows])


@app.command("new-signing-key")
def rotate(
    at_once: Annotated[
        bool, typer.Option("--at-once", help="Remove older keys; invalidates every access token.")
    ] = False,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Create the next key that signs access tokens."""
    settings = load_settings(data, config).settings
    with open_state(data, config) as database:
        sealing = open_sealing(settings.data)
        key_id = signing_keys.rotate(database, sealing, SystemClock().now_us(), at_once=at_once)
    typer.echo(f"signing key {key_id}")


def _roles(database: Database, names: list[str] | None) -> list[int] | None:
    return [cloud_roles.named(database, name).id for name in names] if names else None


def _print_secret(app_id: str, secret: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"id": app_id, "secret": secret, "auth_token": f"{secret}/{app_id}"})
        return
    typer.echo(f"id      {app_id}")
    typer.echo(f"secret  {secret}")
    typer.echo(f"usage   X-Auth-Token: {secret}/{app_id}", err=True)
