"""Roles, apps and keys of the cloud side for tests, made by the state of a running server."""

from dataclasses import dataclass

import httpx

from tests.support.served import Server, state_of
from vedette.clock import SystemClock
from vedette.state.accounts import cloud_apps, cloud_roles
from vedette.state.accounts.cloud_apps import AppChange, AppKind
from vedette.state.accounts.cloud_roles import RoleChange

ORG = "VEDETTE"


@dataclass(frozen=True)
class App:
    """An app with its secret."""

    id: str
    secret: str

    @property
    def auth_token(self) -> str:
        return f"{self.secret}/{self.id}"


def make_app(
    server: Server,
    name: str,
    *permissions: str,
    groups: list[int] | None = None,
    kind: AppKind = "oauth",
    ttl_s: int | None = None,
) -> App:
    """An app with a role of its own; without permissions it has none."""
    with state_of(server) as database:
        roles = []
        if permissions:
            new = RoleChange(f"role of {name}", permissions=permissions, groups=groups)
            roles = [cloud_roles.add(database, new).id]
        change = AppChange(name, roles=roles, token_ttl_s=ttl_s)
        app, issued = cloud_apps.add(database, kind, change, SystemClock().now_us())
    return App(app.id, issued.secret)


def client_of(server: Server, app: App) -> httpx.Client:
    return server.client(**{"X-Auth-Token": app.auth_token})


def access_token(server: Server, app: App) -> httpx.Response:
    """The answer to an app that asks for a token."""
    with server.client() as client:
        return client.post(
            "/csp/gateway/am/api/auth/token",
            data={"grant_type": "client_credentials"},
            auth=(app.id, app.secret),
        )
