"""Alerts over HTTPS: searched, read, changed one by one and many at once, within one's groups."""

import random
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from typing import Any
from urllib.parse import unquote_plus

import httpx
import pytest

from tests.support.forms import in_form
from tests.support.page_text import tight
from tests.support.served import Server, hire, open_group
from tests.support.sysmon import story
from tests.support.written_detections import alerted_server
from vedette.model.findings.detection import Detection, Source
from vedette.model.principal import Role

RULE = Source("rule", "11111111-2222-3333-4444-555555555555")
FEED = Source("feed", "7")


@dataclass
class Triage:
    """Two groups with a host each; analysts of the first, a viewer of it, an administrator."""

    server: Server
    admin: httpx.Client
    analyst: httpx.Client
    viewer: httpx.Client
    mine: list[str]
    theirs: list[str]


def hit(process: dict[str, Any], source: Source, title: str, **values: Any) -> Detection:
    kind = (
        "watchlist.hit.query.process" if source.kind == "rule" else "watchlist.hit.ingress.process"
    )
    usual: dict[str, Any] = {
        "source": source,
        "source_name": title,
        "alert_type": kind,
        "subject": process["id"],
        "time_us": time.time_ns() // 1_000,
        "sensor_id": process["sensor_id"],
        "process_id": process["id"],
        "segment_id": process["segment_id"],
        "title": title,
        "severity": 80,
        "level": "high",
        "techniques": ("T1059.001",),
        "matched": {"CommandLine": "<img src=x onerror=alert(1)>"},
        "event": {"Image": process["path"]},
        "rule_text": "title: x",
        "seq": 1,
    }
    return Detection(**(usual | values))


@pytest.fixture(scope="module")
def triage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Triage]:
    people: dict[str, str] = {}
    found: dict[str, list[Detection]] = {"mine": [], "theirs": []}

    def detect(server: Server) -> list[Detection]:
        mine, secret = open_group(server, "Mine")
        _, other = open_group(server, "Theirs")
        for name, token in (("mine", secret), ("theirs", other)):
            tale = story(f"{name}.alerts.example")
            with server.client(Authorization=f"Bearer {token}") as client:
                assert client.post("/api/v1/ingest", json=tale.records).status_code == 200
            with server.analyst() as client:
                query = {"q": f"hostname:{tale.host.name}", "rows": "50"}
                rows = client.get("/api/v1/process", params=query).json()["results"]
            found[name] = [hit(row, RULE, "Odd <b>process</b>") for row in rows]
            found[name].append(
                hit(
                    rows[0],
                    FEED,
                    "Bad file",
                    report_id="rep-1",
                    ioc_type="md5",
                    ioc_value="ab" * 16,
                )
            )
        people["analyst"] = hire(server, "ann", {mine: Role.ANALYST})
        people["viewer"] = hire(server, "vic", {mine: Role.VIEWER})
        return [*found["mine"], *found["theirs"], storm()]

    with alerted_server(tmp_path_factory.mktemp("alerts"), detect) as server:
        clients = [
            server.client(**{"X-Auth-Token": people[name]}) for name in ("analyst", "viewer")
        ]
        ids = {name: [one.id for one in found[name]] for name in found}
        with server.analyst() as admin:
            yield Triage(server, admin, clients[0], clients[1], ids["mine"], ids["theirs"])
        for client in clients:
            client.close()


def storm() -> Detection:
    return Detection(
        source=Source("server", "storm"),
        source_name="Alert storm",
        alert_type="watchlist.hit.query.process",
        subject="1",
        time_us=time.time_ns() // 1_000,
        sensor_id=0,
        title="Alert storm",
    )


def search(client: httpx.Client, **params: Any) -> dict[str, Any]:
    answer = client.get("/api/v2/alert", params={"rows": 100, **params})
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def ids(body: dict[str, Any]) -> set[str]:
    return {one["unique_id"] for one in body["results"]}


def test_an_alert_has_the_members_that_clients_read(triage: Triage) -> None:
    body = search(triage.admin, q=f"unique_id:{triage.mine[0]}")
    (alert,) = body["results"]
    for name in (
        "unique_id",
        "alert_type",
        "alert_severity",
        "status",
        "created_time",
        "sensor_id",
        "sensor_criticality",
        "hostname",
        "group",
        "username",
        "os_type",
        "comms_ip",
        "interface_ip",
        "process_name",
        "process_path",
        "process_id",
        "process_unique_id",
        "segment_id",
        "md5",
        "modload_count",
        "regmod_count",
        "filemod_count",
        "netconn_count",
        "crossproc_count",
        "childproc_count",
        "feed_id",
        "feed_name",
        "feed_rating",
        "watchlist_id",
        "watchlist_name",
        "report_score",
        "report_ignored",
        "ioc_type",
        "ioc_value",
        "ioc_confidence",
        "description",
        "link",
        "total_hosts",
        "_version_",
    ):
        assert alert[name] is not None, name
    assert alert["hostname"] == "mine.alerts.example"
    assert alert["group"] == "Mine"
    assert alert["process_name"]
    assert alert["alert_severity"] == 80.0
    assert body["comprehensive_search"] is True
    assert body["incomplete_results"] is False


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/api/v1/alert"), ("GET", "/api/v2/alert"), ("POST", "/api/v2/alert")],
)
def test_every_way_of_searching_answers_the_same(triage: Triage, method: str, path: str) -> None:
    wanted = {"cb.urlver": "1", "rows": "3", "facet": "true", "cb.fq.status": "Unresolved"}
    sorted_by = {"cb.q.created_time": "[1970-01-01T00:00:00 TO *]", "sort": "alert_severity desc"}
    given = wanted | sorted_by
    if method == "POST":
        listed = {name: [value] for name, value in given.items()}
        answer = triage.admin.post(path, json={**listed, "params": "created_time desc"})
    else:
        answer = triage.admin.get(path, params=given)
    body = answer.json()
    assert body["total_results"] == len(triage.mine) + len(triage.theirs) + 1
    assert len(body["results"]) == 3
    assert body["facets"]["status"][0]["name"] == "Unresolved"


def test_titles_are_data_and_are_highlighted(triage: Triage) -> None:
    body = search(triage.admin, q="title:odd", rows=1, facet="true", **{"facet.field": "title"})
    assert body["results"][0]["title"] == "Odd <b>process</b>"
    assert any("PREPREPREOddPOSTPOSTPOST" in one["name"] for one in body["highlights"])
    assert body["facets"]["title"][0]["name"] == "Odd <b>process</b>"


def test_others_alerts_are_never_seen_counted_or_faceted(triage: Triage) -> None:
    body = search(triage.viewer, facet="true", **{"facet.field": "hostname"})
    assert ids(body) == set(triage.mine)
    assert body["total_results"] == len(triage.mine)
    assert body["filtered"] == 0
    assert [one["name"] for one in body["facets"]["hostname"]] == ["mine.alerts.example"]
    groups = triage.viewer.get("/api/v2/alert/group", params={"group.field": "host"}).json()
    assert groups["total_results"] == 1
    assert groups["results"][0]["count"] == len(triage.mine)
    inner = triage.viewer.get("/api/v2/alert/group", params={"by": "rule,host,process_name"}).json()
    assert sum(one["count"] for one in inner["results"]) == len(triage.mine)
    assert {one["values"]["hostname"] for one in inner["results"]} == {"mine.alerts.example"}
    preview = triage.viewer.post("/api/v1/alert/suppression/preview", json={"query": "q="}).json()
    assert preview["alerts"] == preview["of_alerts"] == len(triage.mine)
    hidden = triage.theirs[0]
    for path in (f"/api/v1/alert/{hidden}", f"/api/v2/alert/{hidden}"):
        assert triage.viewer.get(path).status_code == 404
        assert triage.admin.get(path).status_code == 200
    assert (
        triage.analyst.post(f"/api/v1/alert/{hidden}", json={"status": "Resolved"}).status_code
        == 404
    )
    sensor = search(triage.admin, q=f"unique_id:{hidden}")["results"][0]["sensor_id"]
    assert triage.viewer.get(f"/api/v1/sensor/{sensor}/risk").status_code == 404
    own = search(triage.viewer, rows=1)["results"][0]["sensor_id"]
    assert triage.viewer.get(f"/api/v1/sensor/{own}/risk").json()["risk"] > 50


def test_an_alert_says_on_how_many_hosts_one_sees_what_it_names(triage: Triage) -> None:
    (file,) = search(triage.viewer, q='title:"Bad file"')["results"]
    seen = triage.admin.get("/api/v1/process", params={"q": f"md5:{file['md5']}", "rows": 50})
    hosts = {one["hostname"] for one in seen.json()["results"]}
    assert len(hosts) == 2
    for client, count in ((triage.admin, 2), (triage.viewer, 1)):
        page = client.get(f"/ui/_/alerts/{file['unique_id']}/prevalence")
        assert page.is_success
        counts = re.findall(r'data-prevalence="(\d+)"', page.text)
        assert counts == [str(count)] * 2  # of the indicator, then of the program
    hidden = triage.viewer.get(f"/ui/_/alerts/{triage.theirs[0]}/prevalence")
    assert hidden.status_code == 404


def test_the_queue_says_what_changed_since_a_visit_of_what_one_sees(triage: Triage) -> None:
    hour = 3_600_000
    now = round(time.time() * 1000)
    links = {}
    for client in (triage.viewer, triage.admin):
        for visit, is_said in (
            (f"0 {now - hour}", True),
            (f"{now - hour} {now - 1000}", True),  # reloaded within the visit
            (f"0 {now - 1000}", False),
            ("x", False),
        ):
            assert client.put("/api/v1/me/preferences", json={"visit": visit}).is_success
            page = client.get("/ui/alerts").text
            assert ("Since your last visit" in page) is is_said
            assert (f'data-visit="{now - hour}"' in page) is is_said
        client.put("/api/v1/me/preferences", json={"visit": f"0 {now - hour}"})
        page = client.get("/ui/alerts").text
        (changes,) = re.findall(r'hx-get="(/ui/_/alerts/changes\?[^"]+)"', page)
        assert f"since={now - hour}&" in unescape(changes)
        part = tight(client.get(unescape(changes)).text)
        ((query, count),) = re.findall(
            r'href="/ui/alerts\?q=(\S+)&amp;by=rule">(\d+) new<', tight(part)
        )
        found = search(client, q=unquote_plus(query), rows=0)["total_results"]
        assert int(count) == found
        links[client] = found
        client.put("/api/v1/me/preferences", json={})
    assert links[triage.viewer] == len(triage.mine) < links[triage.admin]


def test_alerts_over_time_and_the_rare_end_are_those_one_may_see(triage: Triage) -> None:
    asked = {"rows": 0, "svc.histogram": "created_time", "svc.buckets": 10}
    for client, count in ((triage.viewer, len(triage.mine)), (triage.admin, None)):
        body = search(client, **asked)
        buckets = body["histogram"]["buckets"]
        assert sum(one["count"] for one in buckets) == body["total_results"] == count or (
            count is None and body["total_results"] > len(triage.mine)
        )
    nothing = search(triage.viewer, **asked | {"svc.histogram": "resolved_time", "q": "title:no"})
    assert nothing["histogram"]["buckets"] == []
    rare = {"facet": "true", "facet.field": "title", "svc.facet.order": "count_asc"}
    titles = [one["value"] for one in search(triage.viewer, **rare)["facets"]["title"]]
    assert titles == sorted(titles)
    (first,) = search(triage.viewer, **rare, **{"svc.facet.limit": 1})["facets"]["title"]
    assert first["value"] == titles[0]
    for wrong in ({"svc.histogram": "title"}, asked | {"svc.histogram.by": "title"}):
        assert triage.viewer.get("/api/v2/alert", params=wrong).status_code == 400


def test_one_alert_is_changed_by_an_analyst_of_its_group(triage: Triage) -> None:
    alert_id = triage.mine[0]
    path = f"/api/v1/alert/{alert_id}"
    assert triage.viewer.post(path, json={"status": "Resolved"}).status_code == 403
    whole = triage.analyst.get(path).json()
    answer = triage.analyst.post(path, json=whole | {"status": "in progress", "notes": "looking"})
    assert answer.status_code == 200, answer.text
    changed = answer.json()
    assert (changed["status"], changed["notes"]) == ("In Progress", "looking")
    assert changed["history"][-1]["username"] == "ann"
    assert changed["history"][-1]["changes"]["status"] == {
        "from": "Unresolved",
        "to": "In Progress",
    }
    assert changed["event"] == whole["event"]
    closed = triage.analyst.post(path, json={"status": "RESOLVED", "unique_id": alert_id}).json()
    assert closed["resolved_time"] is not None
    assert ids(search(triage.analyst, q="status:Resolved")) == {alert_id}
    assert triage.analyst.post(path, json={"status": "Unresolved"}).json()["resolved_time"] is None


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"status": "Closed"},
        {"status": ""},
        {"status": 7},
        {"status": None},
        {"status": "Resolved", "unique_id": "0" * 32},
        {"notes": "x" * 100_000},
        {"assigned_to": ["bob"]},
        {"set_ignored": "yes"},
    ],
)
def test_nonsense_changes_nothing(triage: Triage, body: dict[str, Any]) -> None:
    path = f"/api/v1/alert/{triage.mine[1]}"
    before = triage.analyst.get(path).json()
    assert triage.analyst.post(path, json=body).status_code == 400
    assert triage.analyst.get(path).json() == before


@pytest.mark.parametrize(
    "body",
    [
        {"requested_status": "Resolved"},
        {"alert_ids": [], "requested_status": "Nonsense"},
        {"alert_ids": "x", "requested_status": "Resolved"},
        {"alert_ids": [1], "requested_status": "Resolved"},
        {"alert_ids": ["x" * 65], "requested_status": "Resolved"},
        {"alert_ids": ["0" * 32] * 100_001, "requested_status": "Resolved"},
        {"query": "", "requested_status": "Resolved"},
        {"query": "nosuchfield:x", "requested_status": "Resolved"},
        {"query": "q=%28", "requested_status": "Resolved"},
        {"query": "q="},
        {"alert_ids": ["0" * 32]},
    ],
)
def test_a_bulk_change_that_makes_no_sense_is_refused(triage: Triage, body: dict[str, Any]) -> None:
    answer = triage.admin.post("/api/v1/alerts", json=body)
    assert answer.status_code == 400
    assert triage.admin.get("/api/v2/alert", params={"q": "-status:unresolved"}).status_code == 200


def test_a_bulk_change_is_for_administrators_and_counts_exactly(triage: Triage) -> None:
    wanted = {"alert_ids": triage.theirs[:2], "requested_status": "resolved", "assigned_to": "bob"}
    assert triage.analyst.post("/api/v1/alerts", json=wanted).status_code == 403
    assert triage.admin.post("/api/v1/alerts", json=wanted).json() == {
        "result": "success",
        "changed": 2,
    }
    assert triage.admin.post("/api/v1/alerts", json=wanted).json()["changed"] == 0
    query = "cb.urlver=1&q=hostname%3Atheirs.alerts.example%20-assigned_to%3A%2A&rows=1"
    answer = triage.admin.post(
        "/api/v1/alerts", json={"query": query, "requested_status": "False Positive"}
    )
    assert answer.json()["changed"] == len(triage.theirs) - 2
    empty = {"alert_ids": [], "requested_status": "Resolved"}
    assert triage.admin.post("/api/v1/alerts", json=empty).json()["changed"] == 0
    audit = triage.admin.get("/api/v1/alerts/audit").json()
    assert audit[1]["selected"] == query
    assert audit[1]["changed"] == len(triage.theirs) - 2
    assert triage.analyst.get("/api/v1/alerts/audit").status_code == 403
    assert search(triage.viewer, q="-status:unresolved")["total_results"] == 0


def test_many_ids_are_taken_in_one_request(triage: Triage) -> None:
    unknown = [f"{number:032x}" for number in range(100_000)]
    answer = triage.admin.post(
        "/api/v1/alerts", json={"alert_ids": unknown, "requested_status": "Resolved"}
    )
    assert answer.json() == {"result": "success", "changed": 0}


def test_unknown_alerts_and_wrong_methods(triage: Triage) -> None:
    for alert_id in ("0" * 32, "x", "%00", "a" * 3_000):
        assert triage.admin.get(f"/api/v2/alert/{alert_id}").status_code == 404
        answer = triage.admin.post(f"/api/v1/alert/{alert_id}", json={"status": "Resolved"})
        assert answer.status_code == 404
    assert triage.admin.delete("/api/v1/alerts").status_code == 405
    with triage.server.client() as nobody:
        assert nobody.get("/api/v2/alert").status_code == 401


def test_suppressions_are_kept_by_administrators(triage: Triage) -> None:
    base = "/api/v1/alert/suppression"
    rule = {"query": "hostname:mine.alerts.example odd", "name": "Known", "reason": "test host"}
    assert triage.analyst.post(base, json=rule).status_code == 403
    made = triage.admin.post(base, json=rule).json()
    assert made["in_force"] is True
    assert made["expires"] is not None
    path = f"{base}/{made['id']}"
    changed = triage.admin.put(path, json={"enabled": False, "expires": None}).json()
    assert (changed["enabled"], changed["in_force"], changed["expires"]) == (False, False, None)
    assert triage.viewer.get(base).json() == [changed]
    assert triage.admin.delete(path).json() == {"result": "success"}
    assert triage.admin.get(path).status_code == 404
    assert triage.admin.delete(f"{base}/nothing").status_code == 404


@pytest.mark.parametrize(
    "rule",
    [
        {"query": " "},
        {"query": "status:"},
        {"query": "nosuchfield:1"},
        {"query": "a", "expires": "2001-01-01T00:00:00Z"},
    ],
)
def test_a_suppression_without_a_meaning_is_refused(triage: Triage, rule: dict[str, Any]) -> None:
    assert triage.admin.post("/api/v1/alert/suppression", json=rule).status_code == 400
    assert triage.admin.get("/api/v1/alert/suppression").json() == []


def test_a_query_that_is_a_bomb_is_refused_or_answered_in_time(triage: Triage) -> None:
    for query in (
        "(" * 500 + "a" + ")" * 500,
        "title:" + "a*" * 5_000,
        " OR ".join(f"title:x{n}*y" for n in range(3_000)),
    ):
        began = time.monotonic()
        answer = triage.admin.post("/api/v2/alert", json={"q": query})
        assert answer.status_code in (200, 400), answer.text
        assert time.monotonic() - began < 30
    assert triage.admin.get("/api/v2/alert", params={"q": "nosuchfield:1"}).status_code == 400
    assert triage.admin.get("/api/v2/alert", params={"sort": "event"}).status_code == 400
    wrong = {"facet": "true", "facet.field": "nothing"}
    assert triage.admin.get("/api/v2/alert", params=wrong).status_code == 400


@pytest.mark.parametrize("seed", range(in_form(3, 6)))
def test_a_bulk_change_touches_what_single_changes_of_the_same_alerts_would(
    triage: Triage, seed: int
) -> None:
    draw, everything = random.Random(seed), [*triage.mine, *triage.theirs]
    chosen = set(draw.sample(everything, draw.randint(1, len(everything))))
    query = draw.choice(["hostname:mine.alerts.example", "title:odd", "title:bad", ""])
    body: dict[str, Any] = {"assigned_to": f"round-{seed}"}
    wanted = set(everything)
    if query:
        wanted &= ids(search(triage.admin, q=query))
        body["query"] = query
    if draw.random() < 0.7 or not query:
        wanted &= chosen
        body["alert_ids"] = sorted(chosen | {"0" * 32})
    answer = triage.admin.post("/api/v1/alerts", json=body)
    assert answer.json()["changed"] == len(wanted), answer.text
    assert ids(search(triage.admin, q=f"assigned_to:round-{seed}")) == wanted
    for client in (triage.analyst, triage.viewer):
        assert client.post("/api/v1/alerts", json=body).status_code == 403
