"""Every route stands in the table of who may call it, which a test drives a server by."""

import pytest

from tests.fault.hostile.requests import BODY_PATHS, SEARCH_PATHS
from tests.support.access_table import FILE, Row, rows
from tests.support.route_access import ACCESS, ACCESSES
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router

RIGHTS = {
    "open": {Right.OPEN},
    "body": {Right.IN_BODY},
    "sensor": {Right.SENSOR},
    "send": {Right.SEND, Right.HANDSHAKE},
    "user": {Right.READ},
    "own": {Right.READ},
    "viewer": {Right.VIEW, Right.PERMISSION},
    "analyst": {Right.ACT, Right.PERMISSION},
    "every": {Right.ACT},
    "analyst/admin": {Right.ACT},
    "analyst/viewer": {Right.ACT},
    "admin": {Right.ADMINISTER_GROUP, Right.PERMISSION},
    "global": {Right.ADMINISTER, Right.PERMISSION},
}


def key(row: Row) -> tuple[str, str]:
    return row.method, row.path


def test_every_route_has_a_row_and_every_row_a_route() -> None:
    known = {key(row) for row in rows()}
    assert set(ACCESS) - known == set(), f"add a row for each to {FILE}"
    assert known - set(ACCESS) == set(), f"of routes that are gone: remove them from {FILE}"


def test_a_change_of_the_whole_server_cannot_be_declared_without_its_deed() -> None:
    with pytest.raises(ValueError, match="names its deed"):
        Router().add("POST", "/anything", lambda: {}, right=Right.ADMINISTER)


def test_the_rows_say_what_the_server_goes_by() -> None:
    wrong = [row for row in rows() if ACCESS[key(row)] not in RIGHTS[row.right]]
    assert wrong == []


def test_read_only_tokens_may_call_what_the_rows_say() -> None:
    of_people = [row for row in rows() if row.right not in ("open", "body", "send", "sensor")]
    wrong = [row for row in of_people if ACCESSES[key(row)].reads_only is not row.may_be_read]
    assert wrong == []


def test_hostile_bodies_and_queries_go_to_routes_that_exist() -> None:
    attacked = {("POST", path.partition("?")[0]) for path in (*BODY_PATHS, *SEARCH_PATHS)}
    assert attacked - set(ACCESS) == set()
