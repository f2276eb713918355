"""The pages of objects lead to what the audit log has of just them, for who may read it."""

import html
import re
from collections.abc import Iterator
from urllib.parse import unquote_plus

import pytest

from tests.support.one_of_each import SIGMA, SIGMA_ID
from tests.support.served import Server, hire, open_group, start_server
from vedette.model.principal import Role

BANNED = "ad" * 16


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from start_server(tmp_path_factory.mktemp("history"))


@pytest.fixture(scope="module")
def pages(server: Server) -> dict[str, str]:
    """The page of each object, by what the audit log calls it. There is a second one of some, with
    the name of the first in its own."""
    group_id, _ = open_group(server, "A & B")
    open_group(server, "A & B 2")
    hire(server, "ann", {group_id: Role.VIEWER})
    hire(server, "joann", {group_id: Role.VIEWER})
    (server.data / "feeds").mkdir(exist_ok=True)
    with server.analyst() as client:
        body = {"name": "w", "search_query": "q=process_name:none.exe"}
        watchlist = client.post("/api/v1/watchlist", json=body).json()["id"]
        address = (server.data / "feeds" / "none.json").as_uri()
        body = {"feed_url": address, "name": "thefeed", "enabled": False}
        feed = client.post("/api/v1/feed", json=body).json()["id"]
        assert client.post("/api/v1/sigma", json={"text": SIGMA}).is_success
        for one in ("some", "some-more"):
            body = {"id": one, "name": "n", "path_filters": ["*none.exe"], "enabled": False}
            assert client.post("/api/v1/ingress_approvedlist", json=body).is_success
        assert client.post("/api/v1/banning/bannedlist", json={"md5hash": BANNED}).is_success
    return {
        f"watchlist:{watchlist}": f"/ui/watchlists/{watchlist}",
        "feed:thefeed": f"/ui/feeds/{feed}",
        f"sigma rule:{SIGMA_ID}": f"/ui/sigma/{SIGMA_ID}",
        "ingress filter:some": "/ui/filters/some",
        f"ban:{BANNED}": f"/ui/bans/{BANNED}",
        "group:A & B": f"/ui/groups/{group_id}",
        "user:ann": "/ui/_/access/effective?name=ann",
    }


def links(page: str) -> list[str]:
    return [html.unescape(one) for one in re.findall(r'href="(/ui/audit\?object=[^"]*)"', page)]


def test_each_page_leads_to_the_entries_of_its_object_alone(
    server: Server, pages: dict[str, str]
) -> None:
    with server.analyst() as client:
        for name, path in pages.items():
            (link,) = links(client.get(path).text)
            assert unquote_plus(link) == f"/ui/audit?object={name}"
            shown = client.get(link).text
            body = client.get("/api/v1/audit", params={"object": name}).json()
            numbers = re.findall(r'<tr data-row="(\d+)"', shown)
            assert numbers == [str(one["number"]) for one in body["results"]]
            assert body["results"][-1]["action"] == "create"


def test_who_may_not_read_the_audit_log_has_no_link_to_it(
    server: Server, pages: dict[str, str]
) -> None:
    with server.analyst() as client:
        groups = {one["id"]: Role.ADMINISTRATOR for one in client.get("/api/v3/group").json()}
    token = hire(server, "everywhere", groups)
    with server.client(**{"X-Auth-Token": token}) as client:
        for path in pages.values():
            answer = client.get(path)
            assert answer.status_code == (403 if "/access/" in path else 200), path
            assert "/ui/audit" not in answer.text


def test_an_object_that_is_none_is_refused_and_none_is_needed(server: Server) -> None:
    with server.analyst() as client:
        assert client.get("/ui/audit").status_code == 200
        assert client.get("/ui/audit?object=nocolon").status_code == 400
