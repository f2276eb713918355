"""`vedette token`: works on the state database, also while the server runs. The server applies a
revocation within a second."""

from dataclasses import replace
from typing import Annotated

import typer

from vedette.cli.options import ConfigOption, DataOption, JsonOption, load_settings, open_state
from vedette.cli.printing import print_json, print_table, time_text
from vedette.clock import SystemClock
from vedette.errors import BadRequestError
from vedette.limits import TOKEN_EXPIRES_DAYS_MAX
from vedette.state.accounts import tokens, users
from vedette.state.db.database import Database
from vedette.state.policy import groups

app = typer.Typer(no_args_is_help=True)

DAY_US = 24 * 3600 * 1_000_000


_USAGE: dict[tokens.TokenKind, str] = {
    "api": "X-Auth-Token: SECRET",
    "ingest": "Basic authentication with the id as user and the secret as password, "
    "Authorization: ApiKey base64(ID:SECRET), or Authorization: Bearer SECRET",
}


@app.command("issue")
def issue(
    user: Annotated[
        str | None, typer.Option("--user", metavar="NAME", help="Issue an API token for this user.")
    ] = None,
    ingest: Annotated[
        bool, typer.Option("--ingest", help="Issue an ingest token for telemetry senders.")
    ] = False,
    group: Annotated[
        str, typer.Option(metavar="NAME", help="Sensor group of an ingest token.")
    ] = "Default Group",
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Issue a read-only API token.")
    ] = False,
    name: Annotated[str, typer.Option(help="Purpose of the token.")] = "",
    expires_days: Annotated[
        int | None,
        typer.Option(
            metavar="DAYS",
            min=1,
            max=TOKEN_EXPIRES_DAYS_MAX,
            help="Default: the setting token_lifetime_days.",
        ),
    ] = None,
    never_expires: Annotated[
        bool, typer.Option("--never-expires", help="Valid until revoked.")
    ] = False,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Issue a token and print its secret, which is shown only once and not stored."""
    if (user is None) is not ingest:
        raise BadRequestError("specify either --user NAME (API token) or --ingest (ingest token)")
    if read_only and ingest:
        raise BadRequestError("--read-only and --ingest cannot be combined")
    now_us = SystemClock().now_us()
    if never_expires and expires_days:
        raise BadRequestError("--expires-days and --never-expires cannot be combined")
    days = 0 if never_expires else expires_days
    if days is None:
        days = load_settings(data, config).settings.token_lifetime_days
    expires_us = now_us + days * DAY_US if days else 0
    with open_state(data, config) as database:
        new = replace(_new(database, user, group, name, expires_us), is_read_only=read_only)
        issued = tokens.issue(database, new, now_us)
    if as_json:
        print_json({"id": issued.id, "secret": issued.secret, "kind": new.kind})
        return
    typer.echo(f"id      {issued.id}")
    typer.echo(f"secret  {issued.secret}")
    typer.echo(f"usage   {_USAGE[new.kind]}", err=True)


@app.command("list")
def list_tokens(
    user: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only tokens of this user.")
    ] = None,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """List all tokens, without their secrets."""
    now_us = SystemClock().now_us()
    with open_state(data, config) as database:
        found = tokens.all_tokens(database, user)
    rows = [
        {
            "id": token.id,
            "kind": token.kind,
            "holder": token.holder,
            "name": token.name,
            "scope": "read" if token.is_read_only else "",
            "state": _state(token, now_us),
            "created": time_text(token.created_us),
            "expires": time_text(token.expires_us),
            "last_used": time_text(token.last_used_us),
        }
        for token in found
    ]
    if as_json:
        print_json(rows)
        return
    headings = ("id", "kind", "holder", "name", "scope", "state", "created", "expires", "last used")
    print_table(headings, [tuple(row.values()) for row in rows])


@app.command("revoke")
def revoke(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the token.")],
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Revoke a token by id."""
    with open_state(data, config) as database:
        tokens.revoke(database, token_id, SystemClock().now_us())
    typer.echo(f"revoked token {token_id}")


def _new(
    database: Database, user: str | None, group: str, name: str, expires_us: int | None
) -> tokens.NewToken:
    if user is not None:
        user_id = users.get(database, user).id
        return tokens.NewToken("api", name, user_id=user_id, expires_us=expires_us)
    group_id = groups.named(database, group).id
    return tokens.NewToken("ingest", name or group, group_id=group_id, expires_us=expires_us)


def _state(token: tokens.Token, now_us: int) -> str:
    if token.revoked_us:
        return "revoked"
    return "good" if token.is_good(now_us) else "expired"
