"""Every option of a sensor group stands in its form, once, with what it means."""

from dataclasses import fields

from vedette.record.objects.sensor_group import EventExclusion, GroupOptions, IsolationExclusion
from vedette.web.fleet.groups_json import UNUSED
from vedette.web.page.group_options import SECTIONS, shown_options

WITHOUT_EFFECT = "For API compatibility only, no effect"


def test_every_option_stands_once() -> None:
    named = [one.name for known in SECTIONS.values() for one in known]
    assert sorted(named) == sorted(one.name for one in fields(GroupOptions))


def test_what_has_no_effect_is_said_to_have_none() -> None:
    assert {one.name for one in SECTIONS[WITHOUT_EFFECT]} == UNUSED
    for section, known in SECTIONS.items():
        assert all(bool(one.meaning) == (section != WITHOUT_EFFECT) for one in known)


def test_lists_are_written_line_by_line() -> None:
    options = GroupOptions(
        isolation_exclusions=(
            IsolationExclusion("10.0.0.5:443", "proxy"),
            IsolationExclusion("10.0.0.6", "", enabled=False),
        ),
        event_exclusions=(EventExclusion(("netconn", "regmod"), ("c:\\a b.exe", "*\\c.exe")),),
    )
    shown = {one.option.name: one for known in shown_options(options).values() for one in known}
    assert shown["isolation_exclusions"].value == "10.0.0.5:443 proxy\n# 10.0.0.6"
    assert shown["event_exclusions"].value == (
        "netconn,regmod c:\\a b.exe\nnetconn,regmod *\\c.exe"
    )
    assert not shown["event_exclusions"].is_usual
    assert shown["vdi_enabled"].is_usual
