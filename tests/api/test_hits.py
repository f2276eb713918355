"""Rule hits over HTTPS: what a rule found is searchable, within the groups of the caller."""

import httpx

from tests.api.test_sigma_rules import SIGMA, rule
from tests.support.served import Server, hire, open_group, wait_for
from tests.support.sysmon import story
from vedette.model.principal import Role

HIT = "/api/v1/hit"


def test_a_hit_is_found_from_its_alert_and_its_process_by_its_rule(
    analyst: httpx.Client, sender: httpx.Client
) -> None:
    added = analyst.post(SIGMA, json={"text": rule(40, "hits.corp.example")}).json()
    [rule_id] = [one["id"] for one in added["results"]]
    query = {"q": "hostname:hits.corp.example"}
    wait_for(lambda: analyst.get(f"{SIGMA}/{rule_id}").json()["state"], "in_force")
    assert sender.post("/api/v1/ingest", json=story("hits.corp.example").records).is_success
    # Hits are stored with their events: a search after the 2xx finds them.
    [hit] = analyst.get(HIT, params=query).json()["results"]
    assert hit["rule_id"] == rule_id
    assert hit["rule_name"] == "A document of Office starts a shell"
    assert (hit["level"], hit["hostname"]) == ("high", "hits.corp.example")
    assert hit["matched"]["CommandLine"]
    assert wait_for(lambda: analyst.get(HIT, params=query).json()["results"][0]["outcome"], "alert")
    assert analyst.get(f"/api/v2/alert/{hit['alert_id']}").json()["source_id"] == rule_id
    found = analyst.get("/api/v1/process", params={"q": f"rule:{rule_id}"}).json()
    assert [one["id"] for one in found["results"]] == [hit["process_id"]]
    form = {"q": [f"rule:{rule_id}", "level:high"], "facet": "true"}
    posted = analyst.post(HIT, json=form).json()
    assert posted["total_results"] == 1
    assert [one["name"] for one in posted["facets"]["outcome"]] == ["alert"]
    assert analyst.post(HIT, data={"q": f"rule:{rule_id} level:low"}).json()["total_results"] == 0


def test_hits_of_other_groups_are_hidden_also_from_counts_and_from_process_search(
    server: Server, analyst: httpx.Client
) -> None:
    other_id, _ = open_group(server, "hits elsewhere")
    group_id, secret = open_group(server, "hits here")
    added = analyst.post(SIGMA, json={"text": rule(41, "hidden-hits.corp.example")}).json()
    [rule_id] = [one["id"] for one in added["results"]]
    wait_for(lambda: analyst.get(f"{SIGMA}/{rule_id}").json()["state"], "in_force")
    with server.client(Authorization=f"Bearer {secret}") as sender:
        records = story("hidden-hits.corp.example").records
        assert sender.post("/api/v1/ingest", json=records).is_success
    question = {"q": f"rule:{rule_id}", "facet": "true", "facet.field": "hostname"}
    for name, group, total in (("hits-in", group_id, 1), ("hits-out", other_id, 0)):
        token = hire(server, name, {group: Role.VIEWER})
        with server.client(**{"X-Auth-Token": token}) as viewer:
            found = viewer.get(HIT, params=question).json()
            assert (found["total_results"], found["filtered"]) == (total, 0)
            assert len(found["facets"]["hostname"]) == total
            processes = viewer.get("/api/v1/process", params={"q": f"rule:{rule_id}"}).json()
            assert processes["total_results"] == total
    with server.client() as stranger:
        assert stranger.get(HIT).status_code == 401


def test_an_unknown_field_is_refused_with_its_position(analyst: httpx.Client) -> None:
    answer = analyst.get(HIT, params={"q": "level:high nosuch:1"})
    assert answer.status_code == 400
    assert (answer.json()["start"], answer.json()["end"]) == (11, 17)


def test_the_page_of_an_alert_lists_its_hits(analyst: httpx.Client, sender: httpx.Client) -> None:
    added = analyst.post(SIGMA, json={"text": rule(42, "page-hits.corp.example")}).json()
    [rule_id] = [one["id"] for one in added["results"]]
    wait_for(lambda: analyst.get(f"{SIGMA}/{rule_id}").json()["state"], "in_force")
    assert sender.post("/api/v1/ingest", json=story("page-hits.corp.example").records).is_success
    found = {"q": f"source_id:{rule_id}"}
    wait_for(lambda: analyst.get("/api/v2/alert", params=found).json()["total_results"], 1)
    [alert] = analyst.get("/api/v2/alert", params=found).json()["results"]
    path = f"/ui/_/alerts/{alert['unique_id']}/hits"
    assert path in analyst.get(f"/ui/_/alerts/{alert['unique_id']}").text
    shown = analyst.get(path).text
    assert 'data-hits="1"' in shown
    assert "page-hits.corp.example" in shown
    assert f"/ui/process/{alert['process_id']}" in shown


COUNTED = """title: Some documents start shells
id: 5c1f0a52-4a3e-4a56-9a33-0000000000aa
level: high
correlation:
  type: event_count
  rules: [5c1f0a52-4a3e-4a56-9a33-000000000043]
  group-by: [ParentImage]
  timespan: 5m
  condition:
    gte: 1
"""


def test_the_page_of_a_correlation_lists_the_hits_of_its_rules(
    analyst: httpx.Client, sender: httpx.Client
) -> None:
    text = rule(43, "counted-hits.corp.example") + "---\n" + COUNTED
    results = analyst.post(SIGMA, json={"text": text}).json()["results"]
    ids = [one["id"] for one in results]
    for rule_id in ids:
        wait_for(lambda at=rule_id: analyst.get(f"{SIGMA}/{at}").json()["state"], "in_force")
    sent = story("counted-hits.corp.example").records
    assert sender.post("/api/v1/ingest", json=sent).is_success
    found = {"q": f"source_id:{ids[1]}"}
    wait_for(lambda: analyst.get("/api/v2/alert", params=found).json()["total_results"], 1)
    [alert] = analyst.get("/api/v2/alert", params=found).json()["results"]
    shown = analyst.get(f"/ui/_/alerts/{alert['unique_id']}/hits").text
    assert 'data-hits="1"' in shown
    assert "Hits of the correlated rules" in shown
    question = {"q": f"rule_id:{ids[0]}"}
    [hit] = analyst.get(HIT, params=question).json()["results"]
    assert hit["outcome"] == "correlation"
