"""Changes of users to their own account in the console."""

import json
from typing import Any

import pyotp

from tests.browser.conftest import PASSWORD, SHARED, Visiting
from tests.support.served import Server, hire, state_of
from vedette.clock import SystemClock
from vedette.model.principal import Role
from vedette.state.accounts import cloud_apps, kept_views, users
from vedette.state.accounts.cloud_apps import AppChange
from vedette.state.sensors.enrolment import issue_secret

pytestmark = SHARED

NEW_PASSWORD = "another long password"


def at_own_preferences(visit: Any, server: Server, name: str) -> Any:
    """The page of preferences of a new viewer, who signed in with `PASSWORD`."""
    hire(server, name, {1: Role.VIEWER})
    with state_of(server) as database:
        users.change(database, name, users.UserChanges(password=PASSWORD))
    page = visit.page
    page.goto(visit.url + "/ui/sign-in?next=/ui/me")
    page.fill("[name=username]", name)
    page.fill("[name=password]", PASSWORD)
    page.click("button.primary")
    page.wait_for_url("**/ui/me")
    page.wait_for_selector("html[data-ready]")
    return page


def test_a_user_changes_the_password_on_the_page_of_preferences(
    visiting: Visiting, server: Server
) -> None:
    name = "own-password"
    with visiting(cookie=None) as visit:
        page = at_own_preferences(visit, server, name)
        form = page.locator("form[data-call$='/me/password']")
        visit.expected.append("400")
        form.locator("[name=password]").fill("wrong")
        form.locator("[name=new_password]").fill(NEW_PASSWORD)
        form.locator("button").click()
        page.wait_for_selector("text=password: is incorrect")
        form.locator("[name=password]").fill(PASSWORD)
        form.locator("button").click()
        page.wait_for_selector("text=Password changed. Your other sessions were signed out.")
        assert page.url.endswith("/ui/me")
    body = {"username": name, "password": NEW_PASSWORD}
    with server.client() as client:
        assert client.post("/api/v1/session", json=body).status_code == 200


def test_a_user_begins_with_the_page_that_they_prefer_and_may_open(
    visiting: Visiting, server: Server
) -> None:
    name = "starts-elsewhere"
    hire(server, name, {1: Role.VIEWER})
    with state_of(server) as database:
        users.change(database, name, users.UserChanges(password=PASSWORD))
    with visiting(cookie=None) as visit:
        page = visit.page

        def sign_in() -> None:
            page.goto(visit.url + "/ui/sign-in")
            page.fill("[name=username]", name)
            page.fill("[name=password]", PASSWORD)
            page.click("button.primary")
            page.wait_for_selector("html[data-ready]")

        sign_in()
        assert page.url == f"{visit.url}/ui/"
        page.goto(visit.url + "/ui/me")
        page.wait_for_selector("html[data-ready]")
        offered = page.locator("[data-prefer=start] option").evaluate_all(
            "all => all.map(one => one.value)"
        )
        assert "/ui/sensors" in offered
        assert "/ui/audit" not in offered
        with page.expect_response("**/api/v1/me/preferences"):
            page.select_option("[data-prefer=start]", "/ui/sensors")
        page.context.clear_cookies()
        sign_in()
        assert page.url == f"{visit.url}/ui/sensors"
        for other in ("/ui/audit", "https://other.example/", "/ui/alerts?q=x", 7, None):
            with state_of(server) as database:
                user_id = users.id_of(database, name)
                with database.writing() as connection:
                    kept_views.set_preferences(connection, user_id, json.dumps({"start": other}), 1)
            page.goto(visit.url + "/ui")
            assert page.url == f"{visit.url}/ui/"


def test_users_show_when_and_with_what_they_sign_in(visiting: Visiting, server: Server) -> None:
    for name in ("never-signs-in", "signs-in"):
        hire(server, name, {1: Role.VIEWER})
    with state_of(server) as database:
        users.change(database, "signs-in", users.UserChanges(password=PASSWORD))
    body = {"username": "signs-in", "password": PASSWORD}
    with server.client() as client:
        token = client.post("/api/v1/session", json=body).json()["csrf_token"]
        headers = {"X-CSRF-Token": token}
        uri = client.post(
            "/api/v1/secondfactor", json={"password": PASSWORD}, headers=headers
        ).json()["uri"]
        code = pyotp.parse_uri(uri)
        assert isinstance(code, pyotp.TOTP)
        answer = client.put("/api/v1/secondfactor", json={"code": code.now()}, headers=headers)
        assert answer.is_success
    with visiting() as visit:
        page = visit.open("/ui/access")
        never = page.inner_text("tr[aria-label=never-signs-in]")
        assert "not recently" in never
        assert "two-factor" not in never
        of_user = page.locator("tr[aria-label=signs-in]")
        assert "two-factor" in of_user.inner_text()
        assert of_user.locator("td[data-label='Last sign-in'] time").count() == 1


def test_a_user_sets_a_second_factor_up_and_removes_it(visiting: Visiting, server: Server) -> None:
    name = "own-factor"
    with visiting(cookie=None) as visit:
        page = at_own_preferences(visit, server, name)
        page.click("[data-dialog=factor]")
        page.fill("#factor [name=password]", PASSWORD)
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#secret[open]")
        secret = page.input_value("#secret input[readonly]")
        dark = page.evaluate(
            "(() => { const of = document.querySelector('#secret canvas');"
            "return of.getContext('2d').getImageData(0, 0, of.width, of.width).data"
            ".filter((one, at) => at % 4 === 0 && !one).length / of.width ** 2; })()"
        )
        assert 0.2 < dark < 0.6
        page.fill("#secret [name=code]", pyotp.TOTP(secret).now())
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("text=You sign in with your password and a code")
        page.click("[data-dialog=no-factor]")
        page.fill("#no-factor [name=password]", PASSWORD)
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("text=You sign in with your password only")


def test_apps_of_the_cloud_side_have_a_tab(visiting: Visiting, server: Server) -> None:
    with state_of(server) as database:
        new = AppChange(name="<b>an app</b>", description="reads alerts")
        cloud_apps.add(database, "oauth", new, SystemClock().now_us())
    with visiting() as visit:
        text = visit.open("/ui/access?tab=apps").inner_text("main table")
        assert "<b>an app</b>" in text
        assert "reads alerts" in text


def test_a_group_says_how_old_its_enrolment_secret_is(visiting: Visiting, server: Server) -> None:
    with state_of(server) as database:
        secret = issue_secret(database, 1)
    viewer = hire(server, "viewer-of-the-group", {1: Role.VIEWER})
    with visiting() as visit:
        page = visit.open("/ui/groups/1")
        assert f"Enrollment secret {secret.id} created" in page.inner_text("main")
        assert secret.secret not in page.content()
    with server.client(**{"X-Auth-Token": viewer}) as client:
        assert "Enrollment secret" not in client.get("/ui/groups/1").text
