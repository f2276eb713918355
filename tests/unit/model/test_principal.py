"""Principals and their roles."""

from vedette.model.principal import Principal, Role

ANALYST = Principal("user", "a", "T", roles=((1, Role.VIEWER), (3, Role.ANALYST)))


def test_a_role_counts_in_its_group_only() -> None:
    assert [ANALYST.role_in(group) for group in (1, 2, 3)] == [
        Role.VIEWER,
        Role.NONE,
        Role.ANALYST,
    ]
    assert ANALYST.highest_role is Role.ANALYST
    assert ANALYST.visible_groups == frozenset({1, 3})


def test_a_global_administrator_has_every_role_everywhere() -> None:
    administrator = Principal("user", "a", "T", is_global_admin=True)
    assert administrator.role_in(99) is administrator.highest_role is Role.ADMINISTRATOR
    assert administrator.visible_groups is None


def test_without_a_team_nothing_may_be_seen() -> None:
    nobody = Principal("user", "a", "T", roles=((1, Role.NONE),))
    assert (nobody.highest_role, nobody.visible_groups) == (Role.NONE, frozenset())
