"""What users change of their own account in the console."""

from tests.browser.conftest import PASSWORD, SHARED, Visiting
from tests.support.served import Server, hire, state_of
from vedette.model.principal import Role
from vedette.state.accounts import users

pytestmark = SHARED

NEW_PASSWORD = "another long password"


def test_a_user_changes_the_password_on_the_page_of_preferences(
    visiting: Visiting, server: Server
) -> None:
    name = "own-password"
    hire(server, name, {1: Role.VIEWER})
    with state_of(server) as database:
        users.change(database, name, users.Changes(password=PASSWORD))
    with visiting(cookie=None) as visit:
        page = visit.page
        page.goto(visit.url + "/ui/sign-in?next=/ui/me")
        page.fill("[name=username]", name)
        page.fill("[name=password]", PASSWORD)
        page.click("button.primary")
        page.wait_for_url("**/ui/me")
        page.wait_for_selector("html[data-ready]")
        form = page.locator("form[data-call$='/me/password']")
        visit.expected.append("400")
        form.locator("[name=password]").fill("wrong")
        form.locator("[name=new_password]").fill(NEW_PASSWORD)
        form.locator("button").click()
        page.wait_for_selector("text=password: is wrong")
        form.locator("[name=password]").fill(PASSWORD)
        form.locator("button").click()
        page.wait_for_selector("text=Changed: your other sessions have ended")
        assert page.url.endswith("/ui/me")
    body = {"username": name, "password": NEW_PASSWORD}
    with server.client() as client:
        assert client.post("/api/v1/session", json=body).status_code == 200
