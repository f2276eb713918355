"""When sessions of browsers end by themselves."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from tests.support.served import wait_for
from vedette import limits
from vedette.clock import DrivenClock
from vedette.errors import UnauthorizedError
from vedette.state.accounts import sign_in, tokens, users
from vedette.state.accounts.sign_in import Attempt
from vedette.state.accounts.tokens import SESSIONS_PER_USER_MAX, Tokens
from vedette.state.db.database import Database
from vedette.state.db.sealing import Sealing

NOW_US = 1_800_000_000_000_000
SEALING = Sealing(b"k" * 32)


def begun(database: Database, clock: DrivenClock, username: str = "ann") -> str:
    """The secret of a session of a new user."""
    user = users.add(database, users.NewUser(username), clock.now_us())
    return tokens.begin_session(database, user.id, "browser", clock.now_us()).secret


def test_a_session_that_nobody_uses_ends_after_an_hour(database: Database) -> None:
    clock = DrivenClock(NOW_US)
    cache, secret = Tokens(database, clock), begun(database, clock)
    clock.advance(limits.SESSION_IDLE_S - 5)
    assert cache.authenticate(secret)
    cache.flush()  # as the timer does: it was used now
    clock.advance(limits.SESSION_IDLE_S - 5)
    assert cache.authenticate(secret)
    cache.flush()
    clock.advance(limits.SESSION_IDLE_S + 5)
    assert cache.authenticate(secret) is None


def test_a_session_that_is_used_all_the_time_ends_after_twelve_hours(database: Database) -> None:
    clock = DrivenClock(NOW_US)
    cache, secret = Tokens(database, clock), begun(database, clock)
    step_s = limits.SESSION_IDLE_S // 2
    for _ in range(limits.SESSION_S_MAX // step_s - 1):
        clock.advance(step_s)
        assert cache.authenticate(secret)
        cache.flush()
    clock.advance(step_s)
    assert cache.authenticate(secret) is None


def test_above_the_limit_the_oldest_session_of_a_user_ends(database: Database) -> None:
    clock = DrivenClock(NOW_US)
    cache, first = Tokens(database, clock), begun(database, clock)
    user_id = users.id_of(database, "ann")
    others = []
    for _ in range(SESSIONS_PER_USER_MAX):
        clock.advance(1)
        issued = tokens.begin_session(database, user_id, "browser", clock.now_us())
        others.append(issued.secret)
    assert cache.authenticate(first) is None
    assert all(cache.authenticate(one) for one in others)


def test_a_new_password_ends_sessions_but_that_which_sets_it(database: Database) -> None:
    clock = DrivenClock(NOW_US)
    cache, stolen = Tokens(database, clock), begun(database, clock)
    user_id = users.id_of(database, "ann")
    own = tokens.begin_session(database, user_id, "browser", NOW_US)
    token = tokens.issue(database, tokens.NewToken("api", user_id=user_id), NOW_US)
    others = begun(database, clock, "bob")
    link = sign_in.issue_link(database, "ann", NOW_US)
    change = users.UserChanges(password="another long password")
    users.change(database, "ann", change, own_session=own.id)
    assert cache.authenticate(stolen) is None
    for secret in (own.secret, token.secret, others):
        assert cache.authenticate(secret)
    with database.reading() as connection:
        assert tokens.find_link(connection, link, NOW_US) is None


def test_sessions_of_a_disabled_user_stay_ended_when_they_are_enabled(database: Database) -> None:
    clock = DrivenClock(NOW_US)
    cache, secret = Tokens(database, clock), begun(database, clock)
    for is_enabled in (False, True):
        users.change(database, "ann", users.UserChanges(is_enabled=is_enabled))
        cache.clear_cache()
        assert cache.authenticate(secret) is None


def test_no_session_begins_with_a_password_that_was_just_replaced(database: Database) -> None:
    """Whoever signs in all the time with an old password has one attempt under way when it is
    replaced."""
    users.add(database, users.NewUser("ann", password="the password of ann"), NOW_US)
    attempt = Attempt("ann", "the password of ann", "", "192.0.2.1")
    begun: list[tokens.Issued] = []

    def keep_signing_in() -> None:
        with suppress(UnauthorizedError):
            while True:
                begun.append(sign_in.sign_in(database, SEALING, attempt, "thief", NOW_US))

    with ThreadPoolExecutor(3) as pool:
        signing_in = [pool.submit(keep_signing_in) for _ in range(3)]
        assert wait_for(lambda: len(begun) > 3, True)
        users.change(database, "ann", users.UserChanges(password="another long password"))
        for one in signing_in:
            one.result()
    cache = Tokens(database, DrivenClock(NOW_US))
    assert [one.id for one in begun if cache.authenticate(one.secret)] == []
