"""The pages over HTTP: their headers, who may open them, and that they change nothing."""

import html
import re

import httpx
import pytest

from tests.support.page_budget import PAGE_GZIP_BYTES_MAX, sent_bytes
from tests.support.route_access import PAGE_ACCESS
from tests.support.served import Server, hire, open_group
from vedette.model.principal import Role
from vedette.web.accounts.sign_in_screen import own_path


def paths() -> list[str]:
    """Every page that can be asked for without an id."""
    return sorted({path for _, path in PAGE_ACCESS if "{" not in path})


def test_pages_are_only_read() -> None:
    assert {method for method, _ in PAGE_ACCESS} == {"GET"}


@pytest.mark.usefixtures("sent_story")
def test_every_link_of_every_page_leads_to_a_page(analyst: httpx.Client) -> None:
    """One link of each form: those to two sensors are of one."""
    waiting, seen = [(path, "") for path in paths()], set()
    while waiting:
        path, linked_from = waiting.pop()
        form = re.sub(r"[0-9a-fA-F-]{32,}|\d+", "N", path.partition("?")[0])
        if form in seen:
            continue
        seen.add(form)
        answer = analyst.get(path, follow_redirects=True)
        assert answer.status_code == 200, (path, linked_from)
        links = re.findall(r'(?:href|hx-get|data-flyout)="(/ui/[^"#]*)', answer.text)
        found = [html.unescape(one) for one in links if not one.startswith("/ui/static/")]
        waiting += [(one, path) for one in found]
    assert {"/ui/sensors/N", "/ui/binary/N"} <= seen


def test_every_page_has_its_policy_with_a_nonce_of_its_own(analyst: httpx.Client) -> None:
    nonces = set()
    for path in paths():
        answer = analyst.get(path)
        assert answer.status_code in (200, 303), (path, answer.text)
        if answer.status_code == 303:
            continue
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "require-trusted-types-for 'script'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        nonces.update(re.findall(r"'nonce-([\w-]+)'", policy))
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert set(re.findall(r'nonce="([^"]+)"', answer.text)) <= nonces
    assert len(nonces) >= len(paths()) - 1


def test_who_is_not_signed_in_is_sent_to_the_sign_in(server: Server) -> None:
    with server.client() as client:
        answer = client.get("/ui/?a=b&c=%26")
        assert answer.status_code == 303
        assert answer.headers["location"] == "/ui/sign-in?next=/ui/%3Fa%3Db%26c%3D%2526"
        part = client.get("/ui/_/home/alerts")
        assert (part.status_code, part.headers["hx-trigger"]) == (401, "session-ended")
        assert "www-authenticate" not in part.headers
        assert client.get("/ui/sign-in").status_code == 200
        asked = {"Sec-Fetch-Mode": "cors"}
        assert "www-authenticate" not in client.get("/api/info", headers=asked).headers
        assert "www-authenticate" in client.get("/api/info").headers


def test_a_sender_may_not_see_pages(server: Server) -> None:
    with server.sender() as client:
        assert client.get("/ui/").status_code == 403


@pytest.mark.parametrize(
    ("given", "leads_to"),
    [
        ("/ui/process?q=a", "/ui/process?q=a"),
        ("", "/ui"),
        ("https://other.example/ui/", "/ui"),
        ("//other.example/ui/", "/ui"),
        ("/ui/\\other.example", "/ui"),
        ("/ui/sign-in?next=/ui/sign-in", "/ui"),
        ("javascript:alert(1)", "/ui"),
        ("/ui/" + "x" * 5_000, "/ui"),
        ("/ui/\n", "/ui"),
    ],
)
def test_a_sign_in_leads_to_a_page_of_our_own(given: str, leads_to: str) -> None:
    assert own_path(given) == leads_to


def test_files_are_kept_by_browsers_and_change_their_address(analyst: httpx.Client) -> None:
    page = analyst.get("/ui/").text
    for path in re.findall(r'(?:src|href)="(/ui/static/[^"#]+)', page):
        answer = analyst.get(path)
        assert answer.status_code == 200, path
        assert "immutable" in answer.headers["cache-control"]
    assert analyst.get("/ui/static/0000/app.js").status_code == 404
    assert analyst.get("/ui/static/0000/../../pages.py").status_code == 404


def test_a_page_that_does_not_exist_says_so_as_a_page(analyst: httpx.Client) -> None:
    answer = analyst.get("/ui/no-such<b>")
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/html")
    assert "no-such&lt;b&gt;" in answer.text


def test_a_tile_shows_what_its_reader_may_see(server: Server, analyst: httpx.Client) -> None:
    group_id, _ = open_group(server, "console tiles")
    token = hire(server, "viewer-of-tiles", {group_id: Role.VIEWER})
    with server.client(**{"X-Auth-Token": token}) as client:
        assert "Storage" not in client.get("/ui/_/home/storage").text
        assert client.get("/ui/_/home/storage").status_code == 403
        assert ">0</dd>" in client.get("/ui/_/home/sensors").text
    assert "Storage" in analyst.get("/ui/_/home/storage").text


def test_times_in_the_audit_log_are_shown_as_times(analyst: httpx.Client) -> None:
    made = analyst.post("/api/v1/token", json={"name": "of-the-audit-page", "expires_days": 30})
    assert made.status_code == 200
    ban = {"md5hash": "0" * 28 + "a0d1", "text": "of the audit page", "last_ban_time": 0}
    analyst.post("/api/v1/banning/blacklist", json=ban).raise_for_status()
    page = " ".join(analyst.get("/ui/audit", params={"action": "create"}).text.split())
    assert "of-the-audit-page" in page
    assert "expires <time" in page
    assert "expires –" in page
    assert "expires_us" not in page


@pytest.mark.usefixtures("sent_story")
def test_no_page_is_larger_than_its_budget(analyst: httpx.Client) -> None:
    sizes = {path: sent_bytes(analyst, path) for path in paths()}
    assert {path: size for path, size in sizes.items() if size > PAGE_GZIP_BYTES_MAX} == {}
