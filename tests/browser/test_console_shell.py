"""The shell of the pages in a real browser: policy, sign-in, keys, focus, session."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import PASSWORD, SHARED, Visiting
from tests.support.served import Server, wait_for

pytestmark = SHARED

CORPUS = json.loads((Path(__file__).parents[1] / "corpus" / "untrusted.json").read_text())


def test_a_user_signs_in_and_gets_to_the_page_that_was_wanted(
    visiting: Visiting, user: str
) -> None:
    with visiting(cookie=None) as visit:
        page = visit.page
        page.goto(visit.url + "/ui/?t=-24h")
        assert "/ui/sign-in?next=" in page.url
        visit.expected.append("401")
        page.fill("[name=username]", user)
        page.fill("[name=password]", "wrong")
        page.wait_for_selector("button.primary:enabled")
        page.keyboard.press("Enter")
        page.wait_for_selector("[data-problem]:not([hidden])")
        page.fill("[name=password]", PASSWORD)
        page.keyboard.press("Enter")
        page.wait_for_url("**/ui/?t=-24h")
        page.wait_for_selector("html[data-ready]")
        cookie = page.context.cookies()[0]
        assert cookie["name"].startswith("__Host-")
        assert (cookie["httpOnly"], cookie["secure"], cookie["sameSite"]) == (True, True, "Strict")


def test_an_inline_handler_and_an_inline_script_are_refused_and_heard(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/")
        visit.expected.append("policy:")
        visit.expected.append("Content Security Policy")
        visit.expected.append("requires 'Trusted")
        page.evaluate(
            """() => {
              const attempts = [
                () => document.body.setAttribute("onclick", "window.hit = 1"),
                () => document.body.insertAdjacentHTML("beforeend", "<b>x</b>"),
                () => (document.createElement("script").src = "/ui/static/x/app.js"),
              ];
              for (const attempt of attempts) try { attempt(); } catch {}
              const link = document.createElement("a");
              link.href = "javascript:window.hit = 1";
              document.body.append(link);
              link.click();
              document.body.click();
            }"""
        )
        visit.hear("policy: script-src")
        visit.hear("require-trusted-types-for")
        page.wait_for_timeout(200)
        assert page.evaluate("window.hit") is None


def test_what_the_policy_refuses_is_reported(visiting: Visiting, server: Server) -> None:
    with visiting() as visit:
        page = visit.open("/ui/process?q=secret-of-a-query")
        visit.expected += ["img-src", "refused-image"]
        page.evaluate(
            """() => {
              const image = document.createElement("img");
              image.src = "https://other.example/refused-image.png";
              document.body.append(image);
            }"""
        )
        log = server.data / "server.log"
        assert wait_for(lambda: "other.example" in log.read_text(), True, 60)
    (line,) = [one for one in log.read_text().splitlines() if "other.example" in one]
    found = json.loads(line)
    assert (found["directive"], found["page"]) == ("img-src", f"{visit.url[8:]}/ui/process")
    assert "other.example" in found["blocked"]
    assert "secret-of-a-query" not in line


def test_an_element_without_the_nonce_asks_for_nothing(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/")
        visit.expected.append("hx-csp")
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.evaluate(
            """() => {
              for (const nonce of [null, "stolen"]) {
                const link = document.createElement("a");
                link.setAttribute("hx-get", "/ui/_/home/sensors?injected");
                link.setAttribute("hx-trigger", "load, click");
                if (nonce) link.setAttribute("hx-nonce", nonce);
                link.className = "injected";
                document.querySelector("main").append(link);
              }
              htmx.process(document.querySelector("main"));
              document.querySelectorAll(".injected").forEach((one) => one.click());
            }"""
        )
        page.wait_for_timeout(400)
        assert not [url for url in asked if "injected" in url]


@pytest.fixture(scope="module")
def page(visiting: Visiting) -> Iterator[Any]:
    """One for all cases."""
    with visiting() as visit:
        yield visit.open("/ui/me")


@pytest.mark.parametrize("case", CORPUS, ids=lambda case: repr(case["text"]))
def test_a_browser_shows_hidden_characters_as_the_server_does(
    page: Any, case: dict[str, Any]
) -> None:
    shown = page.evaluate(
        """async (text) => {
          const module = await import(new URL("untrusted.js",
            document.querySelector("script[type=module]").src));
          const run = module.untrusted(text);
          return [module.parts(text), module.mixesScripts(text), run.tagName,
                  [...run.querySelectorAll("*")].map((one) => one.className)];
        }""",
        case["text"],
    )
    assert shown[:3] == [case["parts"], case["mixed"], "BDI"]
    boxes = ["box"] * sum(boxed for boxed, _ in case["parts"])
    assert shown[3] == boxes + ["badge warn"] * case["mixed"]


def test_no_part_is_put_into_a_page_before_what_checks_it(visiting: Visiting) -> None:
    """A slow network must not let htmx begin without its extension: parts would be refused."""
    with visiting() as visit:

        def slow(route: Any) -> None:
            time.sleep(1.5)
            route.continue_()

        visit.page.route("**/vendor/hx-csp.min.js", slow)
        page = visit.open("/ui/")
        page.wait_for_selector(".tile-sensors h2 a")


def test_help_lists_keys_and_focus_goes_back_to_where_it_was(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/")
        page.focus("[data-action=zone]")
        page.keyboard.press("?")
        assert page.evaluate("document.activeElement.id") == "help-search"
        page.keyboard.type("home")
        assert "g h" in page.inner_text("#help-list")
        page.keyboard.press("Escape")
        assert page.evaluate("document.activeElement.dataset.action") == "zone"


def test_menus_take_the_focus_and_give_it_back(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/")
        for action in ("copy-menu", "user-menu"):
            page.focus(f"[data-action={action}]")
            page.keyboard.press("Enter")
            assert page.evaluate("document.activeElement.getAttribute('role')") == "menuitem"
            page.keyboard.press("Escape")
            assert page.evaluate("document.activeElement.dataset.action") == action


def test_single_keys_can_be_turned_off_and_others_go_on(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/")
        page.keyboard.press("?")
        page.uncheck("#single-keys")
        page.keyboard.press("Escape")
        page.keyboard.press("?")
        page.keyboard.press("z")
        assert not page.evaluate("document.querySelector('dialog[open]')")
        assert page.inner_text("[data-zone-label]") == "UTC"
        page.focus("[data-action=help]")
        page.keyboard.press("Enter")
        assert page.evaluate("document.getElementById('help').open")
        page.check("#single-keys")
        page.keyboard.press("Escape")
        page.keyboard.press("z")
        page.keyboard.press("?")
        assert page.evaluate("document.getElementById('help').open")


def test_a_session_that_ends_asks_over_the_page_and_goes_on(
    visiting: Visiting, server: Server, user: str
) -> None:
    with visiting(cookie=None) as visit:
        visit.expected.append("401")
        page = visit.page
        page.goto(visit.url + "/ui/sign-in")
        page.fill("[name=username]", user)
        page.fill("[name=password]", PASSWORD)
        page.click("button.primary")
        page.wait_for_url("**/ui/")
        page.wait_for_selector("html[data-ready]")
        visit.settle()
        cookie = page.context.cookies()[0]
        with server.client(Cookie=f"{cookie['name']}={cookie['value']}") as client:
            token = client.get("/api/v1/session").json()["csrf_token"]
            assert client.delete("/api/v1/session", headers={"X-CSRF-Token": token}).is_success
        page.evaluate(
            """async () => {
              const { get } = await import(new URL("api.js",
                document.querySelector("script[type=module]").src));
              window.answer = get("/api/info").then((found) => found.version);
            }"""
        )
        page.wait_for_selector("#session[open]")
        page.fill("#session [name=password]", PASSWORD)
        page.keyboard.press("Enter")
        page.wait_for_selector("#session:not([open])", state="attached")
        assert page.evaluate("window.answer")


def test_signing_out_leaves_nothing_behind_the_back_button(visiting: Visiting, user: str) -> None:
    with visiting(cookie=None) as visit:
        visit.expected.append("401")  # a page from the browser's memory asks once more
        page = visit.page
        page.goto(visit.url + "/ui/sign-in")
        page.fill("[name=username]", user)
        page.fill("[name=password]", PASSWORD)
        page.click("button.primary")
        page.wait_for_url("**/ui/")
        page.wait_for_selector("html[data-ready]")
        visit.open("/ui/?t=-7d")
        visit.settle()
        page.click("[data-action=user-menu]")
        page.keyboard.press("o")
        page.wait_for_url("**/ui/sign-in")
        page.go_back()
        page.wait_for_url("**/ui/sign-in**")
        assert page.query_selector(".nav") is None
