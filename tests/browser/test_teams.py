"""Who may do what is changed where it is read: roles of a team, teams of a user."""

from typing import Any

from tests.browser.conftest import SHARED, Visiting
from tests.support.served import Server, hire

pytestmark = SHARED

NAME = "<b>night</b> shift"


def teams_of(server: Server) -> dict[str, Any]:
    with server.analyst() as client:
        return {one["name"]: one for one in client.get("/api/v1/teams").json()}


def roles_of(server: Server) -> dict[int, str]:
    access = teams_of(server)[NAME]["group_access"]
    return {one["group_id"]: one["access_category"] for one in access}


def test_a_team_is_made_changed_and_given_to_a_user(visiting: Visiting, server: Server) -> None:
    hire(server, "night-owl", {})
    with visiting() as visit:
        page = visit.open("/ui/access?tab=teams")
        page.keyboard.press("n")
        page.fill("#new input[name=name]", NAME)
        page.select_option("#new select[data-group='1']", "Viewer")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector(f"tr[aria-label='{NAME}']")
        assert roles_of(server) == {1: "Viewer"}

        page.click(f"tr[aria-label='{NAME}'] td >> nth=0")
        page.wait_for_selector("#flyout form")
        assert page.input_value("#flyout input[name=name]") == NAME
        assert page.input_value("#flyout select[data-group='1']") == "Viewer"
        page.select_option("#flyout select[data-group='1']", "Analyst")
        page.uncheck("#flyout input[name=enabled]")
        with page.expect_navigation():
            page.click("#flyout form .primary")
        assert roles_of(server) == {1: "Analyst"}
        assert not teams_of(server)[NAME]["enabled"]

        page = visit.open("/ui/access")
        page.click("tr[aria-label=night-owl] td >> nth=0")
        page.wait_for_selector("#flyout fieldset[name=teams]")
        page.check(f"#flyout label:has-text('{NAME}') input")
        page.uncheck("#flyout label:has-text('team of night-owl') input")
        with page.expect_navigation():
            page.click("#flyout form .primary")
    with server.analyst() as client:
        found = client.get("/api/v1/user/night-owl").json()
    assert [one["name"] for one in found["teams"]] == [NAME]


def test_what_opens_beside_them_names_members(visiting: Visiting, server: Server) -> None:
    hire(server, "day-lark", {})
    number = teams_of(server)["team of day-lark"]["id"]
    with visiting() as visit:
        page = visit.open(f"/ui/access?tab=teams&d=team:{number}")
        page.wait_for_selector("#flyout h3")
        assert page.inner_text("#flyout section >> nth=1").split("\n")[:3] == [
            "Members",
            "",
            "day-lark",
        ]
