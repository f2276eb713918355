"""`vedette user`: works on the state database, also while the server runs."""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from vedette.bootstrap.local_access import read_access
from vedette.cli.options import ConfigOption, DataOption, JsonOption, load_settings, open_state
from vedette.cli.printing import print_json, print_table, time_text
from vedette.clock import SystemClock
from vedette.errors import BadRequestError
from vedette.state.accounts import second_factor, sign_in, teams, users
from vedette.state.db.database import Database

app = typer.Typer(no_args_is_help=True)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="User name.")]
StdinOption = Annotated[
    bool, typer.Option("--password-stdin", help="Read the password from standard input.")
]


@app.command("add")
def add(
    name: NameArgument,
    global_admin: Annotated[
        bool, typer.Option("--global-admin", help="Global administrator.")
    ] = False,
    email: Annotated[str, typer.Option(help="Mail address.")] = "",
    first_name: Annotated[str, typer.Option(help="First name.")] = "",
    last_name: Annotated[str, typer.Option(help="Last name.")] = "",
    team: Annotated[list[str] | None, typer.Option(help="A team; repeatable.")] = None,
    password_stdin: StdinOption = False,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Add a user. Without a password, the user can only use tokens."""
    password = _read_password() if password_stdin else None
    with open_state(data, config) as database:
        new = users.NewUser(
            name,
            first_name=first_name,
            last_name=last_name,
            email=email,
            password=password,
            is_global_admin=global_admin,
            team_ids=_team_ids(database, team or ()),
        )
        users.add(database, new, SystemClock().now_us())
    typer.echo(f"added user {name.lower()}")


@app.command("list")
def list_users(
    data: DataOption = None, config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """List all users and their teams."""
    with open_state(data, config) as database:
        found = users.all_users(database)
    if as_json:
        print_json([_body(user) for user in found])
        return
    print_table(
        ("user", "name", "global admin", "enabled", "password", "teams", "created"),
        [
            (
                user.username,
                f"{user.first_name} {user.last_name}".strip(),
                user.is_global_admin,
                user.is_enabled,
                user.has_password,
                ", ".join(name for _, name in user.teams),
                time_text(user.created_us),
            )
            for user in found
        ],
    )


@app.command("show")
def show(
    name: NameArgument,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show one user by name."""
    with open_state(data, config) as database:
        body = _body(users.get(database, name))
    if as_json:
        print_json(body)
    else:
        print_table(("field", "value"), list(body.items()))


@app.command("change")
def change(
    name: NameArgument,
    global_admin: Annotated[
        bool | None,
        typer.Option("--global-admin/--no-global-admin", help="Global administrator."),
    ] = None,
    email: Annotated[str | None, typer.Option(help="Mail address.")] = None,
    first_name: Annotated[str | None, typer.Option(help="First name.")] = None,
    last_name: Annotated[str | None, typer.Option(help="Last name.")] = None,
    team: Annotated[
        list[str] | None, typer.Option(help="Replace the user's teams; repeatable.")
    ] = None,
    no_teams: Annotated[bool, typer.Option("--no-teams", help="Leave all teams.")] = False,
    no_second_factor: Annotated[
        bool,
        typer.Option("--no-second-factor", help="Remove the second factor (lost device)."),
    ] = False,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Change a user. Keeps values without an option."""
    if team and no_teams:
        raise BadRequestError("--team and --no-teams cannot be combined")
    with open_state(data, config) as database:
        changes = users.UserChanges(
            first_name=first_name,
            last_name=last_name,
            email=email,
            is_global_admin=global_admin,
            team_ids=_team_ids(database, team or ()) if team or no_teams else None,
        )
        users.change(database, name, changes)
        if no_second_factor:
            second_factor.remove(database, name.lower())
    typer.echo(f"changed user {name.lower()}")


@app.command("disable")
def disable(name: NameArgument, data: DataOption = None, config: ConfigOption = None) -> None:
    """Block a user and all of their tokens until the user is enabled again, and end the sessions.
    The last global administrator cannot be disabled."""
    with open_state(data, config) as database:
        users.change(database, name, users.UserChanges(is_enabled=False))
    typer.echo(f"disabled user {name.lower()}")


@app.command("enable")
def enable(name: NameArgument, data: DataOption = None, config: ConfigOption = None) -> None:
    """Enable a disabled user."""
    with open_state(data, config) as database:
        users.change(database, name, users.UserChanges(is_enabled=True))
    typer.echo(f"enabled user {name.lower()}")


@app.command("remove")
def remove(name: NameArgument, data: DataOption = None, config: ConfigOption = None) -> None:
    """Delete a user and their tokens. The last global administrator cannot be deleted."""
    with open_state(data, config) as database:
        users.remove(database, name)
    typer.echo(f"removed user {name.lower()}")


@app.command("passwd")
def passwd(
    name: NameArgument,
    password_stdin: StdinOption = False,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Set a user's password, read from the terminal or from standard input. Ends the user's
    sessions; tokens stay valid."""
    with open_state(data, config) as database:
        users.get(database, name)
        if password_stdin:
            password = _read_password()
        else:
            password = typer.prompt("New password", hide_input=True, confirmation_prompt=True)
        users.change(database, name, users.UserChanges(password=password))
    typer.echo(f"changed the password of {name.lower()}")


@app.command("link")
def link(name: NameArgument, data: DataOption = None, config: ConfigOption = None) -> None:
    """Print an address that signs a user in to the console, once, within 15 minutes."""
    directory = load_settings(data, config).settings.data
    with open_state(data, config) as database:
        secret = sign_in.issue_link(database, name, SystemClock().now_us())
    access = read_access(directory)
    typer.echo(sign_in_address(access.url if access else "", secret))


def sign_in_address(url: str, secret: str, path: str = "/ui/alerts") -> str:
    """Returns the address of a sign-in link. The secret follows the `#`, because browsers do not
    send that part."""
    return f"{url}/ui/sign-in?next={path}#link={secret}"


def _team_ids(database: Database, names: Sequence[str]) -> tuple[int, ...]:
    ids = {known.name: known.id for known in teams.all_teams(database)}
    for wanted in names:
        if wanted not in ids:
            raise BadRequestError(f"--team {wanted}: unknown team")
    return tuple(ids[wanted] for wanted in names)


def _read_password() -> str:
    return sys.stdin.readline().rstrip("\r\n")


def _body(user: users.User) -> dict[str, Any]:
    body = asdict(user)
    body["created"] = time_text(body.pop("created_us"))
    body["teams"] = [name for _, name in user.teams]
    return body
