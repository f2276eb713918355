"""No action of the console fails in silence: a refusal is shown with its reason, and the page
stays."""

from typing import Any

import httpx
import pytest

from tests.browser.conftest import SHARED, Visiting, evaluated, until
from tests.support.served import Server

pytestmark = SHARED
STAYS = "window.stayed === true"


def marked(page: Any) -> Any:
    page.evaluate("window.stayed = true")
    return page


@pytest.fixture
def group(server: Server) -> int:
    with server.analyst() as client:
        return int(client.get("/api/v1/group").json()[0]["id"])


def test_an_installer_that_cannot_be_had_says_why(
    visiting: Visiting, server: Server, group: int
) -> None:
    with visiting() as visit:
        page = marked(visit.open(f"/ui/groups/{group}"))
        for system, words in {
            "Windows, exe": "vedette installer add --os windows --kind exe FILE",
            "Windows, msi": "vedette installer add --os windows --kind msi FILE",
            "macOS": "vedette installer add --os osx --kind pkg FILE",
        }.items():
            page.click(f"main button:text-is('{system}')", force=True)
            page.wait_for_selector(f"#undo :text('{words}')")
        assert "vedette package add" not in page.inner_text("main")
        with page.expect_download() as download:
            page.click("main a:text-is('Linux')")
        assert download.value.suggested_filename == f"vedette-sensor-group-{group}.tar.gz"
        with server.analyst() as client:
            wanted = client.get(f"/api/v1/group/{group}/installer/linux")
        assert wanted.content[:2] == download.value.path().read_bytes()[:2] == b"\x1f\x8b"
        assert evaluated(page, STAYS)


@pytest.mark.parametrize(
    ("path", "press", "call"),
    [
        ("/ui/groups/{group}", "main a[download]", "**/installer/linux"),
        ("/ui/audit", "a[download]", "**/api/v1/audit?*"),
    ],
)
def test_a_download_that_is_refused_says_why_and_the_page_stays(
    visiting: Visiting, group: int, path: str, press: str, call: str
) -> None:
    with visiting() as visit:
        visit.expected += ["404"]
        page = marked(visit.open(path.format(group=group)))
        refusal = '{"reason": "not_found", "message": "<b>no</b> package is registered"}'
        page.route(call, lambda route: route.fulfill(status=404, body=refusal))
        page.click(press)
        page.wait_for_selector("#undo .failed :text('<b>no</b> package is registered')")
        assert evaluated(page, STAYS)


def test_a_form_that_gets_a_file_shows_its_refusal(visiting: Visiting) -> None:
    with visiting() as visit:
        visit.expected += ["403"]
        page = marked(visit.open("/ui/binary"))
        page.evaluate(
            """(action) => {
              const form = document.createElement("form");
              const reason = document.createElement("input");
              Object.assign(form, { action, method: "get" });
              Object.assign(reason, { name: "reason", value: "a <b>" });
              form.append(reason, document.createElement("button"));
              document.getElementById("main").append(form);
            }""",
            f"/api/v1/binary/{'ab' * 16}",
        )
        asked: list[str] = []

        def refuse(route: Any) -> None:
            asked.append(route.request.url)
            route.fulfill(status=403, body='{"reason": "forbidden", "message": "not yours"}')

        page.route("**/api/v1/binary/*", refuse)
        page.click("#main form[action^='/api/'] button")
        page.wait_for_selector("#undo .failed :text('not yours')")
        assert httpx.URL(asked[0]).params["reason"] == "a <b>"
        assert evaluated(page, STAYS)


def test_a_button_that_is_off_says_why_when_it_is_pressed(
    visiting: Visiting, known: dict[str, str]
) -> None:
    """With key and click, for a host without a sensor that could isolate it."""
    with visiting() as visit:
        page = visit.open(f"/ui/sensors/{known['sensor']}")
        for way in ("key", "click"):
            if way == "key":
                page.keyboard.press("i")
            else:
                page.click("main button:has-text('Flush')", force=True)
            page.wait_for_selector("#undo :text('This host has no Vedette sensor')")
            assert page.locator("dialog[open]").count() == 0
            page.click("#undo button")
            until(page, "!document.querySelector('#undo *')")


def test_a_failure_that_nobody_handles_is_shown(visiting: Visiting) -> None:
    with visiting() as visit:
        visit.expected += ["404"]
        page = visit.open("/ui/")
        page.evaluate(
            """async () => {
              const script = document.querySelector("script[src*='app.js']").src;
              const { get } = await import(script.replace("app.js", "api.js"));
              get("/api/v1/sensor/99999999");
            }"""
        )
        page.wait_for_selector("#undo .failed :text('sensor 99999999 not found')")


def test_following_that_is_refused_ends_and_says_why(visiting: Visiting) -> None:
    with visiting() as visit:
        visit.expected += ["400"]
        page = visit.open("/ui/process?t=all")
        visit.settle()
        asked: list[str] = []

        def refuse(route: Any) -> None:
            asked.append(route.request.url)
            route.fulfill(status=400, body='{"reason": "bad_request", "message": "no longer"}')

        page.route("**/api/v1/process?*", refuse)
        page.keyboard.press("L")
        page.wait_for_selector("#undo .failed :text('no longer')")
        page.wait_for_timeout(6_000)
        assert len(asked) == 1
