"""Every route that changes something, with a real body, an object, and who may: what
`test_changes.py` sends. A new route needs a case here, or a line in `ELSEWHERE`."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import httpx

from tests.support.cloud import ORG
from vedette.model.principal import Role

OURS, THEIRS, REST = "Ours", "Theirs", "Rest"
Names = dict[str, Any]
"""Placeholder names of paths and bodies, with the values of one object."""

JOBS = f"/sus/v2/orgs/{ORG}/jobs"
CLOUD_ALERTS = f"/api/alerts/v7/orgs/{ORG}/alerts"
NOWHERE = "https://127.0.0.1:9"
"""Where no webhook gets to: addresses of this machine are refused."""
VERSION = "9.1.0.4"


class World(Protocol):
    """The server with its callers (`test_changes.py`)."""

    admin: httpx.Client
    clients: dict[str, httpx.Client]

    def number(self) -> int: ...
    def names_of(self, group: str) -> Names: ...
    def feed_address(self) -> str: ...
    def license(self) -> str: ...
    def sensor(self, group: str, *, is_asking: bool = False) -> Names: ...
    def session_of(self, username: str) -> str: ...
    def name_of_two(self) -> Names: ...
    def message(self) -> int: ...


@dataclass(frozen=True)
class Who:
    """The callers who may make a change, and the answers that all others get."""

    kind: Literal["global", "every", "both", "group", "own", "caller"]
    """Global administrators; a role in every sensor group, or in ours and theirs; a role in the
    group of the object; its owner; everybody, of their own."""
    role: Role = Role.ANALYST
    to_call: Role = Role.ANALYST
    """The role that a caller needs in some group to reach the handler."""
    hides: bool = True
    """True if callers without a role in the object's group get 404."""
    hides_from_lower: bool = False
    """True if callers with too low a role in the object's group also get 404."""
    denied: int = 0
    """The status for others, where the change is one of many objects that they choose."""
    owner: str = "colleague"
    is_shared: bool = False
    """True if other users see the owner's object, so that they get 403 instead of 404."""
    admin_too: bool = True
    """True if global administrators may change objects of other users."""
    is_of_cloud: bool = False


GLOBAL = Who("global", to_call=Role.NONE)
EVERY_ANALYST = Who("every")
ANALYST = Who("group")
ADMINISTRATOR = Who("group", Role.ADMINISTRATOR)
READER = Who("group", Role.VIEWER)
OWNER = Who("own")
CALLER = Who("caller", to_call=Role.NONE)
CLOUD_ANALYST = Who("group", hides_from_lower=True, is_of_cloud=True)
CLOUD_ADMINISTRATOR = Who(
    "group", Role.ADMINISTRATOR, Role.ADMINISTRATOR, hides_from_lower=True, is_of_cloud=True
)
CLOUD_GLOBAL = Who("global", to_call=Role.NONE, is_of_cloud=True)

Make = Callable[[World, str], Names]


@dataclass(frozen=True)
class Change:
    """A change: a row of the matrix."""

    routes: str
    """Method and path; alternatives stand in parentheses."""
    who: Who
    body: Callable[[Names], Any] = lambda _: None
    read: str = ""
    """The path that an administrator reads before and after; "" where no route shows the object."""
    make: Make = lambda _world, _group: {}
    """Makes a fresh object of a group."""
    groups: tuple[str, ...] = ("",)
    """The groups of the objects; "" is an object over all groups, or one that has no group."""
    places: tuple[tuple[str, Any], ...] = ()
    begins_job: bool = False
    """Whether the request starts a job for the objects that the caller may change, perhaps none.
    Such a request succeeds for every caller who reaches the handler."""
    name: str = ""
    """The subject of the row, for routes that have several rows."""
    clean: Callable[[World, Names], None] = lambda _world, _names: None


def made(answer: httpx.Response) -> Any:
    assert answer.is_success, answer.text
    return answer.json() if answer.content else None


BOTH = (OURS, THEIRS)


def watchlist(world: World, group: str, **members: Any) -> Names:
    body = {"name": f"w {world.number()}", "search_query": "q=process_name:odd.exe"} | members
    if group:
        body["group_id"] = world.names_of(group)["group"]
    number = made(world.admin.post("/api/v1/watchlist", json=body))["id"]
    return {"watchlist_id": number, "source_id": number}


def read_only_watchlist(world: World, group: str) -> Names:
    return watchlist(world, group, readonly=True)


def feed(world: World, _: str = "") -> Names:
    body = {"feed_url": world.feed_address(), "name": f"feed{world.number()}", "enabled": False}
    number = made(world.admin.post("/api/v1/feed", json=body))["id"]
    return {"feed_id": number, "source_id": number}


def read_feed(world: World, _: str = "") -> Names:
    names = feed(world)
    made(world.admin.put(f"/api/v1/feed/{names['feed_id']}", json={"enabled": True}))
    return names


def rule_text(number: int) -> tuple[str, str]:
    """The id and the text of a Sigma rule."""
    rule_id = f"5c1f0a52-4a3e-4a56-9a33-{number:012d}"
    return rule_id, (
        f"title: Rule {number}\nid: {rule_id}\nlevel: high\n"
        "logsource: {product: windows, category: process_creation}\n"
        f"detection: {{one: {{CommandLine|contains: word{number}}}, condition: one}}\n"
    )


def rule(world: World, _: str = "") -> Names:
    rule_id, text = rule_text(world.number())
    made(world.admin.post("/api/v1/sigma", json={"text": text}))
    return {"rule_id": rule_id, "source_id": rule_id}


SOURCES: tuple[tuple[str, Make, str], ...] = (
    ("watchlist", watchlist, OURS),
    ("watchlist", watchlist, THEIRS),
    ("watchlist", watchlist, ""),
    ("feed", feed, ""),
    ("sigma", rule, ""),
)
"""Whatever has actions: of our group, of theirs, of all."""


def action(kind: str, source: Make, **body: Any) -> Make:
    """A source with an action that an administrator added, which is the source's own."""

    def make(world: World, group: str) -> Names:
        names = source(world, group)
        return names | {"action_id": _added(world.admin, kind, names, body)}

    return make


def colleagues(kind: str, source: Make, **body: Any) -> Make:
    """A source with an action of another user."""

    def make(world: World, group: str) -> Names:
        names = source(world, group)
        client = world.clients["colleague"]
        return names | {"action_id": _added(client, kind, names, body)}

    return make


def _added(client: httpx.Client, kind: str, names: Names, body: dict[str, Any]) -> int:
    path = f"/api/v1/{kind}/{names['source_id']}/action"
    data = body.get("action_data", {})
    if "url" in data:  # one target is tried a few times a minute
        body = body | {"action_data": {"url": f"{data['url']}/{names['source_id']}"}}
    return int(made(client.post(path, json=body))["action_id"])


def url(names: Names) -> str:
    return f"{NOWHERE}/{names['n']}"


def actions_of(kind: str, source: Make, group: str) -> list[Change]:
    """Every change of the actions of a source. What belongs to it needs the role in every group
    that it is about; mail and webhooks of a user are theirs."""
    shared = ANALYST if group else EVERY_ANALYST
    mine = READER if group else Who("caller")
    base = f"/api/v1/{kind}/{{source_id}}"
    types, one = f"{base}/action_type", f"{base}/action/{{action_id}}"
    listed = f"{base}/action"
    webhook = {"action_type": 2, "action_data": {"url": f"{NOWHERE}/shared"}}
    own_webhook = {"action_type": 2, "action_data": {"url": f"{NOWHERE}/own"}}
    rows = [
        Change(
            f"PUT {types}/{{action}}",
            shared,
            lambda _: {"enabled": True},
            f"{types}/alert",
            name="alert on",
            make=off(kind, source),
            places=(("action", "alert"),),
        ),
        Change(
            f"PUT {types}/{{action}}",
            shared,
            lambda _: {"enabled": False},
            f"{types}/alert",
            name="alert off",
            make=action(kind, source, action_type=3),
            places=(("action", "alert"),),
        ),
        Change(
            f"PUT {types}/{{action}}",
            shared,
            lambda _: {"enabled": True},
            listed,
            name="syslog",
            make=source,
            places=(("action", "syslog"),),
        ),
        Change(
            f"PUT {types}/{{action}}",
            mine,
            lambda _: {"enabled": True},
            listed,
            name="own mail",
            make=source,
            places=(("action", "email"),),
        ),
        Change(
            f"PUT {types}/{{action}}",
            mine,
            lambda names: {"enabled": True, "url": url(names)},
            listed,
            name="own webhook",
            make=source,
            places=(("action", "http"),),
        ),
        Change(
            f"PUT {types}/{{action}}",
            shared,
            lambda _: {"enabled": False},
            listed,
            name="shared webhook off",
            make=action(kind, source, **webhook),
            places=(("action", "http"),),
        ),
        Change(
            f"POST {types}/{{action}}/test",
            shared,
            name="shared webhook",
            make=action(kind, source, action_type=2, action_data={"url": f"{NOWHERE}/tried"}),
            places=(("action", "http"),),
        ),
        Change(
            f"POST {listed}",
            shared,
            lambda _: {"action_type": 1},
            listed,
            name="syslog",
            make=source,
        ),
        Change(
            f"POST {listed}",
            mine,
            lambda _: {"action_type": 0},
            listed,
            name="own mail",
            make=source,
        ),
        Change(
            f"PUT {one}",
            shared,
            lambda _: {"enabled": False},
            one,
            name="alert",
            make=action(kind, source, action_type=3),
        ),
        Change(
            f"PUT {one}",
            shared,
            lambda _: {"enabled": False},
            one,
            name="shared webhook",
            make=action(kind, source, **webhook),
        ),
        Change(f"DELETE {one}", shared, read=one, make=action(kind, source, action_type=3)),
        Change(
            f"DELETE {one}",
            shared,
            read=one,
            name="shared webhook",
            make=action(kind, source, **webhook),
        ),
    ]
    if group != THEIRS:  # where the colleague has no role
        rows += [
            Change(
                f"PUT {one}",
                OWNER,
                lambda _: {"enabled": False},
                one,
                name="webhook of another",
                make=colleagues(kind, source, **own_webhook),
            ),
            Change(
                f"DELETE {one}",
                OWNER,
                read=one,
                name="webhook of another",
                make=colleagues(kind, source, **own_webhook),
            ),
            Change(
                f"DELETE {one}",
                OWNER,
                read=one,
                name="mail of another",
                make=colleagues(kind, source, action_type=0),
            ),
        ]
    return [replace(row, groups=(group,)) for row in rows]


def off(kind: str, source: Make) -> Make:
    """A source whose hits make no alerts."""

    def make(world: World, group: str) -> Names:
        names = source(world, group)
        path = f"/api/v1/{kind}/{names['source_id']}/action_type/alert"
        made(world.admin.put(path, json={"enabled": False}))
        return names

    return make


def ban(world: World, _: str) -> Names:
    md5 = f"{world.number():032x}"
    made(world.admin.post("/api/v1/banning/bannedlist", json={"md5hash": md5, "text": "t"}))
    return {"md5": md5}


def a_filter(world: World, _: str) -> Names:
    name = f"filter-{world.number()}"
    body = {"id": name, "path_filters": ["*none.exe"], "enabled": False}
    made(world.admin.post("/api/v1/ingress_approvedlist", json=body))
    return {"filter_id": name}


def new_of(path: str, body: Callable[[int], Any], place: str, member: str = "id") -> Make:
    """Something that an administrator makes with one request."""

    def make(world: World, _: str) -> Names:
        return {place: made(world.admin.post(path, json=body(world.number())))[member]}

    return make


def put_of(path: str, body: Callable[[int], Any], place: str, start: str) -> Make:
    """Something that an administrator puts under a name."""

    def make(world: World, _: str) -> Names:
        name = f"{start}{world.number()}"
        made(world.admin.put(f"{path}/{name}", json=body(world.number())))
        return {place: name}

    return make


def yara_text(number: int) -> dict[str, str]:
    return {"text": f"rule r{number} {{ condition: false }}"}


suppression = new_of(
    "/api/v1/alert/suppression",
    lambda n: {"query": f"title:t{n}", "name": f"s {n}", "reason": "r"},
    "suppression_id",
)
policy = new_of(
    "/api/v1/response_policy", lambda n: {"name": f"p {n}", "action": "isolate"}, "policy_id"
)
site = new_of("/api/site", lambda n: {"name": f"site {n}"}, "site_id")
group = new_of("/api/group", lambda n: {"name": f"group {n}"}, "group_id")
team = new_of("/api/team", lambda n: {"name": f"team {n}", "group_access": []}, "team_id")
user = new_of("/api/user", lambda n: {"username": f"user{n}"}, "username", "username")
app = new_of("/api/v1/cloud/app", lambda n: {"name": f"app {n}"}, "app_id")
role = new_of(
    "/api/v1/cloud/role", lambda n: {"name": f"role {n}", "permissions": ["device:read"]}, "role_id"
)
provider_body: Callable[[int], Any] = lambda n: {  # noqa: E731
    "name": f"p-{n}",
    "issuer": f"https://id.example/{n}",
    "client_id": "console",
    "client_secret": "hidden",
}
provider = new_of("/api/v1/identity_provider", provider_body, "provider_id")
forwarder_body: Callable[[Names], Any] = lambda o: {  # noqa: E731
    "name": f"f {o['n']}",
    "types": ["alert"],
    "destination": {"kind": "directory", "path": f"f-{o['n']}"},
    "interval_s": 3600,
    "enabled": False,
}
CONFIGS = f"/data_forwarder/v2/orgs/{ORG}/configs"
forwarder = new_of(CONFIGS, lambda n: forwarder_body({"n": n}), "forwarder_id")


def identity_wanted(world: World, _: str) -> Names:
    number = provider(world, "")["provider_id"]
    name = made(world.admin.get(f"/api/v1/identity_provider/{number}"))["name"]
    return user(world, "") | {"provider": name}


def identity(world: World, _: str) -> Names:
    known = identity_wanted(world, "")
    body = {"username": known["username"], "provider": known["provider"], "subject": "s"}
    return {"identity_id": made(world.admin.post("/api/v1/identity", json=body))["id"]}


def entry(world: World, _: str) -> Names:
    number = world.number()
    address = f"198.18.{number // 250}.{number % 250}"
    return {
        "entry_id": made(world.admin.post("/approvedlist/entries", json={"ipaddr": address}))["id"]
    }


def own_address(world: World, _: str) -> Names:
    listed = made(world.admin.get("/approvedlist/entries"))
    if "127.0.0.1" not in {one["ipaddr"] for one in listed}:
        made(world.admin.post("/approvedlist/entries", json={"ipaddr": "127.0.0.1"}))
    return {}


def not_approving(world: World, _: Names) -> None:
    made(world.admin.patch("/approvedlist/enabled", json={"state": False}))


def alias(world: World, _: str) -> Names:
    name = f"alias{world.number()}.example"
    host = world.names_of(OURS)["hostname"]
    made(world.admin.post("/api/v1/hostalias", json={"alias": name, "hostname": host}))
    return {"alias": name}


def claimed_name(world: World, _: str) -> Names:
    return world.name_of_two()


def decided_name(world: World, _: str) -> Names:
    names = world.name_of_two()
    made(world.admin.put(f"/api/v1/hostconflict/{names['name']}", json={"owner": names["owner"]}))
    return names


def snapshot(world: World, _: str) -> Names:
    return {"snapshot_id": made(world.admin.post("/api/v1/backup/snapshot"))["id"]}


def no_snapshot(world: World, names: Names) -> None:
    """The newest, which a test took."""
    if "id" in names:
        made(world.admin.delete(f"/api/v1/backup/snapshot/{names['id']}"))


def of_group(world: World, group: str) -> Names:
    """The alert, host and so on of a group."""
    return world.names_of(group)


def sensor(world: World, group: str) -> Names:
    return world.sensor(group)


def asking_sensor(world: World, group: str) -> Names:
    return world.sensor(group, is_asking=True)


def sensor_to_move(world: World, group: str) -> Names:
    return world.sensor(group) | {
        "other": world.names_of(THEIRS if group == OURS else OURS)["group"]
    }


def ordered_file(world: World, group: str) -> Names:
    known = world.names_of(group)
    made(world.admin.post(f"/api/v1/binary/{known['program']}/request", json={}))
    return {"md5": known["program"]}


def file_to_order(world: World, group: str) -> Names:
    md5 = world.names_of(group)["program"]
    made(world.admin.request("DELETE", f"/api/v1/binary/{md5}/request"))
    return {"md5": md5}


def note(world: World, group: str) -> Names:
    known = world.names_of(group)
    path = f"{CLOUD_ALERTS}/{known['alert_id']}/notes"
    found = made(world.admin.post(path, json={"note": f"n {world.number()}"}))
    return known | {"note_id": found["id"]}


def update_body(names: Names) -> Any:
    return {
        "action_type": "UPDATE_SENSOR_VERSION",
        "device_id": [names["sensor_id"]],
        "options": {"sensor_version": {"UBUNTU": VERSION}},
    }


def job(world: World, group: str) -> Names:
    answer = made(world.admin.post(JOBS, json=update_body(world.sensor(group))))
    return {"job_id": answer["job"]["id"]}


def counted(world: World, group: str) -> Names:
    """An alert that is unresolved, and when it was counted."""
    known = world.names_of(group)
    path = f"/api/v1/alert/{known['alert_id']}"
    made(world.admin.post(path, json={"status": "In Progress"}))
    body = {"alert_ids": [known["alert_id"]], "requested_status": "Resolved", "dry_run": True}
    return known | {"snapshot": made(world.admin.post("/api/v1/alerts", json=body))["snapshot"]}


def bulk(names: Names) -> Any:
    return {
        "alert_ids": [names["alert_id"]],
        "requested_status": "Resolved",
        "expected": 1,
        "snapshot": names["snapshot"],
    }


def changed_alerts(world: World, group: str) -> Names:
    """A bulk change of a colleague's."""
    names = counted(world, group)
    done = made(world.clients["colleague"].post("/api/v1/alerts", json=bulk(names)))
    assert done["action_id"], done
    return names | {"action_id": done["action_id"]}


def token_of_a_colleague(world: World, _: str) -> Names:
    issued = made(world.clients["colleague"].post("/api/v1/token", json={"name": "t"}))
    return {"token_id": issued["id"]}


def session_of_a_colleague(world: World, _: str) -> Names:
    return {"session_id": world.session_of("colleague")}


def kept_search(*, shared: bool) -> Make:
    def make(world: World, _: str) -> Names:
        body = {"name": f"s {world.number()}", "view": "process", "params": "q=a", "shared": shared}
        found = made(world.clients["colleague"].post("/api/v1/saved_search", json=body))
        return {"search_id": found["id"]}

    return make


def report(world: World, _: str) -> Names:
    known = world.names_of("")
    path = "/api/v1/threat_report"
    body = {"ids": {str(known["feed_id"]): ["known"]}, "updates": {"is_ignored": False}}
    made(world.admin.post(path, json=body))
    return known


def partition(world: World, _: str) -> Names:
    path = "/api/v1/storage/events"
    before = set(made(world.admin.get(f"{path}/partition")))
    made(world.admin.post(f"{path}/new_partition"))
    (name,) = set(made(world.admin.get(f"{path}/partition"))) - before
    return {"partition_name": name}


def cold_partition(world: World, _: str) -> Names:
    names = partition(world, "")
    made(world.admin.post(f"/api/v1/storage/events/{names['partition_name']}/unmount"))
    return names


def target(world: World, _: str) -> Names:
    """A webhook that an administrator added."""
    names = action("sigma", rule, action_type=2, action_data={"url": f"{NOWHERE}/target"})(
        world, ""
    )
    tried = world.admin.post(f"/api/v1/sigma/{names['source_id']}/action_type/http/test")
    return {"target": made(tried)["targets"][0]}


BANS = "/api/v1/banning/(bannedlist|blacklist|restrictedlist)"
FILTERS = "/api/v1/(ingress_approvedlist|ingress_whitelist)"
GROUPS = "/api/(group|v1/group|v3/group)"
APPROVED = "(/approvedlist|/api/v1/approvedlist|/api/v1/whitelist)"
SENSOR = "/api/v1/sensor/{sensor_id}"
ALERT = "/api/v1/alert/{alert_id}"

CHANGES: tuple[Change, ...] = (
    # Detection.
    Change(
        "POST /api/v1/watchlist",
        Who("group", hides=False),
        read="/api/v1/watchlist",
        body=lambda o: {
            "name": f"w {o['n']}",
            "search_query": "q=process_name:x.exe",
            "group_id": o["group"],
        },
        make=of_group,
        groups=BOTH,
    ),
    Change(
        "POST /api/v1/watchlist",
        EVERY_ANALYST,
        read="/api/v1/watchlist",
        name="over all",
        body=lambda o: {"name": f"w {o['n']}", "search_query": "q=process_name:x.exe"},
    ),
    *(
        Change(
            f"{method} /api/v1/watchlist/{{watchlist_id}}",
            who,
            body,
            make=make,
            groups=groups,
            read="/api/v1/watchlist/{watchlist_id}",
            name=name,
        )
        for method, body in (("PUT", lambda _: {"enabled": False}), ("DELETE", lambda _: None))
        for name, who, make, groups in (
            ("of a group", ANALYST, watchlist, BOTH),
            ("over all", EVERY_ANALYST, watchlist, ("",)),
            ("read-only", Who("global"), read_only_watchlist, ("",)),
        )
    ),
    Change(
        "PUT /api/v1/watchlist/{source_id}/action_type/{action}",
        Who("global"),
        lambda _: {"enabled": True},
        "/api/v1/watchlist/{source_id}/action_type",
        name="alert of a read-only one",
        make=read_only_watchlist,
        places=(("action", "alert"),),
    ),
    *(row for source in SOURCES for row in actions_of(*source)),
    Change(
        "POST /api/v1/sigma",
        GLOBAL,
        lambda o: {"text": rule_text(o["n"])[1]},
        "/api/v1/sigma?rows=0",
    ),
    Change(
        "PUT /api/v1/sigma",
        GLOBAL,
        lambda o: {"ids": [o["rule_id"]], "enabled": False},
        "/api/v1/sigma/{rule_id}",
        rule,
    ),
    Change(
        "PUT /api/v1/sigma/{rule_id}",
        GLOBAL,
        lambda _: {"enabled": False},
        "/api/v1/sigma/{rule_id}",
        rule,
    ),
    Change("DELETE /api/v1/sigma/{rule_id}", GLOBAL, read="/api/v1/sigma/{rule_id}", make=rule),
    Change(
        "PUT /api/v1/sigma/placeholder/{name}",
        GLOBAL,
        lambda o: {"values": [f"v{o['n']}"]},
        "/api/v1/sigma/placeholder",
        put_of("/api/v1/sigma/placeholder", lambda _: {"values": ["a"]}, "name", "place"),
    ),
    Change(
        "DELETE /api/v1/sigma/placeholder/{name}",
        GLOBAL,
        read="/api/v1/sigma/placeholder",
        make=put_of("/api/v1/sigma/placeholder", lambda _: {"values": ["a"]}, "name", "place"),
    ),
    Change(
        "POST /api/v1/feed",
        GLOBAL,
        read="/api/v1/feed",
        body=lambda o: {"feed_url": o["feed_url"], "name": f"made{o['n']}", "enabled": False},
        make=lambda world, _: {"feed_url": world.feed_address()},
    ),
    Change(
        "POST /api/v1/feed/preview",
        GLOBAL,
        lambda o: {"feed_url": o["feed_url"]},
        make=lambda world, _: {"feed_url": world.feed_address()},
    ),
    Change(
        "PUT /api/v1/feed/{feed_id}",
        GLOBAL,
        lambda _: {"display_name": "other"},
        "/api/v1/feed/{feed_id}",
        feed,
    ),
    Change("DELETE /api/v1/feed/{feed_id}", GLOBAL, read="/api/v1/feed/{feed_id}", make=feed),
    Change(
        "POST /api/v1/feed/{feed_id}/synchronize",
        GLOBAL,
        lambda _: {"full_sync": True},
        make=read_feed,
    ),
    Change(
        "POST /api/v1/threat_report",
        GLOBAL,
        make=report,
        body=lambda o: {"ids": {str(o["feed_id"]): ["known"]}, "updates": {"is_ignored": True}},
        read="/api/v1/feed/{feed_id}/report/known",
    ),
    Change(
        "PUT /api/v1/yara/{name}",
        GLOBAL,
        lambda o: yara_text(o["n"]),
        "/api/v1/yara/{name}",
        put_of("/api/v1/yara", yara_text, "name", "y"),
    ),
    Change(
        "DELETE /api/v1/yara/{name}",
        GLOBAL,
        read="/api/v1/yara/{name}",
        make=put_of("/api/v1/yara", yara_text, "name", "y"),
    ),
    # What is stored, blocked and answered.
    Change(
        f"POST {FILTERS}",
        GLOBAL,
        read="/api/v1/ingress_approvedlist",
        body=lambda o: {"id": f"made-{o['n']}", "path_filters": ["*x"], "enabled": False},
    ),
    Change(
        f"POST {FILTERS}/legacy",
        GLOBAL,
        read="/api/v1/ingress_approvedlist",
        body=lambda o: [{"id": f"made-{o['n']}", "path_filters": ["*x"], "enabled": False}],
    ),
    Change(
        f"POST {FILTERS}/check",
        GLOBAL,
        lambda _: {"filters": {"id": "tried", "path_filters": ["*x"]}},
    ),
    *(
        Change(
            f"PUT {FILTERS}{end}",
            GLOBAL,
            make=a_filter,
            body=lambda o: [{"id": o["filter_id"], "path_filters": [f"*{o['n']}"]}],
            read="/api/v1/ingress_approvedlist/{filter_id}",
        )
        for end in ("", "/legacy", "/{filter_id}")
    ),
    Change(
        f"DELETE {FILTERS}/legacy",
        GLOBAL,
        lambda o: [o["filter_id"]],
        "/api/v1/ingress_approvedlist/{filter_id}",
        a_filter,
    ),
    Change(
        f"DELETE {FILTERS}/{{filter_id}}",
        GLOBAL,
        make=a_filter,
        read="/api/v1/ingress_approvedlist/{filter_id}",
    ),
    Change(
        f"POST {BANS}",
        EVERY_ANALYST,
        lambda o: {"md5hash": f"{o['n']:032x}", "text": "t"},
        "/api/v1/banning/bannedlist",
    ),
    Change(
        f"PUT {BANS}/{{md5}}",
        EVERY_ANALYST,
        lambda _: {"enabled": False},
        "/api/v1/banning/bannedlist/{md5}",
        ban,
    ),
    Change(
        f"DELETE {BANS}/{{md5}}", EVERY_ANALYST, read="/api/v1/banning/bannedlist/{md5}", make=ban
    ),
    Change(
        "POST /api/v1/response_policy",
        GLOBAL,
        read="/api/v1/response_policy",
        body=lambda o: {"name": f"made {o['n']}", "action": "isolate"},
    ),
    Change(
        "PUT /api/v1/response_policy/{policy_id}",
        GLOBAL,
        lambda _: {"hour_max": 2},
        "/api/v1/response_policy/{policy_id}",
        policy,
    ),
    Change(
        "DELETE /api/v1/response_policy/{policy_id}",
        GLOBAL,
        make=policy,
        read="/api/v1/response_policy/{policy_id}",
    ),
    Change(
        "POST /api/v1/alert/suppression",
        GLOBAL,
        read="/api/v1/alert/suppression",
        body=lambda o: {"query": f"title:m{o['n']}", "name": "s", "reason": "r"},
    ),
    Change(
        "PUT /api/v1/alert/suppression/{suppression_id}",
        GLOBAL,
        lambda _: {"enabled": False},
        "/api/v1/alert/suppression/{suppression_id}",
        suppression,
    ),
    Change(
        "DELETE /api/v1/alert/suppression/{suppression_id}",
        GLOBAL,
        make=suppression,
        read="/api/v1/alert/suppression/{suppression_id}",
    ),
    # Alerts.
    Change(
        "POST /api/(v1|v2)/alert/{alert_id}",
        ANALYST,
        lambda o: {"notes": f"n {o['n']}"},
        ALERT,
        of_group,
        BOTH,
    ),
    Change(f"POST {ALERT}/note", ANALYST, lambda o: {"text": f"n {o['n']}"}, ALERT, of_group, BOTH),
    Change(
        "POST /api/v1/alerts", Who("group", denied=409), bulk, ALERT, counted, BOTH, name="counted"
    ),
    Change(
        "POST /api/v1/alerts",
        Who("global"),
        make=counted,
        groups=BOTH,
        read=ALERT,
        body=lambda o: {"alert_ids": [o["alert_id"]], "requested_status": "Resolved"},
        name="not counted",
    ),
    Change(
        "POST /api/v1/alerts",
        Who("global"),
        make=counted,
        groups=BOTH,
        read=ALERT,
        body=lambda o: bulk(o) | {"set_ignored": True},
        name="with reports",
    ),
    Change(
        "POST /api/v1/undo/{action_id}",
        Who("own", admin_too=False),
        read=ALERT,
        make=changed_alerts,
        groups=(OURS,),
    ),
    Change(
        f"POST {CLOUD_ALERTS}/workflow",
        Who("group", denied=200, is_of_cloud=True),
        body=lambda o: {"criteria": {"id": [o["alert_id"]]}, "status": "IN_PROGRESS"},
        make=of_group,
        groups=BOTH,
        begins_job=True,
    ),
    Change(
        f"POST {CLOUD_ALERTS}/{{alert_id}}/notes",
        CLOUD_ANALYST,
        lambda o: {"note": f"n {o['n']}"},
        f"{CLOUD_ALERTS}/{{alert_id}}/notes",
        of_group,
        BOTH,
    ),
    Change(
        f"DELETE {CLOUD_ALERTS}/{{alert_id}}/notes/{{note_id}}",
        CLOUD_ANALYST,
        make=note,
        read=f"{CLOUD_ALERTS}/{{alert_id}}/notes",
        groups=BOTH,
    ),
    # Hosts.
    *(
        Change(f"PUT {SENSOR}", who, body, SENSOR, make, BOTH, name=name)
        for name, who, make, body in (
            ("isolate", ANALYST, sensor, lambda _: {"network_isolation_enabled": True}),
            ("restart", ANALYST, sensor, lambda _: {"restart_queued": True}),
            ("notes", ANALYST, sensor, lambda o: {"notes": f"n {o['n']}"}),
            ("uninstall", ADMINISTRATOR, sensor, lambda _: {"uninstall": True}),
        )
    ),
    Change(
        f"PUT {SENSOR}",
        Who("both", Role.ADMINISTRATOR),
        read=SENSOR,
        body=lambda o: {"group_id": o["other"]},
        make=sensor_to_move,
        groups=BOTH,
        name="move",
    ),
    *(
        Change(
            "PUT /api/v1/sensor",
            Who("group", role, denied=200),
            body,
            SENSOR,
            sensor,
            BOTH,
            name=name,
        )
        for name, role, body in (
            (
                "isolate many",
                Role.ANALYST,
                lambda o: {"ids": [o["sensor_id"]], "network_isolation_enabled": True},
            ),
            (
                "uninstall many",
                Role.ADMINISTRATOR,
                lambda o: {"ids": [o["sensor_id"]], "uninstall": True},
            ),
        )
    ),
    Change(
        "PUT /api/v1/sensor",
        Who("both", Role.ADMINISTRATOR, denied=200),
        read=SENSOR,
        body=lambda o: {"ids": [o["sensor_id"]], "group_id": o["other"]},
        make=sensor_to_move,
        groups=BOTH,
        name="move many",
    ),
    Change(
        f"POST {SENSOR}/enrolment",
        Who("group", Role.ADMINISTRATOR, Role.ADMINISTRATOR),
        lambda _: {"approve": True},
        f"{SENSOR}/enrolment",
        asking_sensor,
        BOTH,
    ),
    Change(
        "POST /api/v1/livequery",
        ANALYST,
        make=of_group,
        groups=BOTH,
        body=lambda o: {"sensor_ids": [o["shipper_id"]], "sql": "select 1"},
    ),
    Change(
        "POST /api/v1/binary/{md5}/request",
        ANALYST,
        lambda _: {},
        "/api/v1/binary/{md5}/request",
        file_to_order,
        BOTH,
    ),
    Change(
        "DELETE /api/v1/binary/{md5}/request",
        ANALYST,
        make=ordered_file,
        groups=BOTH,
        read="/api/v1/binary/{md5}/request",
    ),
    Change(f"POST {JOBS}", CLOUD_ADMINISTRATOR, update_body, make=sensor, groups=BOTH, read=JOBS),
    Change(
        f"POST {JOBS}/{{job_id}}/status",
        CLOUD_ADMINISTRATOR,
        lambda _: {"status": "CANCELLED"},
        f"{JOBS}/{{job_id}}",
        job,
        BOTH,
    ),
    Change(
        "POST /api/v1/hostalias",
        GLOBAL,
        read="/api/v1/hostalias",
        make=of_group,
        body=lambda o: {"alias": f"made{o['n']}.example", "hostname": o["hostname"]},
        groups=(OURS,),
    ),
    Change("DELETE /api/v1/hostalias/{alias}", GLOBAL, read="/api/v1/hostalias", make=alias),
    Change(
        "PUT /api/v1/hostconflict/{name}",
        GLOBAL,
        lambda o: {"owner": o["owner"]},
        "/api/v1/hostconflict",
        claimed_name,
    ),
    Change(
        "DELETE /api/v1/hostconflict/{name}", GLOBAL, read="/api/v1/hostconflict", make=decided_name
    ),
    Change(f"POST {GROUPS}", GLOBAL, lambda o: {"name": f"made {o['n']}"}, "/api/group"),
    Change(
        f"PUT {GROUPS}/{{group_id}}",
        GLOBAL,
        lambda o: {"name": f"named {o['n']}"},
        "/api/group/{group_id}",
        group,
    ),
    Change(f"DELETE {GROUPS}/{{group_id}}", GLOBAL, read="/api/group/{group_id}", make=group),
    Change("POST (/api|/api/v1)/site", GLOBAL, lambda o: {"name": f"made {o['n']}"}, "/api/site"),
    Change(
        "PUT (/api|/api/v1)/site/{site_id}",
        GLOBAL,
        lambda o: {"name": f"named {o['n']}"},
        "/api/site/{site_id}",
        site,
    ),
    Change("DELETE (/api|/api/v1)/site/{site_id}", GLOBAL, read="/api/site/{site_id}", make=site),
    # People and programs.
    Change(
        "POST (/api|/api/v1)/user", GLOBAL, lambda o: {"username": f"made{o['n']}"}, "/api/users"
    ),
    Change(
        "PUT (/api|/api/v1)/user/{username}",
        GLOBAL,
        lambda _: {"enabled": False},
        "/api/user/{username}",
        user,
    ),
    Change("DELETE (/api|/api/v1)/user/{username}", GLOBAL, read="/api/user/{username}", make=user),
    Change(
        "POST (/api|/api/v1)/team",
        GLOBAL,
        lambda o: {"name": f"made {o['n']}", "group_access": []},
        "/api/teams",
    ),
    Change(
        "PUT (/api|/api/v1)/team/{team_id}",
        GLOBAL,
        lambda o: {"name": f"named {o['n']}"},
        "/api/team/{team_id}",
        team,
    ),
    Change("DELETE (/api|/api/v1)/team/{team_id}", GLOBAL, read="/api/team/{team_id}", make=team),
    Change("POST /api/v1/token", CALLER, lambda o: {"name": f"t {o['n']}"}, "/api/v1/token"),
    Change(
        "POST /api/v1/token",
        Who("own", to_call=Role.NONE, is_shared=True),
        name="of another",
        body=lambda o: {"name": f"t {o['n']}", "user": "colleague"},
        read="/api/v1/token",
    ),
    Change(
        "POST /api/v1/token",
        GLOBAL,
        make=of_group,
        groups=BOTH,
        name="of a sender",
        body=lambda o: {"name": f"t {o['n']}", "group_id": o["group"]},
        read="/api/v1/token",
    ),
    Change(
        "DELETE /api/v1/token/{token_id}",
        Who("own", to_call=Role.NONE),
        read="/api/v1/token",
        make=token_of_a_colleague,
    ),
    Change(
        "DELETE /api/v1/session/{session_id}",
        Who("own", to_call=Role.NONE, admin_too=False),
        make=session_of_a_colleague,
    ),
    Change("PUT /api/v1/me/preferences", CALLER, lambda o: {"zone": f"z{o['n']}"}),
    Change(
        "POST /api/v1/saved_search",
        CALLER,
        lambda o: {"name": f"s {o['n']}", "view": "process", "params": "q=a"},
    ),
    Change(
        "DELETE /api/v1/saved_search/{search_id}",
        Who("own", to_call=Role.NONE, admin_too=False),
        make=kept_search(shared=False),
    ),
    Change(
        "DELETE /api/v1/saved_search/{search_id}",
        Who("own", to_call=Role.NONE, is_shared=True),
        make=kept_search(shared=True),
        read="/api/v1/saved_search",
        name="shared",
    ),
    Change("POST /api/v1/permalink", CALLER, lambda _: {"view": "process", "params": "q=a"}),
    Change(
        "POST /api/v1/cloud/app", GLOBAL, lambda o: {"name": f"made {o['n']}"}, "/api/v1/cloud/app"
    ),
    Change(
        "PUT /api/v1/cloud/app/{app_id}",
        GLOBAL,
        lambda _: {"enabled": False},
        "/api/v1/cloud/app/{app_id}",
        app,
    ),
    Change(
        "DELETE /api/v1/cloud/app/{app_id}", GLOBAL, make=app, read="/api/v1/cloud/app/{app_id}"
    ),
    Change("POST /api/v1/cloud/app/{app_id}/secret", GLOBAL, make=app),
    Change(
        "POST /api/v1/cloud/role",
        GLOBAL,
        read="/api/v1/cloud/role",
        body=lambda o: {"name": f"made {o['n']}", "permissions": ["device:read"]},
    ),
    Change(
        "PUT /api/v1/cloud/role/{role_id}",
        GLOBAL,
        lambda o: {"name": f"named {o['n']}"},
        "/api/v1/cloud/role/{role_id}",
        role,
    ),
    Change(
        "DELETE /api/v1/cloud/role/{role_id}",
        GLOBAL,
        make=role,
        read="/api/v1/cloud/role/{role_id}",
    ),
    Change(
        "POST /api/v1/identity_provider",
        GLOBAL,
        lambda o: provider_body(o["n"]),
        "/api/v1/identity_provider",
    ),
    Change(
        "PUT /api/v1/identity_provider/{provider_id}",
        GLOBAL,
        lambda _: {"enabled": False},
        "/api/v1/identity_provider/{provider_id}",
        provider,
    ),
    Change(
        "DELETE /api/v1/identity_provider/{provider_id}",
        GLOBAL,
        make=provider,
        read="/api/v1/identity_provider/{provider_id}",
    ),
    Change(
        "POST /api/v1/identity",
        GLOBAL,
        read="/api/v1/identity",
        make=identity_wanted,
        body=lambda o: {"username": o["username"], "provider": o["provider"], "subject": "s"},
    ),
    Change("DELETE /api/v1/identity/{identity_id}", GLOBAL, read="/api/v1/identity", make=identity),
    # The server.
    Change(
        f"POST {APPROVED}/entries",
        GLOBAL,
        read="/approvedlist/entries",
        body=lambda o: {"ipaddr": f"198.19.{o['n'] // 250}.{o['n'] % 250}"},
    ),
    Change(
        f"DELETE {APPROVED}/entries/{{entry_id}}", GLOBAL, read="/approvedlist/entries", make=entry
    ),
    Change(
        f"PATCH {APPROVED}/enabled",
        GLOBAL,
        lambda _: {"state": True},
        "/approvedlist/enabled",
        own_address,
        clean=not_approving,
    ),
    Change(
        "POST (/api|/api/v1)/license",
        GLOBAL,
        lambda o: {"license": o["license"]},
        "/api/license",
        lambda world, _: {"license": world.license()},
    ),
    Change(
        "PUT|POST /api/v1/settings/global/platformserver",
        GLOBAL,
        lambda o: {"server_url": f"s{o['n']}.example"},
        "/api/v1/settings/global/platformserver",
    ),
    Change("POST /api/v1/outbox/retry", GLOBAL, lambda _: {"target": "email:1"}),
    Change(
        "POST /api/v1/outbox/discard",
        GLOBAL,
        lambda o: {"ids": [o["message"]]},
        "/api/v1/outbox/message?state=discarded",
        lambda world, _: {"message": world.message()},
    ),
    Change("POST /api/v1/outbox/test", GLOBAL, lambda o: {"target": o["target"]}, make=target),
    Change(f"POST {CONFIGS}", CLOUD_GLOBAL, forwarder_body, CONFIGS),
    Change(
        f"PUT {CONFIGS}/{{forwarder_id}}",
        CLOUD_GLOBAL,
        lambda o: {"name": f"named {o['n']}"},
        f"{CONFIGS}/{{forwarder_id}}",
        forwarder,
    ),
    Change(
        f"DELETE {CONFIGS}/{{forwarder_id}}",
        CLOUD_GLOBAL,
        make=forwarder,
        read=f"{CONFIGS}/{{forwarder_id}}",
    ),
    Change(f"POST {CONFIGS}/{{forwarder_id}}/healthcheck", CLOUD_GLOBAL, make=forwarder),
    Change("POST /api/v1/binary/file", GLOBAL, lambda o: f"#!/bin/sh\necho {o['n']}\n".encode()),
    Change("POST /api/v1/backup/snapshot", GLOBAL, clean=no_snapshot),
    Change("DELETE /api/v1/backup/snapshot/{snapshot_id}", GLOBAL, make=snapshot),
    # Last, since telemetry is not mounted any more.
    Change(
        "POST /api/v1/storage/events/new_partition", GLOBAL, read="/api/v1/storage/events/partition"
    ),
    *(
        Change(
            f"{method} /api/v1/storage/events/{{partition_name}}{end}",
            GLOBAL,
            read="/api/v1/storage/events/partition",
            make=make,
        )
        for method, end, make in (
            ("POST", "/unmount", partition),
            ("POST", "/mount", cold_partition),
            ("DELETE", "", partition),
        )
    ),
)

ELSEWHERE: dict[tuple[str, str], str] = {
    ("PUT", "/api/v1/me/password"): "test_a_password_is_changed_by_who_knows_the_present_one",
    ("POST", "/api/v1/secondfactor"): "test_a_second_factor_is_needed_once_it_is_confirmed",
    ("PUT", "/api/v1/secondfactor"): "test_a_second_factor_is_needed_once_it_is_confirmed",
    ("DELETE", "/api/v1/secondfactor"): "test_a_second_factor_is_needed_once_it_is_confirmed",
    ("DELETE", "/api/v1/session"): "test_a_session_is_a_cookie_that_only_this_host_gets",
}
"""Changes of what is the caller's own alone, without an object in the request: which test of
`test_sessions.py` makes them."""
