"""Quotas: one caller cannot use up what all share, on both databases."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import insert, select

from vedette.errors import BadRequestError, ConflictError
from vedette.limits import WATCHLIST_ID_MAX
from vedette.record.objects.watchlist import Watchlist
from vedette.state.accounts import tokens, users
from vedette.state.accounts.tokens import NewToken
from vedette.state.db.database import Database
from vedette.state.db.schema import USER
from vedette.state.db.schema_watchlists import WATCHLIST, WATCHLIST_ID
from vedette.state.policy import bans, watchlists
from vedette.state.policy.bans import BanAuthor
from vedette.state.policy.watchlists import WATCHLIST_IDS_AHEAD_MAX
from vedette.state.shares.quota import Quota, check_room
from vedette.state.shares.quota_list import API_TOKENS, BANS, WATCHLISTS

NOW_US = 1_700_000_000_000_000


@pytest.fixture
def hired(database: Database) -> Callable[[str], int]:
    """Makes a user who is no administrator; returns the id."""

    def hire(name: str) -> int:
        draft = users.NewUser(name, password="a long password")
        return users.add(database, draft, NOW_US).id

    return hire


def admin_of(database: Database) -> int:
    with database.reading() as connection:
        return int(connection.scalar(select(USER.c.id).where(USER.c.global_admin)) or 0)


def watch(database: Database, user_id: int, chosen_id: int | None = None) -> int:
    new = Watchlist(name="one", search_query="process_name:a.exe", user_id=user_id)
    with database.writing() as connection:
        return watchlists.add(connection, new, NOW_US, chosen_id)


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, str, Quota], None]:
    """Gives a module a quota of five, with a share of two."""

    def use(module: Any, name: str, quota: Quota) -> None:
        monkeypatch.setattr(module, name, replace(quota, most=5, share=2))

    return use


def test_one_user_leaves_room_for_the_others(
    database: Database, hired: Callable[[str], int], narrow: Callable[[Any, str, Quota], None]
) -> None:
    narrow(watchlists, "WATCHLISTS", WATCHLISTS)
    eve, ann = hired("eve"), hired("ann")
    watch(database, eve)
    watch(database, eve)
    with pytest.raises(ConflictError) as refused:
        watch(database, eve)
    assert refused.value.reason == "quota"
    watch(database, ann)
    watch(database, admin_of(database))
    watch(database, admin_of(database))
    with pytest.raises(ConflictError, match="limit of 5"):
        watch(database, admin_of(database))


def test_bans_of_one_user_leave_room_for_the_others(
    database: Database, hired: Callable[[str], int], narrow: Callable[[Any, str, Quota], None]
) -> None:
    narrow(bans, "BANS", BANS)
    eve, ann = BanAuthor(hired("eve"), "eve"), BanAuthor(hired("ann"), "ann")
    for number in range(2):
        bans.add(database, f"{number:032x}", "", eve, NOW_US)
    with pytest.raises(ConflictError):
        bans.add(database, "f" * 32, "", eve, NOW_US)
    bans.add(database, "f" * 32, "", ann, NOW_US)
    off = f"{0:032x}"
    bans.change(database, off, enabled=False, text=None, by=eve, now_us=NOW_US)
    bans.add(database, "e" * 32, "", eve, NOW_US)
    with pytest.raises(ConflictError):
        bans.change(database, off, enabled=True, text=None, by=eve, now_us=NOW_US)


def test_a_user_has_a_bounded_number_of_good_tokens(
    database: Database, hired: Callable[[str], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "API_TOKENS", replace(API_TOKENS, share=2))
    new = NewToken("api", user_id=hired("eve"), expires_us=NOW_US + 10)
    first = tokens.issue(database, new, NOW_US)
    tokens.issue(database, new, NOW_US)
    with pytest.raises(ConflictError):
        tokens.issue(database, new, NOW_US)
    tokens.revoke(database, first.id, NOW_US)
    tokens.issue(database, new, NOW_US)
    tokens.issue(database, replace(new, expires_us=NOW_US + 100), NOW_US + 10)  # two have expired
    tokens.issue(database, replace(new, user_id=hired("ann")), NOW_US)
    for _ in range(3):
        tokens.issue(database, replace(new, user_id=admin_of(database)), NOW_US)


def test_an_id_is_chosen_near_the_next_free_one(database: Database) -> None:
    first = watch(database, 0)
    far = first + 1 + WATCHLIST_IDS_AHEAD_MAX
    assert watch(database, 0, far) == far
    for chosen in (far + 1, WATCHLIST_ID_MAX - 1, WATCHLIST_ID_MAX):
        with pytest.raises(BadRequestError):
            watch(database, 0, chosen)
    assert watch(database, 0) == first + 1, "a chosen id does not move the others"
    assert watch(database, 0, first + 2) == first + 2
    assert watch(database, 0) == first + 3


def test_ids_that_were_chosen_at_the_end_of_the_range_leave_the_others_usable(
    database: Database,
) -> None:
    last = watch(database, 0)
    with database.writing() as connection:  # as versions before 0.2 let callers do
        for number in (WATCHLIST_ID_MAX - 1, WATCHLIST_ID_MAX):
            row = {"name": "x", "search_query": "a:b", "index_type": "events", "enabled": True}
            key = connection.execute(
                insert(WATCHLIST).values(id=number, **row).returning(WATCHLIST.c.key)
            ).scalar_one()
            del row["enabled"]
            connection.execute(
                insert(WATCHLIST_ID).values(id=number, watchlist_key=key, from_us=1, **row)
            )
    assert watch(database, 0) == last + 1
    with database.writing() as connection:
        known = watchlists.held(connection, WATCHLIST_ID_MAX - 1)
        values = {"search_query": "process_name:b.exe"}
        changed = watchlists.change(connection, known, values, NOW_US)
        assert changed.id <= last + 2
        assert watchlists.get(connection, WATCHLIST_ID_MAX - 1).key == changed.key
    assert watch(database, 0) <= last + 3


def test_deleted_ids_are_not_given_again(database: Database) -> None:
    made = watch(database, 0)
    with database.writing() as connection:
        watchlists.remove(connection, watchlists.get(connection, made))
    assert watch(database, 0) == made + 1


def test_several_at_once_count_as_many(database: Database) -> None:
    few = Quota("watchlists", WATCHLIST, most=3)
    watch(database, 0)
    with database.reading() as connection:
        check_room(connection, few, adding=2)
        with pytest.raises(ConflictError):
            check_room(connection, few, adding=3)
