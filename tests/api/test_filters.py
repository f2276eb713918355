"""Ingress filters over HTTP, and what they keep from being stored."""

import json
import time
from typing import Any

import httpx
import pytest

from tests.support.sensor import enrol, secret_of, session
from tests.support.served import Server, hire, open_group, wait_for
from tests.support.sysmon import Story, story
from vedette.model.principal import Role

BASE = "/api/v1/ingress_approvedlist"
NOISE = r"*\powershell.exe"


@pytest.fixture
def create(analyst: httpx.Client) -> Any:
    """Creates a filter; it is gone after the test, so that others see all telemetry."""
    made: list[str] = []

    def _create(**members: Any) -> str:
        answer = analyst.post(BASE, json=[{"name": "noise", "description": "", **members}])
        assert answer.status_code == 200, answer.text
        (filter_id,) = answer.json()
        made.append(filter_id)
        return str(filter_id)

    yield _create
    for filter_id in made:
        analyst.delete(f"{BASE}/{filter_id}")


def found(analyst: httpx.Client, query: str) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = analyst.get("/api/v1/process", params={"q": query}).json()[
        "results"
    ]
    return results


def send(sender: httpx.Client, tale: Story) -> dict[str, Any]:
    body: dict[str, Any] = sender.post("/api/v1/ingest", json=tale.records).json()
    return body


def test_what_a_filter_means_is_acknowledged_counted_and_not_stored(
    analyst: httpx.Client, sender: httpx.Client, create: Any
) -> None:
    create(path_filters=[NOISE])
    tale = story("filtered.corp.example")
    answer = send(sender, tale)
    # Its start is an event of winword.exe too, so that record is stored in part.
    assert (answer["filtered"], answer["rejected"], answer["stored"]) == (5, 0, 4)
    names = {row["process_name"].lower() for row in found(analyst, f"hostname:{tale.host.name}")}
    assert names == {"winword.exe", "whoami.exe", "explorer.exe"}
    again = sender.post("/api/v1/ingest", json=tale.records).json()
    assert again["duplicate"] == len(tale.records)


def test_the_bulk_route_acknowledges_what_is_filtered(sender: httpx.Client, create: Any) -> None:
    create(path_filters=["*"])
    lines = []
    for record in story("bulk-filtered.corp.example").records:
        lines += [json.dumps({"create": {"_index": "x"}}), json.dumps(record)]
    answer = sender.post(
        "/_bulk",
        content="\n".join(lines) + "\n",
        headers={"Content-Type": "application/x-ndjson"},
    ).json()
    assert answer["errors"] is False
    assert {item["create"]["status"] for item in answer["items"]} == {200}


def test_descendants_go_with_their_ancestor(
    analyst: httpx.Client, sender: httpx.Client, create: Any
) -> None:
    create(path_filters=[r"*\winword.exe"], descendant_filtering_level=-1)
    tale = story("family.corp.example")
    send(sender, tale)
    rows = found(analyst, f"hostname:{tale.host.name}")
    assert [row["process_name"].lower() for row in rows] == ["explorer.exe"]


def test_descendants_in_later_requests_go_too(
    analyst: httpx.Client, sender: httpx.Client, create: Any
) -> None:
    create(path_filters=[r"*\winword.exe"], descendant_filtering_level=2)
    tale = story("late-family.corp.example")
    for record in tale.records:
        sender.post("/api/v1/ingest", json=[record])
    rows = found(analyst, f"hostname:{tale.host.name}")
    assert [row["process_name"].lower() for row in rows] == ["explorer.exe"]


def test_a_command_line_counts_for_events_of_later_requests(
    analyst: httpx.Client, sender: httpx.Client, create: Any
) -> None:
    create(cmdline_filters=["-enc SQBFAFgA"])
    tale = story("later.corp.example")
    for record in tale.records:
        sender.post("/api/v1/ingest", json=[record])
    assert found(analyst, f"hostname:{tale.host.name} process_name:powershell.exe") == []
    assert found(analyst, f"hostname:{tale.host.name} domain:c2.evil.example") == []


def test_single_events_go_and_the_process_stays(
    analyst: httpx.Client, sender: httpx.Client, create: Any
) -> None:
    create(path_filters=[NOISE], filter_all_events=False, netconn_filters=[r"203\.0\.113\."])
    tale = story("thinned.corp.example")
    send(sender, tale)
    (row,) = found(analyst, f"hostname:{tale.host.name} process_name:powershell.exe")
    assert (row["netconn_count"], row["filemod_count"], row["regmod_count"]) == (0, 1, 1)


@pytest.mark.parametrize(("priority", "count"), [(5, 1), (-5, 0)])
def test_a_pass_through_of_higher_priority_exempts(
    analyst: httpx.Client, sender: httpx.Client, create: Any, priority: int, count: int
) -> None:
    create(path_filters=[NOISE], priority=0)
    create(path_filters=[NOISE], priority=priority, filter_on_server=False)
    tale = story(f"pass-through-{count}.corp.example")
    send(sender, tale)
    rows = found(analyst, f"hostname:{tale.host.name} process_name:powershell.exe")
    assert len(rows) == count


def test_a_filter_for_another_group_leaves_a_host_alone(
    server: Server, analyst: httpx.Client, sender: httpx.Client, create: Any
) -> None:
    group_id, _ = open_group(server, "quiet hosts")
    create(**{"path_filters": ["*"], "global": False, "group_ids": [group_id]})
    tale = story("other-group.corp.example")
    assert send(sender, tale)["filtered"] == 0


def test_a_change_counts_at_once(analyst: httpx.Client, sender: httpx.Client, create: Any) -> None:
    filter_id = create(path_filters=["*"])
    assert send(sender, story("before.corp.example"))["filtered"] > 0
    analyst.put(f"{BASE}/{filter_id}", json={"enabled": False})
    assert send(sender, story("after.corp.example"))["filtered"] == 0


def test_the_metadata_of_a_filtered_process_is_there_once_the_filter_is_gone(
    analyst: httpx.Client, sender: httpx.Client, create: Any
) -> None:
    filter_id = create(path_filters=[NOISE])
    tale = story("ungated.corp.example")
    send(sender, tale)
    analyst.delete(f"{BASE}/{filter_id}")
    late = tale.host.of(tale.powershell, 11, 9, TargetFilename="C:\\late.txt")
    sender.post("/api/v1/ingest", json=[late])
    (row,) = found(analyst, f"hostname:{tale.host.name} filemod:late.txt")
    assert row["cmdline"] == tale.powershell.command_line


def test_the_hit_rate_is_the_share_of_processes_that_a_filter_meant(
    analyst: httpx.Client, sender: httpx.Client, create: Any
) -> None:
    filter_id = create(path_filters=[r"*\whoami.exe"], enabled=False)
    send(sender, story("metered.corp.example"))

    def is_counted() -> bool:
        return bool(analyst.get(f"{BASE}/{filter_id}").json()["hit_rate"] > 0)

    assert wait_for(is_counted, True)
    assert analyst.get(f"{BASE}/{filter_id}").json()["hit_rate"] < 1


def test_a_new_filter_has_the_defaults_of_the_documentation(
    analyst: httpx.Client, create: Any
) -> None:
    filter_id = create(id="my-Filter-1", hit_rate=0.5, create_user_id=99)
    assert filter_id == "my-Filter-1"
    body = analyst.get(f"{BASE}/{filter_id}").json()
    assert body["hit_rate"] == 0
    assert body["create_user_id"] == 1
    assert body["create_timestamp"].endswith("Z")
    wanted = {
        "enabled": True,
        "filter_on_sensor": False,
        "filter_on_server": True,
        "priority": 0,
        "track_metrics": True,
        "os_mask": 7,
        "global": True,
        "group_ids": [],
        "sensor_ids": [],
        "descendant_filtering_level": 0,
        "filter_all_events": True,
        "path_filters": [],
    }
    assert {name: body[name] for name in wanted} == wanted


@pytest.mark.parametrize("base", [BASE, "/api/v1/ingress_whitelist"])
def test_filters_are_listed_by_priority_under_both_names(
    analyst: httpx.Client, create: Any, base: str
) -> None:
    low, high = create(priority=-5), create(priority=5)
    listed = [one["id"] for one in analyst.get(base).json()]
    assert listed.index(high) < listed.index(low)


def test_the_older_form_names_command_lines_as_before(analyst: httpx.Client, create: Any) -> None:
    filter_id = create(command_line_filters=["x"])
    listed = analyst.get(f"{BASE}/legacy").json()
    (one,) = (one for one in listed if one["id"] == filter_id)
    assert one["command_line_filters"] == one["cmdline_filters"] == ["x"]


def test_put_takes_one_object_a_list_and_a_whole_record(analyst: httpx.Client, create: Any) -> None:
    filter_id = create(path_filters=["a"])
    record = analyst.get(f"{BASE}/{filter_id}").json()
    for body in ({"name": "b"}, [{"id": filter_id, "name": "b"}], record | {"name": "b"}):
        assert analyst.put(f"{BASE}/{filter_id}", json=body).json() == {"result": "success"}
    analyst.put(BASE, json=[{"id": filter_id, "priority": 3}])
    changed = analyst.get(f"{BASE}/{filter_id}").json()
    assert (changed["name"], changed["priority"], changed["path_filters"]) == ("b", 3, ["a"])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ([{"id": "f", "cmdline_filters": ["ok", "(a"]}], "'f': cmdline_filters[1]: missing )"),
        ([{"name": "x", "path_filters": ["regex:["]}], "path_filters[0]: missing ]"),
        ([{"name": "x", "md5_filters": ["xyz"]}], "md5_filters[0]: is not 32 hexadecimal digits"),
        ([{"name": "x", "priority": "high"}], "priority"),
        ([{"name": "x", "os_mask": 8}], "os_mask"),
        ([{"name": "x", "group_ids": [-1]}], "group_ids"),
        ([{"name": "x", "descendant_filtering_level": -2}], "descendant_filtering_level"),
        ([{"id": "a/b", "name": "x"}], "id"),
        ([{"id": "legacy", "name": "x"}], "id"),
        ([{"id": "x", "is_global": True}], "is_global"),
        ([], "list"),
        (["x"], "ingress filter"),
        (None, "ingress filter"),
    ],
)
def test_a_bad_filter_is_refused_by_name_and_nothing_is_changed(
    analyst: httpx.Client, body: Any, message: str
) -> None:
    before = analyst.get(BASE).json()
    answer = analyst.post(BASE, json=body)
    assert answer.status_code == 400
    assert message in answer.json()["message"]
    assert analyst.get(BASE).json() == before


def test_of_a_list_with_a_bad_filter_none_is_created(analyst: httpx.Client) -> None:
    body = [{"id": "good-one", "name": "x"}, {"id": "bad-one", "cmdline_filters": ["("]}]
    assert analyst.post(BASE, json=body).status_code == 400
    assert analyst.get(f"{BASE}/good-one").status_code == 404


def test_an_id_that_is_taken_is_a_conflict(analyst: httpx.Client, create: Any) -> None:
    filter_id = create()
    assert analyst.post(BASE, json=[{"id": filter_id, "name": "x"}]).status_code == 409


def test_an_unknown_filter_is_404(analyst: httpx.Client) -> None:
    for method in ("GET", "PUT", "DELETE"):
        body = {"json": {"name": "x"}} if method == "PUT" else {}
        assert analyst.request(method, f"{BASE}/nobody", **body).status_code == 404  # type: ignore[arg-type]


def test_a_put_for_another_id_is_refused(analyst: httpx.Client, create: Any) -> None:
    filter_id = create()
    answer = analyst.put(f"{BASE}/{filter_id}", json={"id": "other", "name": "x"})
    assert (answer.status_code, "id" in answer.json()["message"]) == (400, True)


def test_a_dry_run_stores_nothing_and_says_what_would_go(
    analyst: httpx.Client, sender: httpx.Client
) -> None:
    tale = story("trial.corp.example")
    send(sender, tale)
    body = [{"id": "trial", "cmdline_filters": [f"SQBFAFgA {tale.host.name}"]}]
    answer = analyst.post(BASE, params={"dry_run": "true"}, json=body).json()
    (trial,) = answer["filters"]
    assert answer["blinded"] == []
    assert trial["processes_meant"] == 1
    assert trial["processes"] >= 4
    assert trial["events_dropped"] == 7
    assert analyst.get(f"{BASE}/trial").status_code == 404


def test_a_dry_run_follows_descendants_and_counts_single_events(
    analyst: httpx.Client, sender: httpx.Client
) -> None:
    tale = story("trial-family.corp.example")
    send(sender, tale)
    mine = rf"invoice.docm|SQBFAFgA {tale.host.name}"
    first = {"id": "a", "cmdline_filters": [mine], "descendant_filtering_level": -1}
    second = {
        "id": "b",
        "cmdline_filters": [f"SQBFAFgA {tale.host.name}"],
        "filter_all_events": False,
        "regmod_filters": ["run"],
    }
    answer = analyst.post(BASE, params={"dry_run": "true"}, json=[first, second]).json()
    family, single = answer["filters"]
    assert family["processes_meant"] >= 3
    assert (single["processes_meant"], single["events_dropped"]) == (1, 1)


def test_what_a_filter_dropped_is_counted_in_events_and_in_bytes_as_they_were_sent(
    server: Server, analyst: httpx.Client, sender: httpx.Client, create: Any
) -> None:
    filter_id = create(path_filters=["*"], cmdline_filters=["counted-drops"])
    tale = story("counted-drops.corp.example")
    for record in tale.records:
        data = record.get("winlog", {}).get("event_data", {})
        if "CommandLine" in data:
            data["CommandLine"] += " counted-drops"
    sent = send(sender, tale)
    assert sent["filtered"] > 0

    def read(client: httpx.Client) -> dict[str, Any]:
        return dict(client.get(f"{BASE}/{filter_id}").json())

    assert wait_for(lambda: read(analyst)["events_dropped"] > 0, True)
    found = read(analyst)
    most = sum(len(json.dumps(one)) for one in tale.records)
    assert 0 < found["bytes_dropped"] <= most
    assert sum(found["events_dropped_by_hour"]) == found["events_dropped"]
    assert sum(found["bytes_dropped_by_hour"]) == found["bytes_dropped"]
    was = {"was": found}  # numbers that rise by themselves are no change of somebody else
    assert analyst.put(f"{BASE}/{filter_id}", json={"priority": 3, **was}).is_success
    token = hire(server, "drops-viewer", {open_group(server, "drops")[0]: Role.VIEWER})
    with server.client(**{"X-Auth-Token": token}) as viewer:
        hidden = read(viewer)
    assert (hidden["events_dropped"], hidden["bytes_dropped"]) == (0, 0)
    assert hidden["events_dropped_by_hour"] == hidden["bytes_dropped_by_hour"] == [0] * 24


def test_a_viewer_reads_the_filters_of_hosts_they_see_and_changes_none(
    server: Server, create: Any
) -> None:
    mine, _ = open_group(server, "seen by one")
    theirs, _ = open_group(server, "seen by others")
    for_mine = create(**{"global": False, "group_ids": [mine]})
    for_theirs = create(**{"global": False, "group_ids": [theirs]})
    for_all = create()
    token = hire(server, "filter-viewer", {mine: Role.VIEWER})
    with server.client(**{"X-Auth-Token": token}) as viewer:
        listed = {one["id"] for one in viewer.get(BASE).json()}
        assert {for_mine, for_all} <= listed
        assert for_theirs not in listed
        assert viewer.get(f"{BASE}/{for_theirs}").status_code == 404
        assert viewer.post(BASE, json=[{"name": "x"}]).status_code == 403


def test_what_a_sensor_filters_itself_the_server_leaves_alone(
    server: Server, analyst: httpx.Client, sender: httpx.Client, create: Any
) -> None:
    create(path_filters=["*"], filter_on_sensor=True)
    with server.client() as client:
        sensor = enrol(client, "self-filtering.corp.example", secret_of(server))
        sensor.send(session(int(time.time() * 1e6) - 10**8))
    assert found(analyst, "hostname:self-filtering.corp.example")
    assert send(sender, story("shipped.corp.example"))["filtered"] > 0


@pytest.mark.parametrize("base", [BASE, "/api/v1/ingress_whitelist"])
def test_the_older_path_changes_and_deletes_lists(
    analyst: httpx.Client, create: Any, base: str
) -> None:
    ids = [create(path_filters=["a"]) for _ in range(3)]
    changes = [{"id": one, "command_line_filters": ["x"], "priority": 7} for one in ids]
    assert analyst.put(f"{base}/legacy", json=changes).json() == {"result": "success"}
    kept = {one["id"]: one for one in analyst.get(BASE).json()}
    assert all((kept[one]["priority"], kept[one]["cmdline_filters"]) == (7, ["x"]) for one in ids)
    for body in (None, [], {}, [1], [ids[0], ids[0]], "x", [{"name": "x"}]):
        assert analyst.request("DELETE", f"{base}/legacy", json=body).status_code == 400, body
    gone = analyst.request("DELETE", f"{base}/legacy", json=[ids[0], "no-such"])
    assert gone.status_code == 404  # all or none
    assert ids[0] in {one["id"] for one in analyst.get(BASE).json()}
    answer = analyst.request("DELETE", f"{base}/legacy", json=[ids[0], {"id": ids[1]}])
    assert answer.json() == {"result": "success"}
    left = {one["id"] for one in analyst.get(BASE).json()}
    assert left & set(ids) == {ids[2]}
