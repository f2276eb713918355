"""The answers to a user of one sensor group do not change by one byte when hidden hosts send
records, and have detections, blocks and counts. Hidden objects answer like missing objects.

Enumerates every GET route, so that new routes are included, and further requests explicitly.
"""

import json
import random
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from sqlalchemy import select, update

from tests.api import hidden_pages
from tests.api.hidden_requests import (
    CHANGES,
    CLOUD_ALERTS,
    CLOUD_DEVICES,
    NEVER,
    NOT_POSTED,
    NOT_THERE,
    POSTS,
    RULE,
    RULE_ID,
    SEARCHES,
    TIMES,
    WHOAMI,
)
from tests.api.test_access import PLACES
from tests.support.cloud import ORG
from tests.support.forms import in_form
from tests.support.route_access import ACCESS, PERMISSIONS, READING_POSTS
from tests.support.served import Server, hire, open_group, start_server, state_of, wait_for
from tests.support.sysmon import Host, Story, story
from vedette.model.principal import Role
from vedette.state.db.schema import BAN, SENSOR
from vedette.web.http.rights.right import Right

READABLE = {Right.READ, Right.VIEW, Right.ACT, Right.ADMINISTER_GROUP, Right.ADMINISTER}
KINDS = {"the rule", "the feed", "the watchlist"}
"""Names of the detections, as alerts show them."""


@dataclass
class World:
    """A server, an administrator of one group, and what they see."""

    server: Server
    admin: httpx.Client
    client: httpx.Client
    tale: Story
    places: dict[str, str]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    for server in start_server(tmp_path_factory.mktemp("hidden")):
        group_id, secret = open_group(server, "Seen")
        tale = story("seen.corp.example")
        token = hire(server, "scoped", {group_id: Role.ADMINISTRATOR})
        with server.analyst() as admin, server.client(**{"X-Auth-Token": token}) as client:
            world = World(server, admin, client, tale, dict(PLACES))
            policy(world)
            send(server, secret, tale.records)
            assert wait_for(lambda: alerts_of(client), KINDS) == KINDS
            learn_places(world, group_id)
            yield world


def alerts_of(client: httpx.Client, query: str = "") -> set[str]:
    """Returns the detections with alerts on the hosts of a query."""
    found = client.get("/api/v2/alert", params={"q": query, "rows": "100"}).json()["results"]
    return {kind for kind in KINDS if kind in json.dumps(found)}


def send(server: Server, secret: str, records: list[dict[str, Any]]) -> None:
    with server.client(Authorization=f"Bearer {secret}") as sender:
        answer = sender.post("/api/v1/ingest", json=records)
    assert answer.json()["rejected"] == 0, answer.text


def policy(world: World) -> None:
    """Creates global policy objects that count hits; the detections create alerts."""
    assert world.admin.post("/api/v1/sigma", json={"text": RULE}).status_code == 200
    watchlist = {"name": "the watchlist", "search_query": "q=" + WHOAMI}
    made = world.admin.post("/api/v1/watchlist", json=watchlist).json()
    feed_id = feed(world)
    ban = {"md5hash": "cd" * 16}
    assert world.admin.post("/api/v1/banning/bannedlist", json=ban).status_code == 200
    for path in (f"watchlist/{made['id']}", f"feed/{feed_id}"):
        on = world.admin.put(f"/api/v1/{path}/action_type/alert", json={"enabled": True})
        assert on.status_code == 200, on.text
    quiet = {"query": "title:nosuch", "name": "n", "reason": "r"}
    suppression = world.admin.post("/api/v1/alert/suppression", json=quiet).json()
    counted = {"id": "counted", "path_filters": ["*hidden-*.exe"], "filter_on_server": False}
    assert world.admin.post("/api/v1/ingress_approvedlist", json=counted).status_code == 200
    world.places |= {
        "{filter_id}": "counted",
        "{watchlist_id}": made["id"],
        "{feed_id}": str(feed_id),
        "{report_id}": "known",
        "{rule_id}": RULE_ID,
        "{suppression_id}": str(suppression["id"]),
    }


def feed(world: World) -> int:
    report = {
        "id": "known",
        "title": "Known, says the feed",
        "link": "",
        "timestamp": 1,
        "score": 60,
    }
    names = ("name", "display_name", "summary", "tech_data", "provider_url", "category")
    info = dict.fromkeys(names, "thefeed")
    folder = world.server.data / "feeds"
    folder.mkdir(exist_ok=True)
    path = folder / "feed.json"
    document = {"feedinfo": info, "reports": [report | {"iocs": {"md5": ["ab" * 16]}}]}
    path.write_text(json.dumps(document))
    body = {"feed_url": path.as_uri(), "name": "thefeed", "enabled": True}
    made = world.admin.post("/api/v1/feed", json=body)
    assert made.status_code == 200, made.text
    address = f"/api/v1/feed/{made.json()['id']}"
    assert wait_for(lambda: world.admin.get(address).json()["report_count"], 1) == 1
    return int(made.json()["id"])


def learn_places(world: World, group_id: int) -> None:
    (row,) = world.client.get("/api/v1/process", params={"q": WHOAMI}).json()["results"]
    (alert, *_) = world.client.get("/api/v2/alert").json()["results"]
    body = {"process_id": row["id"], "segment_id": 0}
    stream = world.client.post("/api/v6/process/stream", json=body).json()
    world.places |= {
        "{process_id}": row["id"],
        "{segment_id}": str(row["segment_id"]),
        "{sensor_id}": str(row["sensor_id"]),
        "{group_id}": str(group_id),
        "{alert_id}": alert["unique_id"],
        "{stream_id}": stream["stream_id"],
        "{device_id}": str(row["sensor_id"]),
        "{job_id}": str(export_of(world.client)),
        "{username}": "scoped",
    }


def export_of(client: httpx.Client) -> int:
    """The id of a job that exports the devices that a caller sees."""
    answer = client.post(f"{CLOUD_DEVICES}/_export".replace("{org_key}", ORG), json={})
    assert answer.status_code == 200, answer.text
    return int(answer.json()["id"])


def read(world: World) -> dict[str, tuple[int, str]]:
    """Every answer but pages, by what was asked; without the times that things took."""
    answers: dict[str, tuple[int, str]] = {}
    for method, path in sorted(ACCESS):
        if method == "GET" and is_read(method, path):
            keep(answers, path, world.client.get(filled(world, path)))
    for path, query in SEARCHES:
        params = {name: filled(world, value) for name, value in query.items()}
        keep(answers, f"{path} {query}", world.client.get(path, params=params))
    for path, body in POSTS:
        keep(answers, f"POST {path} {body}", world.client.post(filled(world, path), json=body))
    return answers


def read_pages(world: World) -> dict[str, tuple[int, str]]:
    answers: dict[str, tuple[int, str]] = {}
    for path in hidden_pages.paths(lambda text: str(filled(world, text))):
        answer = world.client.get(path)
        assert answer.status_code < 500, (path, answer.text)
        answers[path] = (answer.status_code, hidden_pages.comparable(path, answer.text))
    return answers


def is_read(method: str, path: str) -> bool:
    """Whether a user reads with it what their scope lets them see."""
    permission = PERMISSIONS.get((method, path))
    return ACCESS[method, path] in READABLE if permission is None else permission.reads


def keep(answers: dict[str, tuple[int, str]], asked: str, answer: httpx.Response) -> None:
    assert answer.status_code < 500, (asked, answer.text)
    answers[asked] = (answer.status_code, TIMES.sub("", answer.text))


def filled(world: World, text: Any) -> Any:
    if not isinstance(text, str):
        return text
    if "{source_id}" in text:
        kind = next(one for one in ("watchlist", "feed", "sigma") if f"/{one}/" in text)
        place = {"watchlist": "{watchlist_id}", "feed": "{feed_id}", "sigma": "{rule_id}"}[kind]
        text = text.replace("{source_id}", place)
    if "/binary/" in text:
        text = text.replace("{md5}", "ab" * 16)
    if "/banning/" in text:
        text = text.replace("{md5}", "cd" * 16)
    for name, value in world.places.items():
        text = text.replace(name, value)
    return text


def hide(world: World, seed: int) -> Host:
    """Another group with all that is of it: hosts, hits, alerts, people, questions, a block."""
    draw, name = random.Random(seed), f"hidden-{seed}"
    group_id, secret = open_group(world.server, name)
    theirs = hire(world.server, f"of-{name}", {group_id: Role.ADMINISTRATOR})
    # One short name with the host that is seen, and the same programs.
    tale = story(draw.choice([f"{name}.corp.example", f"seen.{name}.example"]))
    others = [
        tale.host.process(draw.randint(2, 10**6), f"C:\\x\\{name}.exe", f"x {n}", 40 + n)
        for n in range(draw.randint(1, 20))
    ]
    records = [tale.host.created(one, tale.word) for one in others]
    banned = tale.host.created(tale.host.process(7, "C:\\banned.exe"), tale.word)
    hashes = banned["winlog"]["event_data"]
    hashes["Hashes"] = f"MD5={'CD' * 16}"
    send(world.server, secret, [*tale.records, *records, banned])
    query = f"hostname:{tale.host.name}"
    assert wait_for(lambda: alerts_of(world.admin, query), KINDS) == KINDS
    watchlist = {"name": name, "search_query": "q=" + WHOAMI, "group_id": group_id}
    assert world.admin.post("/api/v1/watchlist", json=watchlist).status_code == 200
    blocked(world.server, tale.host.name)
    with world.server.client(**{"X-Auth-Token": theirs}) as client:
        export_of(client)
        for row in client.get("/api/v2/alert").json()["results"]:
            path = f"{CLOUD_ALERTS}/alerts/{row['unique_id']}/notes".replace("{org_key}", ORG)
            assert client.post(path, json={"note": name}).status_code == 200
    return tale.host


def blocked(server: Server, hostname: str) -> None:
    """A ban that was enforced on a host, and a question to it."""
    with state_of(server) as database, database.writing() as connection:
        named = SENSOR.c.hostname == hostname
        sensor_id = connection.scalar(select(SENSOR.c.id).where(named))
        counts = {"block_count": BAN.c.block_count + 1, "last_block_us": 10**15}
        host = {"last_block_sensor_id": sensor_id, "last_block_hostname": hostname}
        connection.execute(update(BAN).values(counts | host))


def objects_of(world: World, host: Host) -> dict[str, str]:
    """The ids of what is of a host."""
    query = {"q": f"hostname:{host.name} {WHOAMI}"}
    (row,) = world.admin.get("/api/v1/process", params=query).json()["results"]
    (alert, *_) = world.admin.get("/api/v2/alert", params=query).json()["results"]
    watchlist = world.admin.get("/api/v1/watchlist").json()[-1]
    return {
        "{process_id}": row["id"],
        "{sensor_id}": str(row["sensor_id"]),
        "{alert_id}": alert["unique_id"],
        "{device_id}": str(row["sensor_id"]),
        "{group_id}": str(watchlist["group_id"]),
        "{watchlist_id}": watchlist["id"],
        "{md5}": "cd" * 16,
    }


def reported(world: World, known: dict[str, str]) -> dict[str, tuple[int, str]]:
    """Every answer about these objects, without their ids."""
    answers: dict[str, tuple[int, str]] = {}
    named = [path for method, path in ACCESS if method == "GET" and set(known) & places(path)]
    calls = [("GET", path, {}) for path in sorted(named) if "/banning/" not in path] + CHANGES
    for method, path, body in calls:
        place = with_ids(path.replace("{source_id}", "{watchlist_id}"), known)
        place = filled(world, place.replace("$own", world.places["{sensor_id}"]))
        sent = {name: with_ids(value, known) for name, value in body.items()}
        keywords = {"json": sent} if sent else {}
        answer = world.client.request(method, place, **keywords)
        text = answer.text
        for one in sorted(known.values(), key=len, reverse=True):
            text = text.replace(one, "ID").replace(one.upper(), "ID")
        answers[f"{method} {path}"] = (answer.status_code, TIMES.sub("", text))
    return answers


def places(path: str) -> set[str]:
    return set(re.findall(r"\{\w+\}", path.replace("watchlist/{source_id}", "{watchlist_id}")))


def with_ids(value: Any, known: dict[str, str]) -> Any:
    if isinstance(value, list):
        return [with_ids(one, known) for one in value]
    if not isinstance(value, str):
        return value
    for name, one in known.items():
        value = value.replace(name, one)
    return int(value) if value.isdecimal() else value


@pytest.fixture(scope="module")
def before(world: World) -> dict[str, tuple[int, str]]:
    """All that is read while nothing is hidden. Reading it takes many seconds."""
    return settled(world)


def test_every_page_of_what_is_seen_is_there_to_be_compared(
    before: dict[str, tuple[int, str]],
) -> None:
    """A page that is not found would be alike before and after."""
    missing = [path for path, (status, _) in before.items() if path[:4] == "/ui/" and status != 200]
    assert set(missing) <= set(NOT_THERE)


def test_every_post_that_reads_is_among_those_that_are_compared() -> None:
    reads = {path for method, path in READING_POSTS if method == "POST"}
    reads |= {path for (method, path), one in PERMISSIONS.items() if method == "POST" and one.reads}
    assert reads - {path for path, _ in POSTS} == set(NOT_POSTED)


def test_what_is_hidden_answers_as_what_does_not_exist(world: World) -> None:
    host = hide(world, 17)
    hidden, never = reported(world, objects_of(world, host)), reported(world, NEVER)
    seen = {asked: one for asked, one in hidden.items() if one[0] < 400}
    assert seen == {}
    reported_apart = {
        asked: (hidden[asked], never[asked]) for asked in never if hidden[asked] != never[asked]
    }
    assert reported_apart == {}


def test_nothing_that_is_read_changes_by_a_byte_when_hidden_data_is_added(
    world: World, before: dict[str, tuple[int, str]]
) -> None:
    """Nor by what others tried to do to it, which is refused. What the test above
    has hidden is added, too."""
    for seed in range(in_form(1, 6)):
        hide(world, seed)
    after = settled(world)
    changed = {
        asked: differing(before[asked][1], after[asked][1])
        for asked in before
        if before[asked] != after[asked]
    }
    assert not changed, "\n".join(f"{asked}: {text}" for asked, text in changed.items())


def settled(world: World) -> dict[str, tuple[int, str]]:
    """The answers and pages when nothing is done any more about what was sent. Pages show what the
    other answers say: they are read once."""
    last, deadline = read(world), time.monotonic() + 30
    while (now := read(world)) != last and time.monotonic() < deadline:
        last = now
        time.sleep(0.5)
    return now | read_pages(world)


def differing(before: str, after: str) -> str:
    """The first place where two texts differ."""
    pairs = enumerate(zip(before, after, strict=False))
    at = next((n for n, (one, other) in pairs if one != other), min(len(before), len(after)))
    return f"{before[max(0, at - 60) : at + 60]!r} -> {after[max(0, at - 60) : at + 60]!r}"
