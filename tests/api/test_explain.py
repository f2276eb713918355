"""Report of `/api/v1/query/explain` about a query."""

from typing import Any

import httpx
import pytest

from tests.support.sysmon import Story


def explained(analyst: httpx.Client, query: str) -> dict[str, Any]:
    answer = analyst.get("/api/v1/query/explain", params={"q": query})
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def test_every_term_is_counted_by_itself(analyst: httpx.Client, sent_story: Story) -> None:
    host = sent_story.hostname if hasattr(sent_story, "hostname") else "api-host.corp.example"
    body = explained(analyst, f"hostname:{host} process_name:no-such-program.exe")
    here, nowhere = body["terms"]
    assert here["segments"] > 0
    assert (nowhere["segments"], body["total_results"]) == (0, 0)


def test_the_tree_has_the_places_of_its_terms(analyst: httpx.Client) -> None:
    body = explained(analyst, "a.exe OR -b.exe")
    left, right = body["tree"]["or"]
    assert (left["value"], left["start"], left["end"]) == ("a.exe", 0, 5)
    assert right["not"]["value"] == "b.exe"


def test_the_query_is_shown_in_one_spelling(analyst: httpx.Client) -> None:
    assert explained(analyst, "(a.exe and (b.exe))")["query"] == "a.exe b.exe"


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ("filemod:*.docx", "begins with a wildcard"),
        ("process_name:cmd.exe powershell.exe", "has no field"),
        ("has_emet_config:true", "never matches"),
    ],
)
def test_a_costly_or_hopeless_term_is_hinted_at(
    analyst: httpx.Client, query: str, hint: str
) -> None:
    hints = explained(analyst, query)["hints"]
    assert any(hint in entry["hint"] for entry in hints), hints


def test_everything_has_no_terms(analyst: httpx.Client) -> None:
    body = explained(analyst, "")
    assert body["terms"] == []
    assert body["tree"] == {"everything": True}
    assert body["total_results"] == body["segments"]


def test_the_partitions_that_are_searched_are_named(analyst: httpx.Client) -> None:
    """Other tests of the same server may have rolled the writer's partition."""
    partitions = explained(analyst, "cmd.exe")["partitions"]
    assert {"name": "writer", "status": "hot", "searched": True} in partitions
    assert [p["name"] for p in partitions].count("writer") == 1
    assert {p["status"] for p in partitions} <= {"hot", "warm"}


def test_a_query_that_cannot_be_read_is_refused_with_its_place(analyst: httpx.Client) -> None:
    answer = analyst.get("/api/v1/query/explain", params={"q": "(cmd.exe"})
    assert answer.status_code == 400
    assert answer.json()["reason"] == "query_malformed_syntax"


@pytest.mark.parametrize(
    ("query", "plan"),
    [
        ("", {"access": "full_scan", "ranking": "top_by_key"}),
        ("process_name:no-such-program.exe", None),
        ("filemod:no-such-file-anywhere", None),
    ],
)
def test_the_plan_of_the_search_is_shown(
    analyst: httpx.Client, sent_story: Story, query: str, plan: dict[str, Any] | None
) -> None:
    found = explained(analyst, query)["plan"]
    assert found == plan if plan else found["access"] in {"no_match", "few_segments"}
