"""The decision about changes: who may do what to whose object."""

import pytest

from vedette.errors import ForbiddenError
from vedette.model.principal import Principal, Role
from vedette.model.rights.authorization import (
    EVERYWHERE,
    Deed,
    Managed,
    groups_where,
    may,
    needed,
    of_groups,
    owned_by,
    require,
)

ROOT = Principal("user", "root", "T", is_global_admin=True)
ANN = Principal("user", "ann", "T", roles=((1, Role.VIEWER), (3, Role.ANALYST)))
EVA = Principal(
    "user",
    "eva",
    "T",
    roles=((1, Role.ANALYST), (3, Role.ADMINISTRATOR)),
    role_everywhere=Role.ANALYST,
)
APP = Principal("app", "app", "A", grants=(("org.kits:execute", frozenset({3})),))
WIDE_APP = Principal("app", "wide", "A", grants=(("event-forwarder.settings:update", None),))
SENDER = Principal("ingest", "beats", "I", group_id=1)
READER = Principal("user", "root", "T", is_global_admin=True, is_read_only=True)


@pytest.mark.parametrize(
    ("managed", "allowed"),
    [
        (of_groups(3), [ROOT, ANN, EVA]),
        (of_groups(1), [ROOT, EVA]),
        (of_groups(1, 3), [ROOT, EVA]),
        (of_groups(1, 3, 9), [ROOT]),
        (of_groups(), [ROOT]),
        (EVERYWHERE, [ROOT, EVA]),
    ],
    ids=str,
)
def test_a_change_needs_the_role_in_every_affected_group(
    managed: Managed, allowed: list[Principal]
) -> None:
    everybody = [ROOT, ANN, EVA, APP, SENDER, READER]
    found = [one for one in everybody if may(one, Deed.CHANGE_WATCHLIST, managed)]
    assert found == allowed


def test_a_role_in_every_group_that_is_named_is_none_in_those_to_come() -> None:
    both = Principal("user", "bob", "T", roles=((1, Role.ANALYST), (3, Role.ANALYST)))
    assert may(both, Deed.BAN, of_groups(1, 3))
    assert not may(both, Deed.BAN, EVERYWHERE)


def test_what_belongs_to_the_server_is_for_global_administrators_whatever_their_roles() -> None:
    for deed in (one for one in Deed if one.is_global):
        for managed in (EVERYWHERE, of_groups(1), of_groups()):
            assert not may(EVA, deed, managed), deed
            assert may(ROOT, deed, managed), deed
            assert not may(READER, deed, managed), deed


def test_a_personal_object_is_for_its_owner_and_global_administrators() -> None:
    assert may(ANN, Deed.CHANGE_OWN_ACTION, owned_by("ann"))
    assert not may(EVA, Deed.CHANGE_OWN_ACTION, owned_by("ann"))
    assert not may(EVA, Deed.CHANGE_OWN_ACTION, owned_by(""))
    assert may(ROOT, Deed.CHANGE_OWN_ACTION, owned_by("ann"))


def test_an_app_may_what_its_permissions_say_where_they_hold() -> None:
    assert may(APP, Deed.UPDATE_SENSORS, of_groups(3))
    assert not may(APP, Deed.UPDATE_SENSORS, of_groups(1, 3))
    assert not may(APP, Deed.UPDATE_SENSORS, EVERYWHERE)
    assert not may(APP, Deed.ORDER_SENSOR, of_groups(3))
    assert may(WIDE_APP, Deed.UPDATE_FORWARDER, EVERYWHERE)
    assert not may(WIDE_APP, Deed.DELETE_FORWARDER, EVERYWHERE)
    assert not may(WIDE_APP, Deed.CHANGE_RULES, EVERYWHERE)


def test_groups_are_those_of_whose_objects_a_caller_may_do_it() -> None:
    assert groups_where(ROOT, Deed.TRIAGE) is None
    assert groups_where(ANN, Deed.TRIAGE) == {3}
    assert groups_where(ANN, Deed.CHANGE_RULES) == frozenset()
    assert groups_where(APP, Deed.UPDATE_SENSORS) == {3}
    assert groups_where(SENDER, Deed.TRIAGE) == groups_where(READER, Deed.TRIAGE) == frozenset()


def test_a_refusal_names_what_is_needed_and_no_group_that_the_caller_does_not_see() -> None:
    with pytest.raises(ForbiddenError, match="ann must be Analyst in sensor group 1 to"):
        require(ANN, Deed.ORDER_SENSOR, of_groups(1))
    with pytest.raises(ForbiddenError) as hidden:
        require(ANN, Deed.MOVE_SENSOR, of_groups(3, 77))
    assert "77" not in hidden.value.message
    assert needed(Deed.BAN, EVERYWHERE).startswith("Analyst in every sensor group, or a global")
    assert needed(Deed.CHANGE_FEEDS, EVERYWHERE) == "a global administrator"
