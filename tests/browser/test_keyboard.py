"""Use with the keyboard: the focus is visible, letters act only where allowed, and a form survives
the end of its session."""

from typing import Any

import pytest

from tests.browser.conftest import PASSWORD, SHARED, Visiting, until
from tests.browser.hands import Hands
from tests.support.served import Server, wait_for

pytestmark = SHARED


def test_a_focus_that_nothing_shows_would_be_found(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/bans")
        visit.settle()
        hands = Hands(page, "keyboard")
        page.keyboard.press("Tab")
        page.focus("[data-action=help]")
        hands.sees_focus()
        page.evaluate("document.activeElement.style.outline = 'none'")
        with pytest.raises(AssertionError, match="nothing shows the focus"):
            hands.sees_focus()
        page.evaluate("document.activeElement.blur()")
        with pytest.raises(AssertionError, match="the focus is lost"):
            hands.sees_focus()


LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789./?,;-+[]"


def test_without_single_keys_no_letter_acts_and_chords_and_arrows_do(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/alerts?q=")
        page.keyboard.press("?")
        page.uncheck("#single-keys")
        page.keyboard.press("Escape")
        for path in ("/ui/alerts?q=", "/ui/process?t=all", "/ui/sensors", "/ui/"):
            page = visit.open(path)
            visit.settle()
            page.evaluate("document.activeElement.blur()")
            shown, url = visit.text(), page.url
            for key in LETTERS:
                page.keyboard.press(key)
            assert (visit.text(), page.url) == (shown, url)
            assert not page.evaluate("document.querySelector('dialog[open], #menu:not([hidden])')")
            page.keyboard.press("Control+k")
            page.wait_for_selector("#omnibox[open]")
            page.keyboard.press("Escape")
        page = visit.open("/ui/process?t=all")
        visit.settle()
        page.focus("tr[data-row]")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.wait_for_selector("#flyout .facts")
        page.click("[data-action=help]")
        page.check("#single-keys")
        visit.settle()


def test_a_session_that_ends_in_the_middle_of_a_form_loses_nothing(
    visiting: Visiting, server: Server, user: str
) -> None:
    with visiting(cookie=None) as visit:
        visit.expected.append("401")
        page = visit.page
        page.goto(visit.url + "/ui/sign-in?next=/ui/bans")
        page.fill("[name=username]", user)
        page.fill("[name=password]", PASSWORD)
        page.click("button.primary")
        page.wait_for_selector("html[data-ready] [data-dialog]")
        page.keyboard.press("n")
        page.wait_for_selector("dialog[open] textarea")
        page.fill("#ban textarea", "cd" * 16)
        page.fill("#ban [name=text]", "a long thought")
        page.wait_for_selector("#ban [data-save]:enabled")  # what follows was read
        cookie = page.context.cookies()[0]
        with server.client(Cookie=f"{cookie['name']}={cookie['value']}") as client:
            token = client.get("/api/v1/session").json()["csrf_token"]
            assert client.delete("/api/v1/session", headers={"X-CSRF-Token": token}).is_success
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#session[open]")
        page.fill("#session [name=password]", PASSWORD)
        page.keyboard.press("Enter")
        page.wait_for_selector("#session:not([open])", state="attached")
        page.wait_for_selector(f"tr[data-row]:has-text('{'cd' * 16}')")
    with server.analyst() as client:
        bans = client.get("/api/v1/banning/blacklist").json()
    assert "cd" * 16 in {one["md5hash"] for one in bans}


def test_of_two_changes_of_a_preference_the_later_one_stays(
    visiting: Visiting, server: Server, session: dict[str, Any]
) -> None:
    held: list[Any] = []
    with visiting() as visit:
        page = visit.open("/ui/bans")
        visit.settle()

        def hold_first(route: Any) -> None:
            if route.request.method == "PUT" and not held:
                held.append(route)
            else:
                route.continue_()

        page.route("**/me/preferences", hold_first)
        page.keyboard.press("z")
        page.keyboard.press("z")
        page.wait_for_timeout(300)  # the second is with the server, if it does not wait
        held[0].continue_()
        visit.settle()
    with server.client(Cookie=f"{session['name']}={session['value']}") as client:
        assert client.get("/api/v1/me/preferences").json()["zone"] == "host"


def test_a_choice_is_kept_that_is_made_before_the_kept_ones_are_read(
    visiting: Visiting, server: Server, session: dict[str, Any]
) -> None:
    held: list[Any] = []

    def hold_answer(route: Any) -> None:
        if route.request.method == "GET":
            held.append(route)
        else:
            route.continue_()

    with server.client(Cookie=f"{session['name']}={session['value']}") as client:
        kept = client.get("/api/v1/me/preferences").json()
    with visiting(timezone_id="America/St_Johns") as visit:
        visit.page.route("**/me/preferences", hold_answer)
        page = visit.open("/ui/bans")
        page.keyboard.press("z")
        until(page, "document.documentElement.dataset.zone === 'local'")
        held[0].fulfill(json=kept)
        visit.settle()
        assert page.inner_text("[data-zone-label]") == "America/St_Johns"
        page.keyboard.press("z")
        page.keyboard.press("z")  # UTC again
        visit.settle()


def test_a_preference_is_kept_where_the_page_is_left_at_once(
    visiting: Visiting, server: Server, session: dict[str, Any]
) -> None:
    with (
        visiting() as visit,
        server.client(Cookie=f"{session['name']}={session['value']}") as client,
    ):

        def zone() -> str:
            return str(client.get("/api/v1/me/preferences").json()["zone"])

        page = visit.open("/ui/bans")
        for path in ("/ui/sensors", "/ui/filters", "/ui/bans"):
            visit.settle()
            page.keyboard.press("z")  # the second waits for the first
            page.keyboard.press("z")
            page.keyboard.press("z")
            page.goto(server.url + path)
            kept = page.evaluate("JSON.parse(localStorage.getItem('vedette.preferences')).zone")
            assert wait_for(zone, kept) == kept
        visit.settle()
        if zone() == "local":
            page.keyboard.press("z")
            assert wait_for(zone, "utc") == "utc"
