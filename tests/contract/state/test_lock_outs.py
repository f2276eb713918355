"""Who is locked out stands in the audit log: once, bounded, and without what was typed."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from vedette import limits
from vedette.clock import DrivenClock
from vedette.errors import BusyError, UnauthorizedError
from vedette.state.accounts import audit_trail, sign_in, users
from vedette.state.accounts.app_guesses import APP_GUESSES_OF_ADDRESS_MAX, AppGuesses
from vedette.state.accounts.audit_trail import Search
from vedette.state.accounts.lock_note import LOCK_OUTS_NOTED_MAX
from vedette.state.accounts.sign_in import (
    SIGN_INS_OF_ADDRESS_MAX,
    SIGN_INS_OF_LINK_MAX,
    SIGN_INS_OF_USER_AND_ADDRESS_MAX,
    SIGN_INS_OF_USER_MAX,
    Attempt,
)
from vedette.state.db.author import Author, acting_as
from vedette.state.db.database import Database
from vedette.state.db.sealing import Sealing

NOW_US = 1_800_000_000_000_000
SEALING = Sealing(b"k" * 32)
WINDOW_US = (limits.SIGN_IN_WINDOW_S + 1) * 1_000_000


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashing takes most of the time of an attempt, and nobody guesses right here."""
    monkeypatch.setattr(users, "matching_hash", lambda *_: None)


def tried(database: Database, name: str, address: str, now_us: int = NOW_US) -> str:
    """Returns the answer to a sign-in attempt. Its author is set like in the route."""
    attempt = Attempt(name, "wrong", "", address)
    with acting_as(Author("user", name, address, "request")):
        try:
            sign_in.sign_in(database, SEALING, attempt, "browser", now_us)
        except (UnauthorizedError, BusyError) as error:
            return error.reason
    return ""


def entries(database: Database) -> list[tuple[str, dict[str, Any]]]:
    found = audit_trail.search(database, Search(kind="lock-out", rows=1_000))[1]
    assert {(one.author_kind, one.author, one.action) for one in found} <= {
        ("server", "sign-in", "create")
    }
    return [(one.target, one.after) for one in reversed(found)]


def test_a_lock_out_is_one_entry_however_often_it_is_run_into(database: Database) -> None:
    users.add(database, users.NewUser("ann"), NOW_US)
    for _ in range(SIGN_INS_OF_USER_AND_ADDRESS_MAX):
        assert tried(database, "ann", "192.0.2.1") == "unauthorized"
    assert entries(database) == []
    assert {tried(database, "Ann", "192.0.2.1") for _ in range(20)} == {"locked_out"}
    reported = {"of": "user from an address", "address": "192.0.2.1", "attempts": 8, "minutes": 15}
    assert entries(database) == [("ann", reported)]
    later = NOW_US + WINDOW_US
    for _ in range(SIGN_INS_OF_USER_AND_ADDRESS_MAX + 2):
        tried(database, "ann", "192.0.2.1", later)
    assert entries(database) == [("ann", reported)] * 2
    assert audit_trail.verify(database).fault == ""


@pytest.mark.parametrize("name", ["hunter2-is-my-password", "zero\0byte", "\ud800"])
def test_a_name_that_is_no_users_is_not_written(database: Database, name: str) -> None:
    """People type passwords where names belong. The answers are those for a user."""
    answers = [tried(database, name, "2001:db8::7") for _ in range(10)]
    assert answers == ["unauthorized"] * 8 + ["locked_out"] * 2
    ((target, reported),) = entries(database)
    assert (target, reported["address"]) == ("(no such name)", "2001:db8::/64")
    found = audit_trail.search(database, Search(rows=1_000))[1]
    assert not any(name in str(one) for one in found)


def test_an_address_and_a_user_from_everywhere_are_locked_out(database: Database) -> None:
    users.add(database, users.NewUser("ann"), NOW_US)
    for number in range(SIGN_INS_OF_ADDRESS_MAX + 1):
        tried(database, f"user-{number}", "192.0.2.2")
    assert [(target, reported["of"]) for target, reported in entries(database)] == [
        ("192.0.2.2", "address")
    ]
    for number in range(SIGN_INS_OF_USER_MAX + 1):
        tried(database, "ann", f"198.51.100.{number}")
    target, reported = entries(database)[-1]
    assert (target, reported["of"], reported["address"]) == ("ann", "user", "198.51.100.60")


def test_nobody_fills_the_log_by_guessing(database: Database) -> None:
    most = LOCK_OUTS_NOTED_MAX
    for number in range(most + 10):
        for _ in range(SIGN_INS_OF_USER_AND_ADDRESS_MAX + 1):
            tried(database, f"user-{number}", f"10.0.0.{number}")
    found = entries(database)
    assert len(found) == most
    assert ["further" in reported for _, reported in found] == [False] * (most - 1) + [True]
    for _ in range(SIGN_INS_OF_USER_AND_ADDRESS_MAX + 1):
        tried(database, "later", "10.0.1.1", NOW_US + WINDOW_US)
    assert len(entries(database)) == most + 1


def test_a_link_that_is_guessed_at_is_locked(database: Database) -> None:
    users.add(database, users.NewUser("ann"), NOW_US)
    clock = DrivenClock(NOW_US)
    link = sign_in.issue_link(database, "ann", clock.now_us())

    def use(address: str) -> None:
        with suppress(UnauthorizedError, BusyError):
            attempt = Attempt("", "", "000000", address)
            sign_in.sign_in_by_link(database, SEALING, link, attempt, "browser", NOW_US)

    refused: Callable[..., None] = _refuse
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sign_in, "check_code", refused)
        for number in range(SIGN_INS_OF_LINK_MAX + 3):
            use(f"192.0.2.{number}")
    ((target, reported),) = entries(database)
    assert (target, reported["of"]) == ("ann", "link")


def _refuse(*_: object) -> None:
    raise UnauthorizedError("the code is wrong")


def test_an_app_whose_secret_is_guessed_is_locked(database: Database) -> None:
    guesses = AppGuesses(database)
    for _ in range(APP_GUESSES_OF_ADDRESS_MAX + 5):
        with suppress(UnauthorizedError, BusyError):
            guesses.check("no-app", "192.0.2.3", NOW_US, lambda _: None)
    ((target, reported),) = entries(database)
    assert (target, reported["of"], reported["address"]) == ("(no such name)", "app", "192.0.2.3")
