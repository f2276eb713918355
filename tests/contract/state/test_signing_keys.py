"""Keys that sign access tokens: a new one every month, and what the old ones signed meanwhile."""

from pathlib import Path

import pytest
from joserfc import jws

from vedette.clock import DrivenClock
from vedette.state.accounts import cloud_apps, cloud_roles, signing_keys
from vedette.state.accounts.access_tokens import AccessTokens
from vedette.state.accounts.cloud_apps import AppChange
from vedette.state.accounts.cloud_roles import RoleChange
from vedette.state.accounts.signing_keys import SIGNING_KEY_AGE_S
from vedette.state.accounts.tokens import Tokens
from vedette.state.db.database import Database
from vedette.state.db.sealing import Sealing, open_sealing

NOW_US = 1_700_000_000_000_000
TTL_S = 1_800


class Platform:
    """An app, and a server that gives it tokens."""

    def __init__(self, database: Database, sealing: Sealing) -> None:
        self.database, self.sealing = database, sealing
        self.clock = DrivenClock(NOW_US)
        role = cloud_roles.add(database, RoleChange("r", permissions=("device:read",)))
        change = AppChange("robot", roles=[role.id], token_ttl_s=TTL_S)
        app, issued = cloud_apps.add(database, "oauth", change, NOW_US)
        self.app_id, self.secret = app.id, issued.secret
        self.tokens = self.server()

    def server(self) -> AccessTokens:
        known = Tokens(self.database, self.clock)
        return AccessTokens(self.database, self.sealing, self.clock, known)

    def issue(self) -> str:
        return self.tokens.issue(self.app_id, self.secret, "10.0.0.1").text

    def public_ids(self) -> list[str]:
        return [key["kid"] for key in self.tokens.public_keys()]


@pytest.fixture
def platform(database: Database, tmp_path: Path) -> Platform:
    return Platform(database, open_sealing(tmp_path))


def key_id(token: str) -> str:
    return str(jws.extract_compact(token.encode()).headers()["kid"])


def test_a_new_key_signs_every_month_and_old_tokens_stay_good(platform: Platform) -> None:
    first = platform.issue()
    platform.clock.advance(SIGNING_KEY_AGE_S - TTL_S / 2)
    late = platform.issue()
    assert key_id(late) == key_id(first)
    platform.clock.advance(TTL_S)
    platform.tokens.rotate_when_due()
    platform.clock.advance(-TTL_S / 4)
    new = platform.issue()
    assert key_id(new) != key_id(first)
    assert platform.public_ids() == [key_id(new), key_id(first)]
    # Also to a server that knows neither.
    other = platform.server()
    assert other.with_token(late) is not None
    assert other.with_token(new) is not None
    assert other.with_token(first) is None


def test_keys_whose_tokens_have_ended_are_removed(platform: Platform) -> None:
    first = platform.issue()
    for _ in range(3):
        platform.clock.advance(SIGNING_KEY_AGE_S)
        platform.tokens.rotate_when_due()
    assert key_id(first) not in platform.public_ids()
    assert len(platform.public_ids()) <= 3


def test_a_key_at_once_ends_every_token_also_those_that_were_checked(platform: Platform) -> None:
    token = platform.issue()
    other = platform.server()
    assert platform.tokens.with_token(token) is not None
    assert other.with_token(token) is not None
    signing_keys.rotate(platform.database, platform.sealing, platform.clock.now_us(), at_once=True)
    platform.clock.advance(1)
    for server in (platform.tokens, other):
        assert server.cached_token(token) is None
        assert server.with_token(token) is None
    assert platform.tokens.with_token(platform.issue()) is not None
