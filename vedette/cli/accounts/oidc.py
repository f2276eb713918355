"""`vedette oidc`: identity providers, and links between identities and users. Works on the state
database, also while the server runs."""

import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Annotated, Any

import typer

from vedette.cli.options import ConfigOption, DataOption, JsonOption, load_settings, open_state
from vedette.cli.printing import print_json, print_table, time_text
from vedette.clock import SystemClock
from vedette.errors import BadRequestError, NotFoundError
from vedette.notify.egress import EgressPolicy
from vedette.notify.http_post import PostRules
from vedette.oidc.code_flow import CALLBACK
from vedette.oidc.documents import ProviderDocuments
from vedette.oidc.provider_url import checked_provider_url
from vedette.state.accounts import identities, identity_providers, teams
from vedette.state.accounts.identity_providers import Change, TeamPairs
from vedette.state.db.database import Database
from vedette.state.db.sealing import open_sealing

app = typer.Typer(no_args_is_help=True)

NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="Name of the provider: a to z, 0 to 9, -.")
]
LabelOption = Annotated[str | None, typer.Option(help="Label of the button on the sign-in page.")]
ScopeOption = Annotated[str | None, typer.Option(help="Requested scopes; must include openid.")]
StdinOption = Annotated[
    bool, typer.Option("--secret-stdin", help="Read the client secret from standard input.")
]
CreatesOption = Annotated[
    bool | None,
    typer.Option(
        "--creates-users/--no-creates-users",
        help="Create a user for an unlinked identity, in the teams of --team.",
    ),
]
UsernameOption = Annotated[str | None, typer.Option(help="Claim with the name of a new user.")]
TeamClaimOption = Annotated[str | None, typer.Option(help="Claim whose values map to teams.")]
TeamOption = Annotated[
    list[str] | None,
    typer.Option(metavar="VALUE=TEAM", help="Map a claim value to a team (* for all); repeatable."),
]


@dataclass(frozen=True, slots=True)
class ProviderOptions:
    """Provider settings given on the command line; None if not given."""

    secret_stdin: StdinOption = False
    label: LabelOption = None
    scope: ScopeOption = None
    creates_users: CreatesOption = None
    username_claim: UsernameOption = None
    team_claim: TeamClaimOption = None
    team: TeamOption = None

    def change(self, database: Database, secret: str | None, client_id: str | None) -> Change:
        return Change(
            label=self.label,
            client_id=client_id,
            secret=secret,
            scope=self.scope,
            creates_users=self.creates_users,
            username_claim=self.username_claim,
            team_claim=self.team_claim,
            teams=_teams(database, self.team),
        )


def _with_provider_options(command: Callable[..., None]) -> Callable[..., None]:
    """Decorator that replaces the parameter `options` of a command by an option for each field of
    ProviderOptions, and passes the values as a ProviderOptions."""
    shared = inspect.signature(ProviderOptions).parameters
    own = inspect.signature(command).parameters

    @wraps(command)
    def spread(**given: Any) -> None:
        options = ProviderOptions(**{name: given.pop(name) for name in shared})
        command(options=options, **given)

    parameters = [
        one for name in own for one in (shared.values() if name == "options" else [own[name]])
    ]
    spread.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return spread


@app.command("add")
@_with_provider_options
def add(
    name: NameArgument,
    issuer: Annotated[
        str, typer.Option(help="Issuer URL, as in the provider's metadata: https://HOST/PATH.")
    ],
    client_id: Annotated[str, typer.Option(help="Client id of this server at the provider.")],
    options: ProviderOptions,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Add an identity provider and print the redirect address to register there."""
    settings = load_settings(data, config).settings
    secret = _read_secret() if options.secret_stdin else None
    with open_state(data, config) as database:
        new = options.change(database, secret, client_id)
        issuer = checked_provider_url(issuer, "--issuer", is_issuer=True)
        sealing = open_sealing(settings.data)
        identity_providers.add(database, sealing, name, issuer, new, SystemClock().now_us())
    typer.echo(f"added identity provider {name}")
    path = CALLBACK.format(name)
    if settings.public_url:
        typer.echo(f"redirect URI  {settings.public_url.rstrip('/')}{path}")
    else:
        typer.echo(f"set public_url; the redirect URI is public_url + {path}", err=True)


@app.command("change")
@_with_provider_options
def change(
    name: NameArgument,
    options: ProviderOptions,
    client_id: Annotated[str | None, typer.Option(help="User on this server.")] = None,
    enable: Annotated[
        bool | None,
        typer.Option("--enable/--disable", help="Enable or disable; disabling ends its sessions."),
    ] = None,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Change a provider. The given teams replace its present teams."""
    settings = load_settings(data, config).settings
    secret = _read_secret() if options.secret_stdin else None
    with open_state(data, config) as database:
        new = replace(options.change(database, secret, client_id), is_enabled=enable)
        known = identity_providers.named(database, name)
        sealing = open_sealing(settings.data)
        identity_providers.change(database, sealing, known.id, new, SystemClock().now_us())
    typer.echo(f"changed identity provider {name}")


@app.command("remove")
def remove(name: NameArgument, data: DataOption = None, config: ConfigOption = None) -> None:
    """Remove a provider with its identities, and end their sessions. Keeps the users."""
    with open_state(data, config) as database:
        known = identity_providers.named(database, name)
        identity_providers.remove(database, known.id, SystemClock().now_us())
    typer.echo(f"removed identity provider {name}")


@app.command("list")
def list_providers(
    data: DataOption = None, config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """List all providers, without their secrets."""
    with open_state(data, config) as database:
        rows: list[dict[str, Any]] = [
            {
                "name": one.name,
                "issuer": one.issuer,
                "client_id": one.client_id,
                "secret": bool(one.sealed_secret),
                "creates_users": one.creates_users,
                "enabled": one.is_enabled,
            }
            for one in identity_providers.all_providers(database)
        ]
    if as_json:
        print_json(rows)
        return
    headings = ("provider", "issuer", "client", "secret", "creates users", "enabled")
    print_table(headings, [tuple(row.values()) for row in rows])


@app.command("check")
def check(name: NameArgument, data: DataOption = None, config: ConfigOption = None) -> None:
    """Request metadata and keys from a provider, like a sign-in does."""
    settings = load_settings(data, config).settings
    with open_state(data, config) as database:
        issuer = identity_providers.named(database, name).issuer
    rules = PostRules(EgressPolicy.of(settings.egress_allow), settings.oidc_ca_file)
    documents = ProviderDocuments(rules, SystemClock())
    metadata, keys = documents.metadata(issuer), documents.keys(issuer)
    print_table(
        ("what", "value"),
        [
            ("sign-in", metadata.authorization_endpoint),
            ("tokens", metadata.token_endpoint),
            ("keys", f"{len(keys)} from {metadata.jwks_uri}"),
        ],
    )


@app.command("link")
def link(
    user: Annotated[str, typer.Argument(metavar="USER", help="User name.")],
    provider: Annotated[str, typer.Option(help="Name of the provider.")],
    subject: Annotated[str, typer.Option(help="Subject (sub) of the person at the provider.")],
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Allow an identity to sign in as a user. The audit log has the subject of refused sign-ins."""
    with open_state(data, config) as database:
        provider_id = identity_providers.named(database, provider).id
        linked = identities.link(database, provider_id, subject, user, SystemClock().now_us())
    typer.echo(f"linked identity {linked.id} to {linked.username}")


@app.command("unlink")
def unlink(
    identity: Annotated[int, typer.Argument(metavar="ID", help="Id, as printed by `identities`.")],
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Block an identity, and end the sessions that it started."""
    with open_state(data, config) as database:
        identities.unlink(database, identity, SystemClock().now_us())
    typer.echo(f"unlinked identity {identity}")


@app.command("identities")
def list_identities(
    data: DataOption = None, config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """List which identity signs in as which user."""
    with open_state(data, config) as database:
        rows: list[dict[str, Any]] = [
            {
                "id": one.id,
                "user": one.username,
                "provider": one.provider,
                "subject": one.subject,
                "follows_claims": one.follows_claims,
                "last_used": time_text(one.last_used_us),
            }
            for one in identities.all_identities(database)
        ]
    if as_json:
        print_json(rows)
        return
    headings = ("id", "user", "provider", "subject", "follows claims", "last used")
    print_table(headings, [tuple(row.values()) for row in rows])


def _read_secret() -> str:
    return sys.stdin.readline().rstrip("\r\n")


def _teams(database: Database, given: Sequence[str] | None) -> TeamPairs | None:
    if given is None:
        return None
    pairs = []
    for item in given:
        value, equals, name = item.rpartition("=")
        if not equals or not value:
            raise BadRequestError(f"--team {item[:80]}: must be VALUE=TEAM")
        try:
            pairs.append((value, teams.named(database, name).id))
        except NotFoundError:
            raise BadRequestError(f"--team {item[:80]}: unknown team") from None
    return tuple(pairs)
