"""Templates of paths stay below the folder that they are for."""

import pytest

from vedette.errors import BadRequestError
from vedette.forwarder.path_template import checked_template, folder_of

AT_US = 1_772_600_706_000_000  # 2026-03-04T05:05:06Z


@pytest.mark.parametrize(
    ("template", "folder"),
    [
        ("{org}/{type}/{date}/{hour}", "ORG/alert/2026-03-04/05"),
        ("/x/year={year}/month={month}/day={day}/", "x/year=2026/month=03/day=04"),
        ("a.b/{forwarder}", "a.b/my_siem___"),
        ("", ""),
        ("...{hour}", "...05"),
    ],
)
def test_templates_are_filled(template: str, folder: str) -> None:
    checked = checked_template(template)
    assert folder_of(checked, "ORG", "alert", "my siem/..", AT_US) == folder


@pytest.mark.parametrize(
    "template",
    [
        "..",
        "a/../b",
        "a//b",
        "./x",
        "{orga}",
        "{}",
        "a b",
        "a\\b",
        "{org",
        "%2e%2e",
        "ä",
        "x" * 401,
        "a/\x00",
        "${x}",
        "{org}{{type}}",
        "a/.",
        "~/x",
        "a\n",
    ],
)
def test_what_is_no_plain_path_is_refused(template: str) -> None:
    with pytest.raises(BadRequestError, match=r"^path: "):
        checked_template(template)


@pytest.mark.parametrize("name", ["..", ".", "", "/", "a/b", "ä"])
def test_names_cannot_leave_the_folder(name: str) -> None:
    assert set(folder_of("{org}/{forwarder}", name, "alert", name, AT_US)) <= set("_/ab")
