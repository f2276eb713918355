"""osquery's TLS plugin, by a client that sends what osquery sends and nothing it does not:
POST JSON over TLS 1.2 with ECDHE and AES-GCM, all result values text."""

import gzip
import json
import ssl
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import httpx
import pytest

from tests.support.sensor import enrol, secret_of
from tests.support.served import Server, hire, open_group
from vedette.model.principal import Role

CIPHERS = (
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
    "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384"
)


NUMBERS = count(1)
HOST_QUERIES = {"vedette_adapters", "vedette_computer_sid", "vedette_version"}


def tls_12(server: Server) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(server.certificate))
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(CIPHERS)
    return context


@dataclass
class Osquery:
    """The five calls of the TLS plugins."""

    client: httpx.Client
    host: str
    node_key: str = ""
    headers: dict[str, str] = field(default_factory=lambda: {"User-Agent": "osquery/5.12.1"})

    def post(self, path: str, body: dict[str, Any], **headers: str) -> httpx.Response:
        given = {**self.headers, "Content-Type": "application/json", **headers}
        content = json.dumps(body).encode()
        if headers.get("Content-Encoding") == "gzip":
            content = gzip.compress(content)
        return self.client.post(f"/osquery/{path}", content=content, headers=given)

    def enroll(self, secret: str, platform: str = "ubuntu") -> httpx.Response:
        details = {
            "os_version": {"platform": platform, "name": "Ubuntu", "version": "22.04"},
            "osquery_info": {"version": "5.12.1", "pid": "3", "build_platform": "linux"},
            "system_info": {"hostname": self.host, "uuid": "4C4C-1", "physical_memory": "1024"},
            "platform_info": {"vendor": "x"},
        }
        answer = self.post(
            "enroll",
            {"enroll_secret": secret, "host_identifier": "4C4C-1", "host_details": details},
        )
        self.node_key = answer.json().get("node_key", "")
        self.headers["Authorization"] = f"NodeKey {self.node_key}"
        return answer

    def call(self, path: str, headers: dict[str, str] | None = None, **members: Any) -> Any:
        answer = self.post(path, {"node_key": self.node_key, **members}, **(headers or {}))
        assert answer.status_code == 200, answer.text
        return answer.json()

    def result(self, name: str, **columns: str) -> dict[str, Any]:
        now = int(time.time())
        return {
            "name": name,
            "hostIdentifier": "4C4C-1",
            "calendarTime": time.strftime("%a %b %d %H:%M:%S %Y UTC", time.gmtime(now)),
            "unixTime": str(now),
            "epoch": "0",
            "counter": "1",
            "action": "added",
            "columns": columns,
        }


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, verify=tls_12(server), timeout=60) as made:
        yield made


@pytest.fixture
def node(server: Server, client: httpx.Client) -> Osquery:
    made = Osquery(client, f"node-{next(NUMBERS)}.osquery.example")
    assert made.enroll(secret_of(server)).status_code == 200
    return made


def sensor_of(analyst: httpx.Client, node: Osquery) -> dict[str, Any]:
    (found,) = analyst.get("/api/v1/sensor", params={"hostname": node.host}).json()
    return dict(found)


def processes(analyst: httpx.Client, node: Osquery, query: str = "") -> list[dict[str, Any]]:
    asked = {"q": f"hostname:{node.host} {query}", "rows": 50, "sort": "start asc"}
    return list(analyst.get("/api/v1/process", params=asked).json()["results"])


def test_a_host_enrolls_over_tls_1_2_and_is_a_sensor(analyst: httpx.Client, node: Osquery) -> None:
    node.call("config")
    record = sensor_of(analyst, node)
    assert (record["status"], record["os_environment_display_string"]) == ("Online", "Ubuntu 22.04")
    assert (record["physical_memory_size"], record["supports_isolation"]) == ("1024", False)


def test_a_wrong_secret_is_401_and_node_invalid(
    client: httpx.Client, analyst: httpx.Client
) -> None:
    answer = Osquery(client, "nobody-osquery.example").enroll("wrong")
    assert (answer.status_code, answer.json()["node_invalid"]) == (401, True)
    assert analyst.get("/api/v1/sensor", params={"hostname": "nobody-osquery"}).json() == []


@pytest.mark.parametrize("path", ["config", "log", "distributed/read", "distributed/write"])
@pytest.mark.parametrize("key", ["", "1:wrong", "x", None, 7, "99999999999999999999:x"])
def test_a_node_key_that_is_none_is_told_to_enroll_anew(
    client: httpx.Client, path: str, key: Any
) -> None:
    answer = client.post(f"/osquery/{path}", json={"node_key": key})
    assert (answer.status_code, answer.json()) == (200, {"node_invalid": True})


def test_enrolling_again_ends_the_old_node_key(server: Server, node: Osquery) -> None:
    again = Osquery(node.client, node.host, headers=dict(node.headers))  # with the old key
    assert again.enroll(secret_of(server)).status_code == 200
    assert again.call("config")["node_invalid"] is False
    assert node.call("config") == {"node_invalid": True}


def test_enrolling_again_without_the_old_node_key_waits_for_approval(
    server: Server, client: httpx.Client, analyst: httpx.Client, node: Osquery
) -> None:
    body = {"enroll_secret": secret_of(server), "host_identifier": node.host}
    answer = client.post("/osquery/enroll", json=body)
    assert (answer.status_code, answer.json()["reason"]) == (409, "reenrolment_pending")
    assert sensor_of(analyst, node)["reenrolment"] == "pending"
    assert node.call("config")["node_invalid"] is False


@pytest.mark.parametrize(
    ("platform", "tables"),
    [
        ("ubuntu", {"process_events", "socket_events", "process_file_events", "file_events"}),
        ("darwin", {"es_process_events", "es_process_file_events"}),
        ("windows", {"process_etw_events", "dns_lookup_events", "windows_events"}),
    ],
)
def test_the_configuration_asks_for_the_event_tables_of_the_system(
    server: Server, client: httpx.Client, platform: str, tables: set[str]
) -> None:
    node = Osquery(client, f"config-{platform}.example")
    node.enroll(secret_of(server), platform)
    config = node.call("config")
    assert tables <= set(config["schedule"])
    events = [one for one in config["schedule"].values() if "snapshot" not in one]
    assert all(set(one) == {"query", "interval", "removed"} for one in events)
    assert config["options"]["disable_events"] is False
    assert any("JOIN hash" in one["query"] for one in config["schedule"].values()) or (
        platform == "darwin"
    )


@pytest.mark.parametrize("encoding", [{}, {"Content-Encoding": "gzip"}])
def test_results_become_processes_connections_and_files(
    analyst: httpx.Client, node: Osquery, encoding: dict[str, str]
) -> None:
    now = str(int(time.time()))
    data = [
        node.result(
            "process_events",
            pid="700",
            parent="1",
            path="/usr/bin/wget",
            cmdline="wget http://x",
            cwd='"/tmp"',
            uid="1000",
            auid="1000",
            euid="1000",
            time=now,
            syscall="execve",
            md5="c2" * 16,
            sha256="cd" * 32,
        ),
        node.result(
            "socket_events",
            action="connect",
            pid="700",
            path="/usr/bin/wget",
            family="2",
            protocol="6",
            local_address="",
            local_port="0",
            remote_address="203.0.113.9",
            remote_port="80",
            status="succeeded",
            time=now,
        ),
        node.result(
            "process_file_events",
            operation="creat",
            pid="700",
            ppid="1",
            executable="/usr/bin/wget",
            path="/tmp/loot",
            dest_path="",
            time=now,
        ),
    ]
    assert node.call("log", encoding, log_type="result", data=data) == {}
    (wget,) = processes(analyst, node, "path:/usr/bin/wget")
    assert (wget["cmdline"], wget["process_md5"]) == ("wget http://x", "c2" * 16)
    assert (wget["netconn_count"], wget["filemod_count"]) == (1, 1)


def test_a_repeated_log_is_stored_once(analyst: httpx.Client, node: Osquery) -> None:
    now = str(int(time.time()))
    row = node.result(
        "socket_events",
        action="connect",
        pid="9",
        path="/bin/nc",
        family="2",
        protocol="6",
        remote_address="203.0.113.1",
        remote_port="9",
        status="succeeded",
        time=now,
    )
    for _ in range(2):
        node.call("log", log_type="result", data=[row])
    (found,) = processes(analyst, node)
    assert found["netconn_count"] == 1


def test_a_host_logs_only_as_itself(analyst: httpx.Client, node: Osquery) -> None:
    row = node.result(
        "process_events",
        pid="5",
        parent="1",
        path="/bin/liar",
        cmdline="liar",
        time=str(int(time.time())),
        syscall="execve",
    )
    row |= {"hostIdentifier": "victim.example", "decorations": {"hostname": "victim.example"}}
    node.call("log", log_type="result", data=[row, {"differences": "of no known form"}])
    assert len(processes(analyst, node, "path:/bin/liar")) == 1
    assert analyst.get("/api/v1/sensor", params={"hostname": "victim"}).json() == []


def test_status_lines_are_taken_and_dropped(node: Osquery) -> None:
    assert node.call("log", log_type="status", data=[{"severity": "0", "message": "hello"}]) == {}


@pytest.mark.parametrize("content", [b"", b"[]", b"nonsense", b'{"node_key": '])
@pytest.mark.parametrize("path", ["enroll", "config", "log", "distributed/write"])
def test_a_body_that_is_no_object_is_400(client: httpx.Client, path: str, content: bytes) -> None:
    assert client.post(f"/osquery/{path}", content=content).status_code == 400


def test_a_live_query_is_asked_once_and_its_rows_are_read(
    analyst: httpx.Client, node: Osquery
) -> None:
    number = sensor_of(analyst, node)["id"]
    sql = "SELECT pid FROM processes"
    placed = analyst.post("/api/v1/livequery", json={"sensor_ids": [number], "sql": sql}).json()
    url = f"/api/v1/livequery/{placed['id']}"
    states = [analyst.get(url).json()["targets"][0]["state"]]
    asked = node.call("distributed/read")
    assert asked["queries"] == {str(placed["id"]): sql}
    states.append(analyst.get(url).json()["targets"][0]["state"])
    answer = {str(placed["id"]): [{"pid": "1"}], "77777": [{"pid": "2"}], "x": []}
    node.call("distributed/write", queries=answer, statuses={str(placed["id"]): 0})
    (target,) = analyst.get(url).json()["targets"]
    assert [*states, target["state"]] == ["waiting", "sent", "done"]
    assert (target["rows"], target["hostname"]) == ([{"pid": "1"}], node.host)
    assert node.call("distributed/read")["queries"] == {}


def test_answers_to_invented_queries_keep_nobody_waiting(
    server: Server, analyst: httpx.Client, node: Osquery
) -> None:
    """400,000 ids in one body took a minute, and every other write of the server with them."""
    number = sensor_of(analyst, node)["id"]
    placed = analyst.post("/api/v1/livequery", json={"sensor_ids": [number], "sql": "SELECT 1"})
    query_id = str(placed.json()["id"])
    assert list(node.call("distributed/read")["queries"]) == [query_id]
    invented: dict[str, Any] = {str(1_000_000 + one): [] for one in range(400_000)}
    queries = invented | {query_id: [{"a": "1"}]}
    begun = time.monotonic()
    node.call("distributed/write", queries=queries, statuses=dict.fromkeys(queries, 0))
    assert time.monotonic() - begun < 20
    (target,) = analyst.get(f"/api/v1/livequery/{query_id}").json()["targets"]
    assert target["rows"] == [{"a": "1"}]


@pytest.mark.parametrize("name", ["0" * 5_000 + "1", "9" * 5_000, "\u0663", "-1", "1.5", ""])
def test_an_answer_to_no_query_is_ignored(node: Osquery, name: str) -> None:
    assert node.call("distributed/write", queries={name: []}, statuses={name: 0}) == {}


@pytest.mark.parametrize("status", ["9" * 5_000, "--5", "\u0663", [], {}, None, 1e300])
def test_an_answer_with_a_status_that_is_no_number_is_ignored(node: Osquery, status: Any) -> None:
    assert node.call("distributed/write", queries={"1": []}, statuses={"1": status}) == {}


def test_a_live_query_that_fails_says_so(analyst: httpx.Client, node: Osquery) -> None:
    number = sensor_of(analyst, node)["id"]
    body = {"sensor_ids": [number], "sql": "SELECT nonsense"}
    query_id = str(analyst.post("/api/v1/livequery", json=body).json()["id"])
    node.call("distributed/read")
    node.call(
        "distributed/write",
        queries={query_id: []},
        statuses={query_id: 1},
        messages={query_id: "no such column"},
    )
    (target,) = analyst.get(f"/api/v1/livequery/{query_id}").json()["targets"]
    assert (target["state"], target["message"]) == ("failed", "no such column")


def test_live_queries_ask_for_the_role_and_the_program(
    server: Server, analyst: httpx.Client, node: Osquery
) -> None:
    number = sensor_of(analyst, node)["id"]
    body = {"sensor_ids": [number], "sql": "SELECT 1"}
    token = hire(server, "live-viewer", {1: Role.VIEWER})
    with server.client(**{"X-Auth-Token": token}) as viewer:
        assert viewer.post("/api/v1/livequery", json=body).status_code == 403
    for wrong in ({}, {"sensor_ids": []}, body | {"sql": ""}, body | {"sensor_ids": ["x"]}):
        assert analyst.post("/api/v1/livequery", json=wrong).status_code == 400
    assert analyst.post("/api/v1/livequery", json=body | {"sensor_ids": [99999]}).status_code == 404
    assert analyst.get("/api/v1/livequery/99999").status_code == 404


def test_osquery_collects_what_its_group_wants(
    server: Server, analyst: httpx.Client, client: httpx.Client
) -> None:
    group_id, _ = open_group(server, "quiet osquery")
    options = {"collect_netconns": False, "collect_filemods": False}
    analyst.put(f"/api/v1/group/{group_id}", json=options)
    node = Osquery(client, "quiet.osquery.example")
    assert node.enroll(secret_of(server, group_id)).status_code == 200
    schedule = node.call("config")["schedule"]
    assert set(schedule) - HOST_QUERIES == {"process_events", "user_events"}
    assert set(schedule) & HOST_QUERIES  # what the host is, no kind of event


def snapshot(node: Osquery, name: str, *rows: dict[str, str]) -> dict[str, Any]:
    """The result of a query whose rows are reported whole."""
    result = node.result(name) | {"action": "snapshot", "snapshot": list(rows)}
    del result["columns"]
    return result


def test_an_osquery_host_has_the_version_that_it_enrolled_with(
    analyst: httpx.Client, node: Osquery
) -> None:
    assert sensor_of(analyst, node)["build_version_string"] == "5.12.1"


@pytest.mark.parametrize(
    ("platform", "queries"),
    [
        ("ubuntu", {"vedette_adapters", "vedette_version"}),
        ("darwin", {"vedette_adapters", "vedette_version"}),
        ("windows", HOST_QUERIES),
    ],
)
def test_the_configuration_asks_what_the_host_is(
    server: Server, client: httpx.Client, platform: str, queries: set[str]
) -> None:
    node = Osquery(client, f"facts-{platform}.example")
    node.enroll(secret_of(server), platform)
    schedule = node.call("config")["schedule"]
    asked = {name for name, query in schedule.items() if query.get("snapshot")}
    assert asked == queries


@pytest.mark.parametrize("is_text", [False, True])
def test_an_osquery_host_has_the_addresses_and_the_version_that_it_reports(
    analyst: httpx.Client, node: Osquery, is_text: bool
) -> None:
    adapters = snapshot(
        node,
        "vedette_adapters",
        {"address": "127.0.0.1", "mac": "00:00:00:00:00:00"},
        {"address": "10.3.0.5", "mac": "02:AB:00:00:00:07"},
        {"address": "fe80::1%eth0", "mac": "02:ab:00:00:00:07"},
        {"address": "10.4.0.5", "mac": ""},
    )
    version = snapshot(node, "vedette_version", {"version": "5.13.0"})
    data = [json.dumps(one) if is_text else one for one in (adapters, version)]
    assert node.call("log", log_type="result", data=data) == {}
    record = sensor_of(analyst, node)
    assert record["network_adapters"] == (
        "10.3.0.5,02ab00000007|fe80::1,02ab00000007|10.4.0.5,000000000000|"
    )
    assert record["build_version_string"] == "5.13.0"
    assert record["id"] in sensor_ids(analyst, ip="10.4.0.5")
    assert processes(analyst, node) == []


def sensor_ids(analyst: httpx.Client, **asked: str) -> list[int]:
    return [one["id"] for one in analyst.get("/api/v1/sensor", params=asked).json()]


def test_a_windows_host_has_the_sid_of_its_accounts_without_their_number(
    server: Server, client: httpx.Client, analyst: httpx.Client
) -> None:
    node = Osquery(client, "sid.osquery.example")
    node.enroll(secret_of(server), "windows")
    rows = [{"uuid": "S-1-5-18"}, {"uuid": "S-1-5-21-1004336348-1177238915-682003330-500"}]
    node.call("log", log_type="result", data=[snapshot(node, "vedette_computer_sid", *rows)])
    found = sensor_of(analyst, node)["computer_sid"]
    assert found == "S-1-5-21-1004336348-1177238915-682003330"


@pytest.mark.parametrize(
    "rows",
    [
        "no list",
        [7, None, "x"],
        [{"address": 5, "mac": []}, {"mac": "02:00"}, {"address": "x,y|z", "mac": "q"}],
        [{"address": "10.9.0.1\n", "mac": "," * 9_000}],
    ],
)
def test_reports_of_no_known_form_change_nothing(
    analyst: httpx.Client, node: Osquery, rows: Any
) -> None:
    before = sensor_of(analyst, node)
    results = [snapshot(node, name) | {"snapshot": rows} for name in sorted(HOST_QUERIES)]
    assert node.call("log", log_type="result", data=results) == {}
    after = sensor_of(analyst, node)
    for member in ("network_adapters", "build_version_string", "computer_sid"):
        assert after[member] == before[member], member


def test_a_report_of_many_addresses_is_cut(analyst: httpx.Client, node: Osquery) -> None:
    rows = [{"address": f"10.8.{n >> 8}.{n & 255}", "mac": ""} for n in range(1_000)]
    loopback = [{"address": "127.0.0.1", "mac": ""}] * 950
    report = snapshot(node, "vedette_adapters", *loopback, *rows)
    node.call("log", log_type="result", data=[report])
    assert sensor_of(analyst, node)["network_adapters"].count("|") == 50  # of 1,000 rows
    node.call("log", log_type="result", data=[snapshot(node, "vedette_adapters", *rows)])
    assert sensor_of(analyst, node)["network_adapters"].count("|") == 64


def test_what_osquery_reports_does_not_replace_what_the_sensor_of_the_host_reports(
    server: Server, client: httpx.Client, analyst: httpx.Client
) -> None:
    with server.client() as sensor_client:
        host, secret = "both.osquery.example", secret_of(server)
        sensor = enrol(sensor_client, host, secret, machine_id="4C4C-1")
        adapters = [{"ip": "10.5.0.1", "mac": "02:00:00:00:00:01"}]
        sensor.check_in(adapters=adapters, sensor_version="1.0.0")
        node = Osquery(client, host)
        assert node.enroll(secret).status_code == 200
        results = [
            snapshot(node, "vedette_adapters", {"address": "10.6.0.1", "mac": ""}),
            snapshot(node, "vedette_version", {"version": "5.13.0"}),
        ]
        node.call("log", log_type="result", data=results)
    record = sensor_of(analyst, node)
    assert record["network_adapters"] == "10.5.0.1,020000000001|"
    assert record["build_version_string"] == "1.0.0"


def test_processes_of_an_osquery_host_have_the_address_that_it_sends_from_and_its_first_own(
    analyst: httpx.Client, node: Osquery
) -> None:
    addresses = [{"address": one, "mac": ""} for one in ("fe80::9", "10.3.0.9", "10.3.0.8")]
    report = snapshot(node, "vedette_adapters", *addresses)
    node.call("log", log_type="result", data=[report])
    row = node.result(
        "process_events",
        pid="71",
        parent="1",
        path="/bin/addressed",
        cmdline="addressed",
        time=str(int(time.time())),
        syscall="execve",
    )
    node.call("log", log_type="result", data=[row])
    (found,) = processes(analyst, node, "comms_ip:127.0.0.1 path:/bin/addressed")
    assert (found["comms_ip"], found["interface_ip"]) == (0x7F000001, 0x0A030009)
