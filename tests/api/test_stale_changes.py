"""A change based on a stale record does not silently overwrite another user's change
(docs/http-api.md#two-people-at-once)."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.support.served import Server, hire, open_group
from vedette.model.principal import Role

Place = tuple[str, str]
"""Where a record is, and the member of it that people write into."""


def watchlist(client: httpx.Client) -> Place:
    body = {"name": uuid4().hex, "search_query": "q=process_name:x.exe", "description": "old"}
    return f"/api/v1/watchlist/{client.post('/api/v1/watchlist', json=body).json()['id']}", (
        "description"
    )


def feed(client: httpx.Client) -> Place:
    body = {"name": uuid4().hex, "feed_url": "https://feeds.example/x", "summary": "old"}
    body |= {"enabled": False}
    return f"/api/v1/feed/{client.post('/api/v1/feed', json=body).json()['id']}", "summary"


def ingress_filter(client: httpx.Client) -> Place:
    body = {"id": uuid4().hex, "name": "f", "path_filters": ["x"], "description": "old"}
    client.post("/api/v1/ingress_approvedlist", json=body | {"enabled": False})
    return f"/api/v1/ingress_approvedlist/{body['id']}", "description"


def group(client: httpx.Client) -> Place:
    made = client.post("/api/v3/group", json={"name": uuid4().hex, "sensor_exe_name": "old"})
    return f"/api/v3/group/{made.json()['id']}", "sensor_exe_name"


def ban(client: httpx.Client) -> Place:
    md5 = uuid4().hex
    client.post("/api/v1/banning/bannedlist", json={"md5hash": md5, "text": "old"})
    return f"/api/v1/banning/bannedlist/{md5}", "text"


KINDS = [watchlist, feed, ingress_filter, group, ban]


def read(client: httpx.Client, path: str) -> dict[str, Any]:
    found = client.get(path).json()
    return dict(found[0] if isinstance(found, list) else found)


@pytest.mark.parametrize("make", KINDS)
def test_the_second_of_two_is_refused_with_what_is_now(
    analyst: httpx.Client, make: Callable[[httpx.Client], Place]
) -> None:
    path, member = make(analyst)
    was = {member: read(analyst, path)[member]}
    assert was == {member: "old"}
    assert analyst.put(path, json={member: "first", "was": was}).is_success
    refused = analyst.put(path, json={member: "second", "was": was})
    assert refused.status_code == 409
    assert refused.json()["reason"] == "changed_meanwhile"
    assert refused.json()["changed"] == {member: "first"}
    assert read(analyst, path)[member] == "first"
    again = {member: "second", "was": refused.json()["changed"]}
    assert analyst.put(path, json=again).is_success
    assert read(analyst, path)[member] == "second"
    assert analyst.put(path, json={member: "third"}).is_success  # as clients do that know no `was`
    assert read(analyst, path)[member] == "third"


@pytest.mark.parametrize("make", KINDS)
def test_of_many_at_once_one_is_taken(
    server: Server, analyst: httpx.Client, make: Callable[[httpx.Client], Place]
) -> None:
    path, member = make(analyst)

    def put(number: int) -> int:
        with server.analyst() as client:
            body = {member: f"mine-{number}", "was": {member: "old"}}
            return client.put(path, json=body).status_code

    with ThreadPoolExecutor(6) as pool:
        statuses = list(pool.map(put, range(6)))
    assert sorted(statuses) == [200, *[409] * 5]
    assert read(analyst, path)[member] == f"mine-{statuses.index(200)}"


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("was", ["old", ["old"], 7, {"no_such": 1}])
def test_what_cannot_be_compared_is_refused(
    analyst: httpx.Client, make: Callable[[httpx.Client], Place], was: object
) -> None:
    path, member = make(analyst)
    answer = analyst.put(path, json={member: "new", "was": was})
    assert answer.status_code == 400
    assert answer.json()["message"].startswith("was: ")
    assert read(analyst, path)[member] == "old"


def test_other_members_may_have_changed(analyst: httpx.Client) -> None:
    path, _ = watchlist(analyst)
    was = {"name": read(analyst, path)["name"]}
    assert analyst.put(path, json={"description": "theirs"}).is_success
    assert analyst.put(path, json={"name": uuid4().hex, "was": was}).is_success
    assert read(analyst, path)["description"] == "theirs"


def test_who_may_not_change_it_is_told_nothing_of_it(server: Server, analyst: httpx.Client) -> None:
    hidden, _ = open_group(server, f"hidden {uuid4().hex[:6]}")
    own, _ = open_group(server, f"own {uuid4().hex[:6]}")
    body = {"name": uuid4().hex, "search_query": "q=process_name:x.exe", "description": "secret"}
    made = analyst.post("/api/v1/watchlist", json=body | {"group_id": hidden}).json()["id"]
    secret = hire(server, uuid4().hex[:8], {own: Role.ANALYST})
    with server.client(**{"X-Auth-Token": secret}) as client:
        answer = client.put(f"/api/v1/watchlist/{made}", json={"was": {"description": "x"}})
    assert answer.status_code == 404
    assert "secret" not in answer.text
