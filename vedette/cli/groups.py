"""`vedette group`: sensor groups, the unit of access."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from vedette.cli.accounts.tokens import DAY_US
from vedette.cli.options import ConfigOption, DataOption, JsonOption, open_state
from vedette.cli.printing import print_json, print_table, time_text
from vedette.clock import SystemClock
from vedette.errors import BadRequestError
from vedette.limits import TOKEN_EXPIRES_DAYS_MAX
from vedette.state.db.database import Database
from vedette.state.policy import groups
from vedette.state.sensors import enrolment
from vedette.web.fleet.groups_json import secret_patterns

app = typer.Typer(no_args_is_help=True)

GroupArgument = Annotated[str, typer.Argument(metavar="GROUP", help="Id or name of the group.")]


@app.command("add")
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the group.")],
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Add a sensor group. Hosts join it with an ingest token of the group."""
    with open_state(data, config) as database:
        group = groups.add(database, name)
    typer.echo(f"added sensor group {group.id}: {group.name}")


@app.command("rename")
def rename(
    group: GroupArgument,
    name: Annotated[str, typer.Argument(metavar="NEW", help="New name.")],
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Rename a sensor group. Stored telemetry keeps the old name."""
    with open_state(data, config) as database:
        changed = groups.change(
            database, _group_id(database, group), groups.GroupChanges(name=name)
        )
    typer.echo(f"renamed sensor group {changed.id}: {changed.name}")


@app.command("remove")
def remove(group: GroupArgument, data: DataOption = None, config: ConfigOption = None) -> None:
    """Delete a sensor group without sensors, with its ingest tokens."""
    with open_state(data, config) as database:
        group_id = _group_id(database, group)
        groups.remove(database, group_id)
    typer.echo(f"removed sensor group {group_id}: {group}")


@app.command("privacy")
def privacy(
    group: GroupArgument,
    users: Annotated[
        bool | None,
        typer.Option("--users/--no-users", help="Store user names as pseudonyms."),
    ] = None,
    secret: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            help="RE2 of a secret (or with it as first group); repeatable; replaces all.",
        ),
    ] = None,
    no_secrets: Annotated[bool, typer.Option("--no-secrets", help="Remove all patterns.")] = False,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Set which data of the group's hosts is stored under pseudonyms; without options, show it.

    A running server applies the change within seconds. Stored data is not changed.
    """
    if secret and no_secrets:
        raise BadRequestError("--secret and --no-secrets cannot be combined")
    with open_state(data, config) as database:
        found = groups.get(database, _group_id(database, group))
        wanted: dict[str, Any] = {}
        if users is not None:
            wanted["pseudonymise_users"] = users
        if secret or no_secrets:
            try:
                wanted["secret_patterns"] = secret_patterns(secret or [])
            except ValueError as error:
                raise BadRequestError(f"--secret: {error}") from None
        if wanted:
            found = groups.change(database, found.id, groups.GroupChanges(options=wanted))
    options = found.options
    names = "stored as pseudonyms" if options.pseudonymise_users else "stored unchanged"
    typer.echo(f"user names are {names}; secret patterns: {len(options.secret_patterns)}")
    for one in options.secret_patterns:
        typer.echo(f"  {one}")


@app.command("suppress-children")
def suppress_children(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the group.")],
    off: Annotated[bool, typer.Option("--off", help="Stop suppressing child processes.")] = False,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Mark child processes that only loaded modules as suppressed in results. Deletes nothing."""
    with open_state(data, config) as database:
        groups.suppress_children(database, groups.named(database, name).id, not off)
    typer.echo(f"sensor group {name}: suppressed children {'off' if off else 'on'}")


@app.command("list")
def list_groups(
    data: DataOption = None, config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """List all sensor groups, ordered by id."""
    with open_state(data, config) as database:
        found = groups.all_groups(database)
    if as_json:
        print_json([asdict(group) for group in found])
    else:
        rows = [
            (group.id, group.name, "yes" if group.suppress_children else "no") for group in found
        ]
        print_table(("id", "name", "suppresses children"), rows)


@app.command("secret")
def secret(
    group: GroupArgument,
    rotate: Annotated[
        bool, typer.Option("--rotate", help="Issue a new secret; older ones stay valid.")
    ] = False,
    expires_days: Annotated[
        int | None,
        typer.Option(
            metavar="DAYS",
            min=1,
            max=TOKEN_EXPIRES_DAYS_MAX,
            help="With --rotate: days until the secret expires; default: never.",
        ),
    ] = None,
    uses: Annotated[
        int | None,
        typer.Option(metavar="HOSTS", min=1, help="With --rotate: maximum number of enrollments."),
    ] = None,
    revoke: Annotated[
        int | None, typer.Option(metavar="ID", help="Revoke the secret with this id.")
    ] = None,
    revoke_all: Annotated[
        bool, typer.Option("--revoke-all", help="Revoke all secrets; no more hosts can enroll.")
    ] = False,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the enrollment secrets of a group. Its installers contain them to let hosts join."""
    if not rotate and (expires_days or uses):
        raise BadRequestError("--expires-days and --uses require --rotate")
    with open_state(data, config) as database:
        group_id = _group_id(database, group)
        if rotate:
            now_us = SystemClock().now_us()
            expires_us = now_us + expires_days * DAY_US if expires_days else 0
            enrolment.issue_secret(database, group_id, expires_us, uses or 0)
        ended = [one.id for one in enrolment.group_secrets(database, group_id) if revoke_all]
        for secret_id in [revoke] if revoke is not None else ended:
            enrolment.revoke_secret(database, group_id, secret_id)
        if not (revoke_all or revoke is not None):
            enrolment.current_secret(database, group_id)
        found = enrolment.group_secrets(database, group_id)
    rows = [
        {
            "id": one.id,
            "secret": one.secret,
            "created": time_text(one.created_us),
            "expires": time_text(one.expires_us),
            "uses": one.uses,
            "uses_max": one.uses_max or None,
            "revoked": time_text(one.revoked_us),
        }
        for one in found
    ]
    if as_json:
        print_json(rows)
    else:
        headings = ("id", "secret", "created", "expires", "uses", "at most", "revoked")
        print_table(headings, [tuple("" if v is None else v for v in row.values()) for row in rows])


def _group_id(database: Database, text: str) -> int:
    """Returns the id of a group by id or name; text of digits only is an id. Raises
    NotFoundError."""
    if text.isdecimal():
        return groups.get(database, int(text)).id
    return groups.named(database, text).id
