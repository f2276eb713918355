"""The commands of `vedette cloud`."""

import typer

from vedette.cli.cloud import apps, roles

app = typer.Typer(no_args_is_help=True)
app.add_typer(roles.app, name="role", help="Roles: sets of permissions.")
app.add_typer(apps.app, name="app", help="Apps and keys: who has which roles.")
