"""The audit log, on both databases."""

import threading

import pytest
from sqlalchemy import delete, insert, select, update

from vedette.errors import ConflictError
from vedette.model.principal import Role
from vedette.state.accounts import audit_trail, teams, tokens, users
from vedette.state.accounts.audit_trail import AuditEntry, Head, Search
from vedette.state.db.audit_log import Entry
from vedette.state.db.author import Author, acting_as
from vedette.state.db.database import Database
from vedette.state.db.schema import SENSOR, TOKEN, USER
from vedette.state.db.schema_audit import AUDIT, AUDIT_HEAD
from vedette.state.db.schema_console import SAVED_SEARCH
from vedette.state.policy import bans, groups

NOW_US = 1_700_000_000_000_000
ANN = Author("user", "ann", "192.0.2.7", "request-1")


def entries(database: Database, **wanted: str) -> list[AuditEntry]:
    """The entries, the oldest first."""
    return audit_trail.search(database, Search(rows=1_000, **wanted))[1][::-1]


def test_a_change_is_told_with_who_from_where_and_both_values(database: Database) -> None:
    with acting_as(ANN):
        users.add(database, users.NewUser("bob", email="b@example.org"), NOW_US)
        users.change(database, "bob", users.UserChanges(email="bob@example.org"))
        users.remove(database, "bob")
    added, changed, removed = entries(database, kind="user", target="bob")
    assert (added.action, changed.action, removed.action) == ("create", "change", "delete")
    assert added.before is None
    assert added.after["email"] == "b@example.org"
    assert changed.before == {"email": "b@example.org"}
    assert changed.after == {"email": "bob@example.org"}
    assert removed.before["email"] == "bob@example.org"
    assert removed.after is None
    reported = {
        (one.author_kind, one.author, one.address, one.request_id) for one in (added, changed)
    }
    assert reported == {("user", "ann", "192.0.2.7", "request-1")}


def test_secrets_are_never_in_it(database: Database) -> None:
    user = users.add(database, users.NewUser("bob", password="marked-secret-1"), NOW_US)
    users.change(database, "bob", users.UserChanges(password="marked-secret-2"))
    issued = tokens.issue(database, tokens.NewToken("api", user_id=user.id), NOW_US)
    with database.reading() as connection:
        kept = connection.scalar(select(USER.c.password_hash).where(USER.c.username == "bob"))
        rows = "\n".join(str(row) for row in connection.execute(select(AUDIT)))
    for secret in ("marked-secret-1", "marked-secret-2", issued.secret, str(kept)):
        assert secret not in rows
    change = entries(database, action="change", target="bob")[-1]
    assert (change.before, change.after) == (
        {"password_hash": "(set)"},
        {"password_hash": "(changed)"},
    )


def test_what_fails_is_not_in_it(database: Database) -> None:
    users.add(database, users.NewUser("bob"), NOW_US)
    before = audit_trail.head(database)
    with pytest.raises(ConflictError):
        users.add(database, users.NewUser("bob"), NOW_US)
    bans.add(database, "1" * 32, "why", bans.BanAuthor(1, "ann"), NOW_US)
    assert audit_trail.head(database).number == before.number + 1
    assert audit_trail.verify(database).fault == ""


def test_a_change_of_nothing_is_no_entry(database: Database) -> None:
    users.add(database, users.NewUser("bob"), NOW_US)
    before = audit_trail.head(database)
    users.change(database, "bob", users.UserChanges(first_name=""))
    assert audit_trail.head(database) == before


def test_counters_and_check_ins_are_not_in_it(database: Database) -> None:
    user = users.add(database, users.NewUser("bob"), NOW_US)
    tokens.issue(database, tokens.NewToken("api", user_id=user.id), NOW_US)
    with database.writing() as connection:
        row = {"hostname": "h", "computer_name": "h", "group_id": 1, "is_isolating": False}
        row |= {"network_isolation_enabled": False, "restart_queued": False, "uninstall": False}
        connection.execute(insert(SENSOR).values(row))
    before = audit_trail.head(database)
    with database.writing() as connection:
        connection.execute(update(TOKEN).values(last_used_us=NOW_US))
        connection.execute(update(SENSOR).values(checkin_us=NOW_US))
    assert audit_trail.head(database) == before
    with database.writing() as connection:
        connection.execute(update(SENSOR).values(network_isolation_enabled=True))
    assert entries(database, kind="sensor")[-1].after == {"network_isolation_enabled": True}


def test_roles_of_teams_are_in_it(database: Database) -> None:
    group = groups.add(database, "servers")
    team = teams.add(database, "night shift", {group.id: Role.VIEWER})
    teams.change(database, team.id, access={group.id: Role.ADMINISTRATOR})
    roles = [one.after["role"] for one in entries(database, kind="team access") if one.after]
    assert roles == [int(Role.VIEWER), int(Role.ADMINISTRATOR)]


@pytest.mark.parametrize("number", [1, 3, 5])
def test_a_rewritten_entry_is_found(database: Database, number: int) -> None:
    for name in "abcde":
        users.add(database, users.NewUser(f"user-{name}"), NOW_US)
    assert audit_trail.verify(database).fault == ""
    with database.writing() as connection:
        connection.execute(update(AUDIT).where(AUDIT.c.number == number).values(author="nobody"))
    verdict = audit_trail.verify(database)
    assert (verdict.entries, "changed" in verdict.fault) == (number - 1, True)


@pytest.mark.parametrize("number", [1, 3, 5])
def test_a_removed_entry_is_found(database: Database, number: int) -> None:
    for name in "abcde":
        users.add(database, users.NewUser(f"user-{name}"), NOW_US)
    last = audit_trail.head(database).number
    gone = number if number < 5 else last
    with database.writing() as connection:
        connection.execute(delete(AUDIT).where(AUDIT.c.number == gone))
    assert "missing" in audit_trail.verify(database).fault


@pytest.mark.parametrize("number", [-5, 0, 1_000])
def test_an_entry_that_somebody_put_there_is_found(database: Database, number: int) -> None:
    """Also before the first and after the last, where the chain does not lead."""
    users.add(database, users.NewUser("bob"), NOW_US)
    with database.writing() as connection:
        row = dict(connection.execute(select(AUDIT).where(AUDIT.c.number == 1)).mappings().one())
        connection.execute(insert(AUDIT).values(row | {"number": number, "author": "eve"}))
    assert f"entry {number} was put" in audit_trail.verify(database).fault


def test_a_removed_head_is_found(database: Database) -> None:
    users.add(database, users.NewUser("bob"), NOW_US)
    with database.writing() as connection:
        connection.execute(delete(AUDIT_HEAD))
    assert audit_trail.verify(database).fault == "the head is missing"


def test_a_whole_chain_made_anew_is_found_by_a_head_kept_elsewhere(database: Database) -> None:
    users.add(database, users.NewUser("bob"), NOW_US)
    head = audit_trail.head(database)
    users.add(database, users.NewUser("eve"), NOW_US)
    assert audit_trail.verify(database, head).fault == ""
    assert audit_trail.verify(database, Head(head.number, "0" * 64)).fault
    assert audit_trail.verify(database, Head(head.number + 50, head.hash)).fault


def test_changes_at_once_make_one_chain(database: Database) -> None:
    def add(name: str) -> None:
        for number in range(10):
            users.add(database, users.NewUser(f"{name}-{number}"), NOW_US)

    before = audit_trail.head(database).number
    threads = [threading.Thread(target=add, args=(name,)) for name in ("a", "b", "c", "d")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    verdict = audit_trail.verify(database)
    assert (verdict.fault, verdict.entries) == ("", before + 40)


def test_a_download_can_be_noted(database: Database) -> None:
    with acting_as(ANN):
        audit_trail.record(database, Entry("read", "binary", "ab" * 16))
    entry = entries(database, action="read")[-1]
    assert (entry.author, entry.kind, entry.target) == ("ann", "binary", "ab" * 16)


def test_pages_hold_every_entry_once(database: Database) -> None:
    for number in range(25):
        users.add(database, users.NewUser(f"user-{number}"), NOW_US)
    last = audit_trail.head(database).number
    found = [one.number for page in audit_trail.pages(database, Search(), last) for one in page]
    assert found == list(range(last, 0, -1))


def test_a_row_is_named_by_the_key_that_the_database_gave_it(database: Database) -> None:
    user = users.add(database, users.NewUser("bob"), NOW_US)
    row = {"user_id": user.id, "name": "odd", "view": "process", "shared": False, "changed_us": 1}
    query = insert(SAVED_SEARCH).values(row | {"params": ""})
    with database.writing() as connection:
        first = connection.execute(query).inserted_primary_key
        second = connection.execute(query.returning(SAVED_SEARCH.c.id)).scalar_one()
        third = connection.execute(query.values(id=77).returning(SAVED_SEARCH.c.name)).scalar_one()
    assert first is not None
    assert third == "odd"
    found = entries(database, kind="saved search", action="create")
    assert [one.target for one in found] == [str(first.id), str(second), "77"]
    assert [one.after["id"] for one in found] == [first.id, second, 77]
    (made,) = entries(database, kind="user", target="bob")
    assert made.after["id"] == user.id
