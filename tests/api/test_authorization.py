"""Every route, every kind of caller, objects of their group and of another
(`tests/corpus/access/routes.txt`)."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select, update

from tests.api.test_access import PLACES
from tests.api.test_alerts import RULE, hit
from tests.support.access_table import REACHED, Caller, Row, rows
from tests.support.cloud import make_app
from tests.support.sensor import enrol, secret_of
from tests.support.served import Server, hire, open_group, state_of
from tests.support.sysmon import Host
from tests.support.written_detections import alerted_server
from vedette.clock import SystemClock
from vedette.model.principal import Role
from vedette.model.rights.permission import PERMISSIONS
from vedette.state.accounts import audit_trail, tokens, users
from vedette.state.accounts.audit_trail import Search
from vedette.state.accounts.tokens import NewToken
from vedette.state.db.schema import SENSOR
from vedette.state.db.schema_fleet import LIVE_QUERY

NOT_REACHED = {401, 403}
OURS, THEIRS = "Ours", "Theirs"
CALLERS = [
    Caller("unauthenticated", kind="none"),
    Caller("nobody"),
    Caller("viewer", roles=((OURS, Role.VIEWER),)),
    Caller("analyst", roles=((OURS, Role.ANALYST),)),
    Caller("administrator", roles=((OURS, Role.ADMINISTRATOR),)),
    Caller("theirs", roles=((THEIRS, Role.ADMINISTRATOR),)),
    Caller("between", roles=((OURS, Role.VIEWER), (THEIRS, Role.ANALYST))),
    Caller("global", kind="global"),
    Caller("sender", kind="ingest"),
    Caller("sensor", kind="sensor"),
    Caller("app", kind="app", roles=((OURS, Role.ADMINISTRATOR),)),
    Caller("reader", kind="global", is_read_only=True),
    Caller("scoped-reader", roles=((OURS, Role.ADMINISTRATOR),), is_read_only=True),
]

OF_OBJECTS = {"theirs", "between", "scoped-reader"}
"""Callers who call what has objects only: elsewhere they are as others are."""


@dataclass
class Grounds:
    """A server with two groups that have an object of each kind, and a client for each caller."""

    server: Server
    admin: httpx.Client
    clients: dict[str, httpx.Client]
    objects: dict[str, dict[str, Any]]
    """Objects by group, then by name."""
    owned: dict[tuple[str, str], str] = field(default_factory=dict)
    """Ids of a caller's own objects, by (caller, path parameter)."""


@pytest.fixture(scope="module")
def grounds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grounds]:
    objects: dict[str, dict[str, Any]] = {}

    def detect(server: Server) -> list[Any]:
        found = []
        for name in (OURS, THEIRS):
            objects[name], detection = telemetry_objects(server, name)
            found.append(detection)
        return found

    with alerted_server(tmp_path_factory.mktemp("matrix"), detect) as server:
        clients = {one.name: server.client(**credential(server, objects, one)) for one in CALLERS}
        with server.analyst() as admin:
            grounds = Grounds(server, admin, clients, objects)
            for name in (OURS, THEIRS):
                objects[name] |= policy_objects(grounds, name)
            for one in CALLERS:
                own_objects(grounds, one)
            yield grounds
        for client in clients.values():
            client.close()


def telemetry_objects(server: Server, name: str) -> tuple[dict[str, Any], Any]:
    group_id, secret = open_group(server, name)
    host = Host(f"{name.lower()}.matrix.example")
    shell = host.process(900, "C:\\Windows\\explorer.exe")
    odd = host.process(0xABC00 + group_id, "C:\\x\\odd.exe", after_s=5)
    with server.client(Authorization=f"Bearer {secret}") as sender:
        answer = sender.post("/api/v1/ingest", json=[host.created(odd, shell)])
        assert answer.json()["rejected"] == 0, answer.text
    with server.analyst() as client:
        query = {"q": f"hostname:{host.name} process_name:odd.exe"}
        (row,) = client.get("/api/v1/process", params=query).json()["results"]
    detection = hit(row, RULE, "Odd process")
    known = {
        "group": group_id,
        "sensor": row["sensor_id"],
        "process": row["id"],
        "segment": row["segment_id"],
        "md5": odd.md5,
        "alert": detection.id,
        "secret": secret,
    }
    return known, detection


def credential(
    server: Server, objects: dict[str, dict[str, Any]], caller: Caller
) -> dict[str, str]:
    match caller.kind:
        case "none":
            return {}
        case "ingest":
            return {"Authorization": f"Bearer {objects[OURS]['secret']}"}
        case "sensor":
            with server.client() as client:
                return enrol(client, "sensor.matrix.example", secret_of(server)).headers
        case "app":
            ours = [objects[OURS]["group"]]
            app = make_app(server, caller.name, *PERMISSIONS, groups=ours)
            return {"X-Auth-Token": app.auth_token}
        case "global":
            token = server.token
        case _:
            roles = {objects[name]["group"]: role for name, role in caller.roles}
            token = hire(server, caller.name, roles)
    if caller.is_read_only:
        with server.client(**{"X-Auth-Token": token}) as client:
            token = client.post("/api/v1/token", json={"scope": "read"}).json()["secret"]
    return {"X-Auth-Token": token}


def policy_objects(grounds: Grounds, name: str) -> dict[str, Any]:
    known = grounds.objects[name]
    with state_of(grounds.server) as database, database.writing() as connection:
        key = f"{known['sensor']:032x}".encode()
        mine = update(SENSOR).where(SENSOR.c.id == known["sensor"])
        connection.execute(mine.values(node_key_sha256=key))
    asked = {"sensor_ids": [known["sensor"]], "sql": "select 1"}
    query = grounds.admin.post("/api/v1/livequery", json=asked)
    assert query.status_code == 200, query.text
    ban = {"md5hash": known["md5"], "enabled": False}
    assert grounds.admin.post("/api/v1/banning/bannedlist", json=ban).status_code == 200
    return {"query": query.json()["id"], **new_watchlist(grounds, name)}


def new_watchlist(grounds: Grounds, name: str) -> dict[str, Any]:
    body = {
        "name": f"w {time.time_ns()}",
        "search_query": "q=process_name:odd.exe",
        "group_id": grounds.objects[name]["group"],
    }
    made = grounds.admin.post("/api/v1/watchlist", json=body)
    assert made.status_code == 200, made.text
    path = f"/api/v1/watchlist/{made.json()['id']}/action"
    action = grounds.admin.post(path, json={"action_type": 3})
    assert action.status_code == 200, action.text
    return {"watchlist": made.json()["id"], "action": action.json()["action_id"]}


def own_objects(grounds: Grounds, caller: Caller) -> None:
    """A token, a session, and a stream of a caller."""
    username = {"global": "admin", "reader": "admin"}.get(caller.name, caller.name)
    grounds.owned["{username}", caller.name] = username
    if caller.kind in ("none", "ingest", "sensor", "app"):
        return
    now_us = SystemClock().now_us()
    with state_of(grounds.server) as database:
        user_id = users.id_of(database, username)
        for place, issued in (
            ("{token_id}", tokens.issue(database, NewToken("api", user_id=user_id), now_us)),
            ("{session_id}", tokens.begin_session(database, user_id, "b", now_us)),
        ):
            grounds.owned[place, caller.name] = issued.id
    for name in (OURS, THEIRS):
        body = {"process_id": grounds.objects[name]["process"], "segment_id": 0}
        made = grounds.clients[caller.name].post("/api/v6/process/stream", json=body)
        if made.status_code == 200:
            grounds.owned["{stream_id}", caller.name] = made.json()["stream_id"]


@dataclass(frozen=True)
class Call:
    row: Row
    group: str
    expected: int
    owner: str = ""


def calls_of(grounds: Grounds, caller: Caller) -> Iterator[Call]:
    for row in rows():
        if row.right == "own":
            place = next(one for one, _ in grounds.owned if one in row.path)
            strangers = [one for one in ("analyst", "global") if one != caller.name]
            if caller.name == "reader":  # of the same user
                strangers.remove("global")
            for owner in (caller.name, *strangers):
                if (place, owner) in grounds.owned:
                    is_own = owner == caller.name
                    yield Call(row, OURS, row.expected(caller, OURS, is_own=is_own), owner)
            continue
        if caller.name in OF_OBJECTS and not row.mark:
            continue
        for group in (OURS, THEIRS) if row.mark else (OURS,):
            yield Call(row, group, row.expected(caller, group))


def send(grounds: Grounds, caller: Caller, call: Call) -> httpx.Response:
    known = grounds.objects[call.group]
    if call.expected == REACHED and call.row.method == "DELETE" and "/watchlist/" in call.row.path:
        known = known | new_watchlist(grounds, call.group)
    path = call.row.path
    for place, value in places_of(grounds, call, known).items():
        path = path.replace(place, str(value))
    body = filled(call.row.body, known)
    keywords = {} if body is None else {"json": body}
    return grounds.clients[caller.name].request(call.row.method, path, **keywords)


def places_of(grounds: Grounds, call: Call, known: dict[str, Any]) -> dict[str, Any]:
    places: dict[str, Any] = {
        "{process_id}": known["process"],
        "{segment_id}": known["segment"],
        "{sensor_id}": known["sensor"],
        "{device_id}": known["sensor"],
        "{group_id}": known["group"],
        "{alert_id}": known["alert"],
        "{query_id}": known["query"],
        "{watchlist_id}": known["watchlist"],
    }
    if "/watchlist/" in call.row.path:
        places |= {"{source_id}": known["watchlist"], "{action_id}": known["action"]}
    if "/binary/" in call.row.path or "/banning/" in call.row.path:
        places["{md5}"] = known["md5"]
    if call.owner:
        mine = {place: one for (place, name), one in grounds.owned.items() if name == call.owner}
        places |= mine
    return PLACES | places


def filled(body: Any, known: dict[str, Any]) -> Any:
    if isinstance(body, dict):
        return {name: filled(value, known) for name, value in body.items()}
    if isinstance(body, list):
        return [filled(value, known) for value in body]
    if isinstance(body, str) and body.startswith("$"):
        return known[body[1:]]
    return body


def is_right(call: Call, status: int) -> bool:
    if call.expected != REACHED:
        return status == call.expected
    if call.row.right == "body":
        return status < 500
    lost = {404} if call.row.is_of_object else set()
    return status < 500 and status not in NOT_REACHED | lost


@pytest.mark.parametrize("caller", CALLERS, ids=lambda one: one.name)
def test_a_caller_reaches_what_the_table_says_and_changes_nothing_else(
    grounds: Grounds, caller: Caller
) -> None:
    wrong = []
    calls = list(calls_of(grounds, caller))
    with state_of(grounds.server) as database:
        before = audit_trail.head(database).number
        for call in (one for one in calls if one.expected != REACHED):
            status = send(grounds, caller, call).status_code
            if not is_right(call, status):
                wrong.append(f"{call}: {status}")
        _, entries = audit_trail.search(database, Search(rows=100))
    changes = [
        one for one in entries if one.number > before and one.author_kind in ("user", "token")
    ]
    for call in (one for one in calls if one.expected == REACHED):
        answer = send(grounds, caller, call)
        if not is_right(call, answer.status_code):
            wrong.append(f"{call}: {answer.status_code} {answer.text[:200]}")
    assert not wrong, "\n".join(wrong)
    assert changes == []


def test_a_live_query_for_hosts_of_two_groups_asks_none_of_them(grounds: Grounds) -> None:
    both = [grounds.objects[name]["sensor"] for name in (OURS, THEIRS)]
    sql = "select 'of both'"
    for name, status in (("analyst", 404), ("between", 403), ("scoped-reader", 403)):
        answer = grounds.clients[name].post(
            "/api/v1/livequery", json={"sensor_ids": both, "sql": sql}
        )
        assert answer.status_code == status, name
    with state_of(grounds.server) as database, database.reading() as connection:
        placed = select(func.count()).select_from(LIVE_QUERY).where(LIVE_QUERY.c.sql == sql)
        assert connection.scalar(placed) == 0
