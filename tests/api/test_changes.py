"""Real bodies of every route that changes something, against objects of our group, of another, of
all, of another user and of the whole server, by callers of each role (`change_cases.py`).

Who may not make a change gets 403 with what is needed, or 404 for what they do not see, and the
object stays as it was; who may makes it, and the object is another one then.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import update

from tests.api.change_cases import (
    CHANGES,
    ELSEWHERE,
    OURS,
    REST,
    THEIRS,
    VERSION,
    Change,
    Names,
    Who,
    ban,
    made,
    read_only_watchlist,
    rule,
    watchlist,
)
from tests.api.test_alerts import RULE, hit
from tests.support.access_table import Caller, paths_of
from tests.support.cloud import ORG, make_app
from tests.support.route_access import ACCESS, ACCESSES
from tests.support.sensor import PlayedSensor, enrol, enrolment_body, event, secret_of
from tests.support.served import Server, blobs_of, hire, open_group, state_of, wait_for
from tests.support.sysmon import Host
from tests.support.written_detections import alerted_server
from vedette.clock import SystemClock
from vedette.model.principal import Role
from vedette.model.rights.permission import PERMISSIONS
from vedette.respond.package_files import add_sensor_package
from vedette.state.accounts import audit_trail, license, tokens, users
from vedette.state.accounts.audit_trail import Search
from vedette.state.db.database import Database
from vedette.state.db.schema import SENSOR
from vedette.state.jobs import outbox
from vedette.state.jobs.outbox import NewMessage
from vedette.state.policy.groups import DEFAULT_GROUP_ID
from vedette.web.http.rights.right import Right

OF_PROGRAMS = {Right.SENSOR, Right.SEND, Right.HANDSHAKE, Right.IN_BODY, Right.OPEN}
"""Rights of routes that senders, sensors and sign-ins call, which change nothing that people
manage."""
EVERY = (OURS, THEIRS, REST)
CALLERS = (
    Caller("viewer", roles=((OURS, Role.VIEWER),)),
    Caller("analyst", roles=((OURS, Role.ANALYST),)),
    Caller("colleague", roles=((OURS, Role.ANALYST),)),
    Caller("administrator", roles=((OURS, Role.ADMINISTRATOR),)),
    Caller("theirs", roles=((THEIRS, Role.ADMINISTRATOR),)),
    Caller("between", roles=((OURS, Role.VIEWER), (THEIRS, Role.ANALYST))),
    Caller("of-two", roles=((OURS, Role.ADMINISTRATOR), (THEIRS, Role.ADMINISTRATOR))),
    Caller("everywhere", roles=tuple((one, Role.ANALYST) for one in EVERY)),
    Caller("administrates", roles=tuple((one, Role.ADMINISTRATOR) for one in EVERY)),
    Caller("global", kind="global"),
    Caller("reader", kind="global", is_read_only=True),
    Caller("app", kind="app", roles=((OURS, Role.ADMINISTRATOR),)),
)
SENSORS = 70
"""The number of sensors of each group. A test takes one for all refusals, and one for each caller
who may make the change."""
MADE = 0
"""Expected of a change that is made: any status of success."""

VOLATILE = re.compile(
    r'"(last_used|last_address|elapsed|uptime|sizeInBytes|numDocs|segmentCount|search_timestamp'
    r'|last_execution_result|last_execution_time_ms|cost_ms|past_pending)": ?("[^"]*"|[^,}]+)'
)
"""Members that change by themselves: by time, by use, by merges and by rounds of watchlists."""


@dataclass
class Grounds:
    """The `World` of the cases."""

    server: Server
    admin: httpx.Client
    clients: dict[str, httpx.Client]
    provider_key: Path
    names: dict[str, Names]
    database: Database
    numbers: Iterator[int] = field(default_factory=lambda: count(1_000))
    groups: set[int] = field(default_factory=set)
    pool: dict[str, list[PlayedSensor]] = field(default_factory=dict)
    """Sensors that no test has taken: a new one is seen after a second."""

    def number(self) -> int:
        return next(self.numbers)

    def names_of(self, group: str) -> Names:
        return dict(self.names[group])

    def feed_address(self) -> str:
        return (self.server.data / "feeds" / "feed.json").as_uri()

    def license(self) -> str:
        return license.issue(self.provider_key, "*", self.number(), "2099-01-31")

    def sensor(self, group: str, *, is_asking: bool = False) -> Names:
        found = self.pool[group].pop()
        if is_asking:
            secret = secret_of(self.server, self.names[group]["group"])
            body = enrolment_body(found.hostname, secret, machine_id="m-2")
            assert found.client.post("/sensor/v1/enrol", json=body).status_code == 409
        return {"sensor_id": found.id}

    def name_of_two(self) -> Names:
        """A host name that both groups claim, and the sensor of ours."""
        name = f"twice{self.number()}.changes.example"
        with self.server.client() as client:
            secrets = [secret_of(self.server, self.names[one]["group"]) for one in (OURS, THEIRS)]
            owner, _ = (enrol(client, name, secret) for secret in secrets)
        return {"name": name, "owner": owner.id}

    def session_of(self, username: str) -> str:
        user_id = users.id_of(self.database, username)
        return tokens.begin_session(self.database, user_id, "b", SystemClock().now_us()).id

    def message(self) -> int:
        target = f"webhook:none-{self.number()}"
        far_us = SystemClock().now_us() + 3_600_000_000
        new = NewMessage(target, target, "{}", due_us=far_us)
        return outbox.enqueue_trial(self.database, new, far_us)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grounds]:
    folder = tmp_path_factory.mktemp("changes")
    key = keys(folder)
    names: dict[str, Names] = {REST: {"group": DEFAULT_GROUP_ID}}

    def detect(server: Server) -> list[Any]:
        found = []
        for group in (OURS, THEIRS):
            names[group], detection = telemetry(server, group)
            found.append(detection)
        return found

    flags = ("--set", f"license_provider_key={folder / 'public.pem'}")
    with alerted_server(tmp_path_factory.mktemp("data"), detect, *flags) as server:
        prepare(server, names)
        clients = {one.name: server.client(**credential(server, names, one)) for one in CALLERS}
        with server.analyst() as admin, state_of(server) as database:
            found = Grounds(server, admin, clients, key, names, database)
            names[""] = {"feed_id": feed_of(found)}
            found.groups = {one["id"] for one in made(admin.get("/api/group"))}
            with server.client() as client:
                found.pool = {
                    one: sensors(server, client, one, names[one]) for one in (OURS, THEIRS)
                }
                newest = f"/api/v1/sensor/{found.pool[THEIRS][-1].id}"
                assert wait_for(lambda: clients["theirs"].get(newest).status_code, 200) == 200
                yield found
        for client in clients.values():
            client.close()


def keys(folder: Path) -> Path:
    """The private key of a provider of licenses."""
    key = Ed25519PrivateKey.generate()
    private, public = folder / "private.pem", folder / "public.pem"
    encoding, format_ = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    public.write_bytes(key.public_key().public_bytes(encoding, format_))
    private.write_bytes(
        key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return private


def telemetry(server: Server, group: str) -> tuple[Names, Any]:
    """A host of a log shipper with a process and its alert."""
    group_id, secret = open_group(server, group)
    host = Host(f"{group.lower()}.changes.example")
    shell = host.process(900, "C:\\Windows\\explorer.exe")
    odd = host.process(0xABC00 + group_id, "C:\\x\\odd.exe", after_s=5)
    with server.client(Authorization=f"Bearer {secret}") as sender:
        assert sender.post("/api/v1/ingest", json=[host.created(odd, shell)]).is_success
    with server.analyst() as client:
        query = {"q": f"hostname:{host.name} process_name:odd.exe"}
        (row,) = client.get("/api/v1/process", params=query).json()["results"]
    detection = hit(row, RULE, "Odd process")
    known = {
        "group": group_id,
        "hostname": host.name,
        "shipper_id": row["sensor_id"],
        "alert_id": detection.id,
    }
    return known, detection


def prepare(server: Server, names: dict[str, Names]) -> None:
    """Hosts that answer live queries, a package, and a program that a sensor of each group has."""
    kit = server.data.parent / "kit.pyz"
    kit.write_bytes(b"a new sensor")
    with server.analyst() as admin, server.client() as client, state_of(server) as database:
        add_sensor_package(database, blobs_of(server), kit, "linux", VERSION)
        for group in (OURS, THEIRS):
            known = names[group]
            made(admin.put(f"/api/group/{known['group']}", json={"binary_orders": "asked"}))
            with database.writing() as connection:
                shipper = SENSOR.c.id == known["shipper_id"]
                hashed = f"{known['shipper_id']:032x}".encode()
                connection.execute(update(SENSOR).where(shipper).values(node_key_sha256=hashed))
            name = f"real-{group.lower()}.changes.example"
            sensor = enrol(client, name, secret_of(server, known["group"]))
            known["program"] = f"{0xFACE0000 + known['group']:032x}"
            now_us = SystemClock().now_us()
            start = event(
                "start",
                now_us,
                700,
                now_us,
                path="/bin/odd",
                cmdline="odd",
                ppid=1,
                parent_start_us=now_us - 10**9,
                parent_path="/sbin/init",
                md5=known["program"],
                sha256=known["program"] * 2,
                size=9,
            )
            assert sensor.send([start]).is_success


def sensors(server: Server, client: httpx.Client, group: str, known: Names) -> list[PlayedSensor]:
    secret = secret_of(server, known["group"])
    return [
        enrol(client, f"s{n}.{group.lower()}.example", secret, os_version="Ubuntu 24.04")
        for n in range(SENSORS)
    ]


def credential(server: Server, names: dict[str, Names], caller: Caller) -> dict[str, str]:
    roles = {names[group]["group"]: role for group, role in caller.roles}
    if caller.kind == "app":
        app = make_app(server, caller.name, *PERMISSIONS, groups=list(roles))
        return {"X-Auth-Token": app.auth_token}
    token = server.token if caller.kind == "global" else hire(server, caller.name, roles)
    if caller.is_read_only:
        with server.client(**{"X-Auth-Token": token}) as client:
            token = client.post("/api/v1/token", json={"scope": "read"}).json()["secret"]
    return {"X-Auth-Token": token}


def feed_of(world: Grounds) -> int:
    """The id of a feed with a report."""
    folder = world.server.data / "feeds"
    folder.mkdir(exist_ok=True)
    info = dict.fromkeys(
        ("name", "display_name", "summary", "tech_data", "provider_url", "category"), "thefeed"
    )
    report = {"id": "known", "title": "t", "link": "", "timestamp": 1, "score": 60}
    reports = [report | {"iocs": {"md5": ["ab" * 16]}}]
    (folder / "feed.json").write_text(json_of({"feedinfo": info, "reports": reports}))
    body = {"feed_url": world.feed_address(), "name": "thefeed", "enabled": True}
    number = int(made(world.admin.post("/api/v1/feed", json=body))["id"])
    path = f"/api/v1/feed/{number}"
    assert wait_for(lambda: world.admin.get(path).json()["report_count"], 1, 60) == 1
    return number


def json_of(value: Any) -> str:
    return httpx.Request("POST", "https://x", json=value).content.decode()


def expected(caller: Caller, group: str, who: Who) -> int:
    """The status of a change by docs/api-authorization.md#who-may-call-what, without the code."""
    if caller.is_read_only or (caller.kind == "app" and not who.is_of_cloud):
        return 403
    if caller.kind == "global":
        return MADE if who.kind != "own" or who.admin_too else 404
    if who.kind == "caller":
        return MADE if caller.highest >= who.to_call else 403
    if who.kind == "global" or caller.highest < who.to_call:
        return 403
    if who.kind == "own":
        if caller.name == who.owner:
            return MADE
        return 403 if who.is_shared else 404
    return _expected_by_role(caller, group, who)


def _expected_by_role(caller: Caller, group: str, who: Who) -> int:
    among = {"every": EVERY, "both": (OURS, THEIRS), "group": (group,)}[who.kind]
    role = min(caller.role_in(one) for one in among)
    if role >= who.role:
        return MADE
    if who.denied:
        return who.denied
    seen = caller.role_in(group) >= Role.VIEWER or not group
    lower = who.hides_from_lower and caller.role_in(group) < who.role
    return 404 if who.hides and (not seen or lower) else 403


@dataclass(frozen=True)
class Case:
    """A change of an object of one group by one route."""

    change: Change
    method: str
    path: str
    group: str
    is_alias: bool = False
    """Whether the path is an alias of a route that has its own case."""

    def __str__(self) -> str:
        return " ".join(
            part for part in (self.method, self.path, self.change.name, self.group) if part
        )


CASES = [
    Case(change, method, path, group, is_alias=number > 0)
    for change in CHANGES
    for methods, _, pattern in (change.routes.partition(" "),)
    for method in methods.split("|")
    for number, path in enumerate(paths_of(pattern))
    for group in change.groups
]


def callers_of(case: Case) -> list[Caller]:
    """Callers among whom a change differs: of those who have a role in some groups it does not
    where only global administrators may make it, nor by another name of a route."""
    left_out: set[str] = set()
    if case.change.who.kind not in ("own", "caller"):
        left_out |= {"colleague"}
    if case.change.who.kind == "global":
        left_out |= {"analyst", "theirs", "between", "of-two", "everywhere"}
    if case.is_alias:
        left_out |= {"viewer", "administrator", "of-two", "reader", "app"}
    return [one for one in CALLERS if one.name not in left_out]


def send(world: Grounds, case: Case, caller: Caller, names: Names) -> httpx.Response:
    body = case.change.body(names)
    keywords: dict[str, Any] = {"content": body} if isinstance(body, bytes) else {"json": body}
    path = filled(case.path, names)
    return world.clients[caller.name].request(case.method, path, **keywords)


def filled(path: str, names: Names) -> str:
    return re.sub(r"\{(\w+)\}", lambda found: str(names[found[1]]), path)


def fresh(world: Grounds, case: Case) -> Names:
    """An object for a change, with whatever its body needs."""
    group_id = world.names[case.group].get("group")
    names = {"n": world.number(), "group": group_id, "org_key": ORG}
    return names | dict(case.change.places) | case.change.make(world, case.group)


def state(world: Grounds, case: Case, names: Names) -> str:
    """The object as an administrator reads it."""
    if not case.change.read:
        return ""
    answer = world.admin.get(filled(case.change.read, names))
    return f"{answer.status_code} {VOLATILE.sub('', answer.text)}"


def changes_since(world: Grounds, number: int) -> list[Any]:
    """Entries of the audit log by requests of people and programs."""
    _, entries = audit_trail.search(world.database, Search(rows=20))
    by_request = [one for one in entries if one.number > number and one.request_id]
    return [one for one in by_request if one.author_kind in ("user", "token")]


def head(world: Grounds) -> int:
    return audit_trail.head(world.database).number


@pytest.mark.parametrize("case", CASES, ids=str)
def test_who_may_not_make_a_change_makes_none_and_who_may_does(world: Grounds, case: Case) -> None:
    wanted = {one: expected(one, case.group, case.change.who) for one in callers_of(case)}
    names = fresh(world, case)
    before, number = state(world, case, names), head(world)
    for caller, status in wanted.items():
        if status == MADE:
            continue
        answer = send(world, case, caller, names)
        assert answer.status_code == status, (caller.name, answer.text)
        if status == 403:
            assert re.search("must be|may only|is read-only", answer.json()["message"]), answer.text
    assert state(world, case, names) == before
    if not case.change.begins_job:
        assert changes_since(world, number) == []
    for caller, status in wanted.items():
        if status == MADE:
            make_it(world, case, caller)


def make_it(world: Grounds, case: Case, caller: Caller) -> None:
    names = fresh(world, case)
    before = state(world, case, names)
    answer = send(world, case, caller, names)
    assert answer.is_success, (caller.name, answer.status_code, answer.text)
    if case.change.read:
        assert state(world, case, names) != before, caller.name
    has_answer = answer.headers.get("content-type") == "application/json"
    body = answer.json() if has_answer and answer.content else {}
    case.change.clean(world, body if isinstance(body, dict) else {})
    if "/group" in case.path:  # a role in every group is to stay one
        for one in made(world.admin.get("/api/group")):
            if one["id"] not in world.groups:
                made(world.admin.delete(f"/api/group/{one['id']}"))


def test_every_route_that_changes_something_has_a_case() -> None:
    changing = {
        (method, path)
        for (method, path), right in ACCESS.items()
        if method not in ("GET", "HEAD")
        and right not in OF_PROGRAMS
        and not ACCESSES[method, path].reads_only
    }
    known = {(one.method, template(one.path)) for one in CASES}
    assert changing - known - set(ELSEWHERE) == set(), "add a case for each to change_cases.py"
    assert set(ELSEWHERE) - changing == set()
    assert known - changing == set()


def template(path: str) -> str:
    return path.replace(f"/orgs/{ORG}/", "/orgs/{org_key}/")


def test_what_is_changed_elsewhere_is_changed_by_a_test_of_that_name() -> None:
    text = (Path(__file__).parent / "test_sessions.py").read_text()
    assert [one for one in ELSEWHERE.values() if f"def {one}(" not in text] == []


def webhook_of(world: Grounds, path: str, caller: str) -> int:
    body = {"action_type": 2, "action_data": {"url": f"https://127.0.0.1:9/{caller}"}}
    return int(made(world.clients[caller].post(f"{path}/action", json=body))["action_id"])


def test_who_takes_the_actions_of_a_watchlist_leaves_those_of_other_users(world: Grounds) -> None:
    giver, taker = watchlist(world, OURS), watchlist(world, OURS)
    paths = [f"/api/v1/watchlist/{one['watchlist_id']}" for one in (giver, taker)]
    given = [webhook_of(world, paths[0], one) for one in ("analyst", "colleague", "global")]
    (kept,) = [webhook_of(world, paths[1], "colleague")]
    body = {
        "search_query": "q=process_name:other.exe",
        "move_actions_from_watchlist_id": giver["watchlist_id"],
    }
    changed = made(world.clients["analyst"].put(paths[1], json=body))
    found = [
        {one["id"] for one in made(world.admin.get(f"{path}/action"))}
        for path in (paths[0], f"/api/v1/watchlist/{changed['id']}")
    ]
    assert found == [{given[1]}, {given[0], given[2], kept}]


def test_actions_are_not_taken_from_a_watchlist_that_the_caller_may_not_change(
    world: Grounds,
) -> None:
    taker = watchlist(world, OURS)
    for make, group, status in (
        (read_only_watchlist, OURS, 403),
        (watchlist, "", 403),
        (watchlist, THEIRS, 404),
    ):
        giver = make(world, group)
        action = webhook_of(world, f"/api/v1/watchlist/{giver['watchlist_id']}", "global")
        body = {
            "search_query": f"q=process_name:n{world.number()}.exe",
            "move_actions_from_watchlist_id": giver["watchlist_id"],
        }
        path = f"/api/v1/watchlist/{taker['watchlist_id']}"
        answer = world.clients["analyst"].put(path, json=body)
        assert answer.status_code == status, answer.text
        still = f"/api/v1/watchlist/{giver['watchlist_id']}/action/{action}"
        assert world.admin.get(still).is_success


BUTTON = re.compile(r"<button[^>]*?data-call=\"(?P<call>[^\"]+)\"[^>]*>", re.DOTALL)


def test_pages_offer_what_the_api_would_do_and_nothing_else(world: Grounds) -> None:
    """Each button is offered to exactly those callers whose request succeeds."""
    feed_id, watched = world.names[""]["feed_id"], watchlist(world, "")["watchlist_id"]
    own, banned = watchlist(world, OURS)["watchlist_id"], ban(world, "")["md5"]
    pages = {
        f"/ui/feeds/{feed_id}": f"PUT /api/v1/feed/{feed_id}/action_type/alert",
        f"/ui/watchlists/{watched}": f"PUT /api/v1/watchlist/{watched}/action_type/alert",
        f"/ui/watchlists/{own}": f"PUT /api/v1/watchlist/{own}/action_type/alert",
        "/ui/watchlists": f"PUT /api/v1/watchlist/{watched}",
        f"/ui/bans/{banned}": f"PUT /api/v1/banning/bannedlist/{banned}",
        f"/ui/feeds/{feed_id}?": f"PUT /api/v1/feed/{feed_id}/action_type/email",
        "/ui/sigma": f"PUT /api/v1/sigma/{rule(world)['rule_id']}",
    }
    for page, call in pages.items():
        method, _, path = call.partition(" ")
        for name in ("analyst", "of-two", "everywhere", "global"):
            answer = world.clients[name].get(page)
            assert answer.is_success, (name, page)
            (button,) = [one[0] for one in BUTTON.finditer(answer.text) if one["call"] == call]
            body = {"enabled": True}
            done = world.clients[name].request(method, path, json=body)
            assert done.status_code in (200, 403), done.text
            assert ("aria-disabled" in button) is (done.status_code == 403), (name, page)
            assert ("Requires" in button) is (done.status_code == 403), (name, page)


def test_a_new_watchlist_is_offered_for_the_groups_that_the_reader_may_watch(
    world: Grounds,
) -> None:
    ours = world.names[OURS]["group"]
    for name, places in (
        ("viewer", []),
        ("analyst", [ours]),
        ("everywhere", [-1, *sorted(world.groups)]),
    ):
        page = world.clients[name].get("/ui/watchlists/new").text
        form = page.partition('name="group_id"')[2].partition("</select>")[0]
        assert [int(one) for one in re.findall(r'<option value="(-?\d+)"', form)] == places, name
        (save,) = re.findall(r'<button class="primary"[^>]*>Save', page)
        assert ("aria-disabled" in save) is (not places)
