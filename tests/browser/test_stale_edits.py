"""Two people change the same: whoever saves second sees theirs and mine, and chooses."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.browser.conftest import Visiting
from tests.browser.test_accessibility import violations, violations_in_the_dark
from tests.support.served import Server

MD5 = "5a" * 16
HOSTILE = "<img src=x onerror=alert(1)>\u202e theirs"
Made = tuple[str, str, str]
"""The page, the place in the API, the member."""


def watchlist(client: httpx.Client) -> Made:
    body = {"name": "Of two", "search_query": "q=process_name:x.exe", "description": "old"}
    made = client.post("/api/v1/watchlist", json=body).json()["id"]
    return f"/ui/watchlists/{made}", f"/api/v1/watchlist/{made}", "description"


def ingress_filter(client: httpx.Client) -> Made:
    body = {"id": "of-two", "name": "Of two", "path_filters": ["c:\\x.exe"], "enabled": False}
    client.post("/api/v1/ingress_approvedlist", json=body)
    return "/ui/filters/of-two", "/api/v1/ingress_approvedlist/of-two", "description"


def group(client: httpx.Client) -> Made:
    made = client.post("/api/v3/group", json={"name": "Of two"}).json()["id"]
    return f"/ui/groups/{made}", f"/api/v3/group/{made}", "name"


def ban(client: httpx.Client) -> Made:
    client.post("/api/v1/banning/bannedlist", json={"md5hash": MD5, "text": "old"})
    return f"/ui/bans/{MD5}", f"/api/v1/banning/bannedlist/{MD5}", "text"


def write(page: Any, member: str, text: str) -> None:
    """Changes a field on its page, and saves once the page lets one."""
    if page.locator("#reason").count():
        page.keyboard.press("N")
    page.fill(f"main [name={member}], #reason[open] [name={member}]", text)
    if page.locator("[data-save]:visible").count():
        page.wait_for_selector("[data-save]:visible:enabled")
    page.keyboard.press("Control+Enter")


def now(client: httpx.Client, path: str, member: str) -> Any:
    found = client.get(path).json()
    return (found[0] if isinstance(found, list) else found)[member]


@pytest.mark.parametrize("make", [watchlist, ingress_filter, group, ban])
def test_who_saves_second_sees_theirs_and_mine_and_chooses(
    visiting: Visiting, server: Server, make: Callable[[httpx.Client], Made]
) -> None:
    with server.analyst() as client, visiting() as visit:
        visit.expected.append("409")
        url, path, member = make(client)
        theirs = "theirs" if member == "name" else HOSTILE
        page = visit.open(url)
        assert client.put(path, json={member: theirs}).is_success
        write(page, member, "mine")
        page.wait_for_selector("#stale[open]")
        assert now(client, path, member) == theirs  # nothing was sent over it
        cells = page.locator("#stale tbody td").all_inner_texts()
        assert (cells[0].endswith("theirs"), cells[1]) == (True, "mine")
        assert page.locator("#stale img").count() == 0
        assert violations(page) == []
        assert violations_in_the_dark(page) == []
        page.emulate_media(color_scheme="light")
        page.click("#stale button:text('Use theirs')")
        page.wait_for_selector("html[data-ready]")
        page.wait_for_selector("#stale", state="detached")
        assert page.input_value(f"[name={member}]").endswith("theirs")
        later = "theirs later" if member == "name" else "later"
        assert client.put(path, json={member: later}).is_success
        write(page, member, "mine")
        page.wait_for_selector("#stale[open]")
        page.click("#stale button:text('Keep mine')")
        page.wait_for_selector("#undo div")
        assert now(client, path, member) == "mine"
