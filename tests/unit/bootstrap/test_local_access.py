"""The tokens of programs on the server's machine."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.started_state import open_started_state
from vedette.bootstrap.local_access import LocalTokens
from vedette.clock import DrivenClock
from vedette.state.accounts import tokens, users
from vedette.state.accounts.tokens import Tokens
from vedette.state.db.database import Database

NOW_US = 1_700_000_000_000_000
DAY_US = 24 * 3600 * 1_000_000


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = open_started_state(tmp_path, NOW_US)
    yield opened
    opened.close()


@pytest.mark.parametrize("days", [0, 1, 30])
def test_they_live_as_long_as_the_setting_says(
    database: Database, days: int, tmp_path: Path
) -> None:
    local = LocalTokens(database, NOW_US, days * DAY_US, tmp_path)
    own = [one for one in tokens.all_tokens(database) if one.name == "programs on this machine"]
    assert [one.expires_us for one in own] == [NOW_US + days * DAY_US if days else 0] * 2
    assert local.api
    assert local.ingest


def test_a_server_that_runs_longer_renews_them(database: Database, tmp_path: Path) -> None:
    """Good tokens are there at any time, and all are revoked at the end."""
    clock = DrivenClock(NOW_US)
    local = LocalTokens(database, NOW_US, DAY_US, tmp_path)
    cache = Tokens(database, clock)
    secrets = set()
    for _ in range(20):
        local.renew(clock.now_us())
        assert cache.authenticate(local.api) is not None
        assert cache.authenticate(local.ingest) is not None
        secrets.add(local.api)
        clock.advance(6 * 3600)
    assert 5 <= len(secrets) <= 10
    local.close(clock.now_us())
    clock.advance(2)
    assert cache.authenticate(local.api) is None


def test_those_without_an_end_are_never_renewed(database: Database, tmp_path: Path) -> None:
    local = LocalTokens(database, NOW_US, 0, tmp_path)
    before = local.api
    assert local.renew(NOW_US + 1_000 * DAY_US) is False
    assert local.api == before


@pytest.mark.parametrize(
    "change", [users.UserChanges(is_enabled=False), users.UserChanges(is_global_admin=False)]
)
def test_they_are_another_administrators_when_theirs_is_none_any_more(
    database: Database, tmp_path: Path, change: users.UserChanges
) -> None:
    clock = DrivenClock(NOW_US)
    local = LocalTokens(database, NOW_US, 0, tmp_path)
    users.add(database, users.NewUser("second", is_global_admin=True), NOW_US)
    users.change(database, "admin", change)
    assert local.renew(NOW_US) is True
    assert local.renew(NOW_US) is False
    found = Tokens(database, clock).authenticate(local.api)
    assert found is not None
    assert (found.name, found.is_global_admin) == ("second", True)
