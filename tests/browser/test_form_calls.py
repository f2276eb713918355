"""A form shows its request as an API call before it is sent; in a shell the call makes the same
change, with any input."""

import json
import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Visiting, until
from tests.browser.test_accessibility import violations
from tests.support.one_of_each import named, server_with_alerts
from tests.support.served import Server

HOSTILE = 'it\'s "so" $(touch ran) `touch ran` \\ %41 \u202e \u0085 ; touch ran &'
LINES = f"{HOSTILE}\n'\n$HOME\n\"'\"'\"\nEOF"
MD5 = "cd" * 16
SEND = "button:is(.primary, .danger, .field + button)"
TEXT = ".as-call[open] textarea"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from server_with_alerts(tmp_path_factory.mktemp("calls"))


@pytest.fixture(scope="module")
def known(server: Server) -> dict[str, str]:
    return named(server)


def shown(page: Any, form: str) -> str:
    """Returns the API call that a form shows on request."""
    page.click(f"{form} .as-call summary")
    until(page, f"document.querySelector('{form} {TEXT}').value !== ''")
    text: str = page.input_value(f"{form} {TEXT}")
    return text


def run(server: Server, folder: Path, text: str) -> list[Any]:
    """The answers of calls, each a line of a shell's; nothing else runs."""
    environ = os.environ | {
        **{"VEDETTE_TOKEN": server.token, "CURL_CA_BUNDLE": str(server.certificate)},
    }
    answers = []
    for line in text.split("\n"):
        ended = subprocess.run(
            ["sh", "-c", line], capture_output=True, text=True, env=environ, cwd=folder, check=True
        )
        assert ended.stderr == ""
        answers.append(json.loads(ended.stdout))
    assert list(folder.iterdir()) == []
    return answers


def test_a_watchlist_and_the_switch_of_its_alerts(
    visiting: Visiting, server: Server, tmp_path: Path
) -> None:
    with visiting() as visit:
        page = visit.open("/ui/watchlists/new?q=process_name:none.exe")
        page.fill("[name=name]", HOSTILE)
        page.fill("form[data-watch] [name=description]", LINES)
        text = shown(page, "form[data-watch]")
        page.fill("[name=name]", f"{HOSTILE} again")
        until(page, f"document.querySelector('{TEXT}').value.includes('& again')")
    assert "\u202e" not in text  # it would turn what follows
    add, alerts = text.split("\n")
    (made,) = run(server, tmp_path, add)
    run(server, tmp_path, alerts.replace("/ID/", f"/{made['id']}/"))
    with server.analyst() as client:
        path = f"/api/v1/watchlist/{made['id']}"
        found = client.get(path).json()
        kinds = client.get(f"{path}/action_type").json()
    assert (found["name"], found["description"]) == (HOSTILE, LINES)
    assert {one["action_type"] for one in kinds if one["enabled"]} == {"alert"}


def test_a_ban_by_keys(visiting: Visiting, server: Server, tmp_path: Path) -> None:
    with visiting() as visit:
        page = visit.open("/ui/bans")
        page.keyboard.press("n")
        page.fill("#ban [name=md5hashes]", MD5)
        page.fill("#ban [name=text]", HOSTILE)
        page.evaluate("navigator.clipboard.writeText = async (text) => (window.copied = text)")
        page.focus("#ban summary")
        page.keyboard.press("Enter")
        until(page, f"document.querySelector('#ban {TEXT}').value !== ''")
        page.wait_for_selector("#ban [data-save]:enabled")
        assert violations(page) == []
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.value.startsWith('curl ')")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.wait_for_selector("#ban .as-call button >> text=Copied")
        text = page.evaluate("window.copied")
    run(server, tmp_path, text)
    with server.analyst() as client:
        found = client.get(f"/api/v1/banning/bannedlist/{MD5}").json()
    assert (found["enabled"], found["text"]) == (True, HOSTILE)


def test_a_change_of_alerts_with_the_suppression_of_more(
    visiting: Visiting, server: Server, tmp_path: Path
) -> None:
    with visiting() as visit:
        page = visit.open("/ui/alerts?q=")
        page.wait_for_selector("#flyout-title")
        page.keyboard.press("S")
        page.wait_for_selector("#triage[open]")
        page.fill("[name=comment]", LINES)
        page.fill("[name=assigned_to]", HOSTILE)
        text = shown(page, "#triage")
    changed, _ = run(server, tmp_path, text)
    assert changed["changed"] > 0
    with server.analyst() as client:
        query = {"q": "status:Resolved", "rows": 50}
        found = client.get("/api/v2/alert", params=query).json()["results"]
        reasons = [one["reason"] for one in client.get("/api/v1/alert/suppression").json()]
    assert len(found) == changed["changed"]
    assert {one["assigned_to"] for one in found} == {HOSTILE}
    assert reasons == [LINES]


def opened(page: Any, key: str, dialog: str, fields: dict[str, str]) -> str:
    page.keyboard.press(key)
    page.wait_for_selector(f"{dialog}[open]")
    for name, value in fields.items():
        page.fill(f"{dialog} [name={name}]", value)
    return dialog


@pytest.mark.parametrize(
    ("path", "key", "form", "fields"),
    [
        ("/ui/bans/{ban}", "N", "#reason", {"text": HOSTILE}),
        ("/ui/watchlists/{watchlist}", "D", "#deletion", {}),
        ("/ui/sensors", "N", "#fleet", {"notes": HOSTILE}),
        ("/ui/process?t=all&q=a'b", "s", "#save-search", {"name": HOSTILE}),
        ("/ui/access?tab=teams", "n", "#new", {"name": HOSTILE}),
        ("/ui/groups/1", "", "#options", {"name": HOSTILE}),
        ("/ui/filters/{filter}", "", "form[data-blind]", {"description": HOSTILE}),
        ("/ui/settings", "", ".inline-form:has([name=ipaddr])", {"ipaddr": "192.0.2.0/24"}),
    ],
)
def test_what_is_shown_is_what_is_sent(
    visiting: Visiting,
    known: dict[str, str],
    path: str,
    key: str,
    form: str,
    fields: dict[str, str],
) -> None:
    sent: list[Any] = []
    with visiting() as visit:
        visit.expected += ["400", "409"]
        page = visit.open(path.format(**known))
        visit.settle()
        if key:
            opened(page, key, form, fields)
        for name, value in fields.items():
            page.fill(f"{form} [name={name}]", value)
        page.wait_for_selector(f"{form} {SEND}:enabled")
        text = shown(page, form)
        page.route("**/api/**", lambda route: (sent.append(route.request), route.abort()))
        visit.expected += ["ERR_FAILED"]
        page.click(f"{form} {SEND}")
        page.wait_for_selector(".failed")
    words = shlex.split(text)
    (request,) = [one for one in sent if one.method != "GET"]
    assert words[words.index("-X") + 1] == request.method
    assert words[-1] == request.url
    body = words[words.index("--data-raw") + 1] if "--data-raw" in words else None
    assert (body and json.loads(body)) == request.post_data_json


def test_no_secret_is_shown(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/access")
        page.keyboard.press("n")
        page.fill("#new [name=username]", "new")
        page.fill("#new [name=password]", "a long enough secret")
        text = shown(page, "#new")
        assert "a long enough secret" not in text
        assert json.loads(shlex.split(text)[-2])["password"] == "<password>"
        page = visit.open("/ui/me")
        for name in ("password", "new_password"):
            page.fill(f"main [name={name}]", "a long enough secret")
        text = shown(page, "main form")
        body = {"password": "<password>", "new_password": "<new_password>"}
        assert json.loads(shlex.split(text)[-2]) == body
