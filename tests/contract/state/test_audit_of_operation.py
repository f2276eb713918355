"""Audit entries of operators' actions on the whole server, and of saved searches, on both
databases."""

import pytest

from tests.contract.state.conftest import NOW_US
from tests.contract.state.test_audit_of_policy import noted
from vedette.errors import NotFoundError
from vedette.record.objects.kept_view import SavedSearch
from vedette.state.accounts import audit_trail, kept_views, users
from vedette.state.clock.guard import Reading
from vedette.state.clock.record import confirm_clock, save_reading
from vedette.state.db.author import Author, acting_as
from vedette.state.db.database import Database

OPERATOR = Author("command", "root")
ANN = Author("user", "ann", "192.0.2.7", "request-1")


def test_who_confirmed_a_jump_of_the_clock(database: Database) -> None:
    assert noted(database, lambda state: save_reading(state, Reading(NOW_US, 1, "boot"))) == []
    with acting_as(OPERATOR):
        (entry,) = noted(database, confirm_clock)
    assert (entry.action, entry.kind, entry.target) == ("run", "clock", "confirm")
    assert (entry.author_kind, entry.author) == ("command", "root")
    assert audit_trail.verify(database).fault == ""


def test_searches_that_are_kept_shared_and_deleted(database: Database) -> None:
    user_id = users.add(database, users.NewUser("ann"), NOW_US).id
    ids: list[int] = []

    def keep(state: Database) -> None:
        with state.writing() as connection:
            new = SavedSearch(
                user_id=user_id, name="odd", view="process", params="q=cmd.exe", shared=True
            )
            made = kept_views.add_search(connection, new)
            ids.append(made.id)

    def remove(state: Database, search_id: int) -> None:
        with state.writing() as connection:
            kept_views.remove_search(connection, search_id)

    with acting_as(ANN):
        (kept,) = noted(database, keep)
        with pytest.raises(NotFoundError):
            remove(database, ids[0] + 1)
        (removed,) = noted(database, lambda state: remove(state, ids[0]))
    reported = {"id": ids[0], "user_id": user_id, "name": "odd", "view": "process", "shared": True}
    assert (kept.action, kept.kind, kept.target) == ("create", "saved search", str(ids[0]))
    assert (kept.before, kept.after) == (None, reported)
    assert (removed.action, removed.before, removed.after) == ("delete", reported, None)
    assert {(one.author, one.address) for one in (kept, removed)} == {("ann", "192.0.2.7")}
