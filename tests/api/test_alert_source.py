"""The page of an alert leads to what made it, and says how that stands now."""

import httpx

from tests.api.test_sigma_rules import SIGMA, rule
from tests.support.served import wait_for
from tests.support.sysmon import story

HOST = "made-by.corp.example"


def test_an_alert_leads_to_its_rule_and_says_whether_its_text_was_changed(
    analyst: httpx.Client, sender: httpx.Client
) -> None:
    text = rule(80, HOST)
    [added] = analyst.post(SIGMA, json={"text": text}).json()["results"]
    assert sender.post("/api/v1/ingest", json=story(HOST).records).is_success
    asked = {"q": f"hostname:{HOST}", "rows": 1}

    def made() -> int:
        return int(analyst.get("/api/v2/alert", params=asked).json()["total_results"])

    assert wait_for(made, 1) == 1
    [alert] = analyst.get("/api/v2/alert", params=asked).json()["results"]

    def said() -> str:
        page = analyst.get(f"/ui/_/alerts/{alert['unique_id']}").text
        return page.partition("data-source>")[2].partition("</p>")[0]

    assert f'href="/ui/sigma/{added["id"]}"' in said()
    assert "A document of Office starts a shell</" in said()
    assert "Rule unchanged" in said()
    changed = analyst.post(SIGMA, json={"text": text.replace("level: high", "level: low")})
    assert changed.json()["results"][0]["change"] == "changed"
    assert f'href="/ui/sigma/{added["id"]}/versions"' in said()
    assert "Rule changed since, now revision 2" in said()
    assert analyst.get(f"/ui/sigma/{added['id']}/versions").is_success
    assert analyst.delete(f"{SIGMA}/{added['id']}").is_success
    assert "Rule deleted" in said()


def test_a_name_with_markup_is_text(analyst: httpx.Client, sender: httpx.Client) -> None:
    name = "<b onclick=x>7</b>"
    body = {"name": name, "index_type": "events", "search_query": "q=hostname:markup.corp.example"}
    made = analyst.post("/api/v1/watchlist", json=body | {"enabled": True})
    assert made.is_success, made.text
    number = made.json()["id"]
    action = {"action_type": 3, "action_data": "", "watchlist_id": number}
    assert analyst.post(f"/api/v1/watchlist/{number}/action", json=action).is_success
    assert sender.post("/api/v1/ingest", json=story("markup.corp.example").records).is_success
    asked = {"q": "hostname:markup.corp.example", "rows": 1}

    def made_alerts() -> bool:
        return bool(analyst.get("/api/v2/alert", params=asked).json()["total_results"])

    assert wait_for(made_alerts, True)
    [alert] = analyst.get("/api/v2/alert", params=asked).json()["results"]
    page = analyst.get(f"/ui/_/alerts/{alert['unique_id']}").text
    assert f'href="/ui/watchlists/{number}"' in page
    assert "<b onclick" not in page
