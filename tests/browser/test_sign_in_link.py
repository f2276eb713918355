"""The link that signs in once, as a newcomer follows it from a terminal."""

from tests.browser.conftest import SHARED, Visiting
from tests.support.commands import done
from tests.support.served import Server

pytestmark = SHARED


def link_for(server: Server, name: str) -> str:
    """Returns the link that the command prints."""
    return done("user", "link", name, "--data", server.data).strip()


def test_a_link_leads_to_the_alerts_when_its_button_is_pressed(
    visiting: Visiting, server: Server, user: str
) -> None:
    link = link_for(server, user)
    assert link.startswith(f"{server.url}/ui/sign-in?next=/ui/alerts#link=")
    for _ in range(2):  # opening the page is not following the link
        with visiting(cookie=None) as visit:
            visit.page.goto(link)
            visit.page.wait_for_selector("[data-by-link]:not([hidden])")
            assert not visit.page.is_visible("[name=password]")
            assert "#" not in visit.page.url
            assert visit.page.context.cookies() == []
    with visiting(cookie=None) as visit:
        visit.page.goto(link)
        visit.page.wait_for_selector("button.primary:focus")
        visit.page.keyboard.press("Enter")
        visit.page.wait_for_url("**/ui/alerts")
        visit.page.wait_for_selector("html[data-ready]")
        assert "link=" not in visit.page.evaluate("performance.getEntries().map(String).join()")


def test_a_used_link_says_so_and_asks_for_a_password(
    visiting: Visiting, server: Server, user: str
) -> None:
    link = link_for(server, user)
    with server.client() as client:
        body = {"link": link.partition("#link=")[2]}
        assert client.post("/api/v1/session", json=body).status_code == 200
    with visiting(cookie=None) as visit:
        visit.expected.append("401")
        visit.page.goto(link)
        visit.page.wait_for_selector("button.primary:focus")
        visit.page.keyboard.press("Enter")
        visit.page.wait_for_selector("[data-problem]:not([hidden])")
        assert "already used" in visit.page.inner_text("[data-problem]")
        assert visit.page.is_visible("[name=password]")
