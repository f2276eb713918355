"""`*:*` is every document of each search, and a term without a token is none."""

from typing import Any

import httpx
import pytest

from tests.support.sysmon import Story

SEARCHES = ("/api/v1/process", "/api/v1/binary", "/api/v2/alert", "/api/v1/threat_report")

WITHOUT_TOKENS = {
    "/api/v1/process": (
        "cmdline:'",
        'cmdline:"\\"',
        "cmdline:;",
        "parent_cmdline:,",
        "path:\\",
        "path:/",
        "process_name:\\",
        "modload:\\\\",
        "domain:.",
        "regmod_value:--",
        'username:""',
        '""',
    ),
    "/api/v1/binary": ("product_name:---", "file_desc:!", "observed_filename:\\", '""'),
    "/api/v2/alert": ("title:---", "cmdline:'", "description:.", "process_path:\\", '""'),
    "/api/v1/threat_report": ("title:!!", "tags:-", "domain:..", '""'),
}


def total(client: httpx.Client, path: str, query: str) -> int:
    answer = client.get(path, params={"q": query, "rows": 0})
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    assert not body.get("incomplete_results")
    return int(body["total_results"])


@pytest.mark.parametrize("path", SEARCHES)
@pytest.mark.parametrize("query", ["*:*", "*", "(*:*)", "*:* *:*", "-(-*:*)"])
def test_everything_is_found(
    analyst: httpx.Client, sent_story: Story, path: str, query: str
) -> None:
    assert total(analyst, path, query) == total(analyst, path, "")
    assert analyst.get(path, params={"q": query}).json()["terms"] == []
    assert total(analyst, path, f"-{query}") == 0 or query == "*:* *:*"


@pytest.mark.parametrize(("path", "queries"), WITHOUT_TOKENS.items())
def test_a_term_without_a_token_finds_nothing(
    analyst: httpx.Client, sent_story: Story, path: str, queries: tuple[str, ...]
) -> None:
    for query in queries:
        assert total(analyst, path, query) == 0, query
        assert total(analyst, path, f"-{query}") == total(analyst, path, ""), query


def test_sensors_are_found_by_it_too(analyst: httpx.Client, sent_story: Story) -> None:
    def sensors(query: str) -> int:
        answer = analyst.get("/api/v2/sensor", params={"q": query, "rows": 1})
        return int(answer.json()["total_results"])

    assert sensors("*:*") == sensors("*") == sensors("") > 0
    assert sensors("-*:*") == sensors('""') == 0


def test_comprehensive_searches_and_facets_cover_everything(
    analyst: httpx.Client, sent_story: Story
) -> None:
    asked = {"rows": 0, "facet": "true", "facet.field": "hostname"}
    for more in ({}, {"svc.comprehensive_search": "true"}, {"svc.group": "id"}):
        plain, starred = (
            analyst.get("/api/v1/process", params={"q": query, **asked, **more}).json()
            for query in ("", "*:*")
        )
        for name in ("total_results", "facets", "comprehensive_search"):
            assert plain[name] == starred[name], (name, more)


NUMBERS = {
    "/api/v1/process": ("rows", "start", "svc.facet.limit", "svc.buckets", "cb.rows"),
    "/api/v1/binary": ("rows", "start"),
    "/api/v2/alert": ("rows", "start"),
    "/api/v1/threat_report": ("rows", "start"),
    "/api/v2/sensor": ("rows", "start", "groupid", "inactive_filter_days", "silent_filter_days"),
    "/api/v1/sensor": ("groupid", "inactive_filter_days"),
    "/api/v1/completeness": ("rows", "start", "sensor_id", "group_id"),
    "/api/v1/audit": ("rows", "start", "verify"),
    "/api/v1/outbox/message": ("rows", "after"),
    "/api/v1/sigma": ("rows", "start"),
    "/api/v1/response": ("rows", "before"),
    "/api/v1/approvedlist/locked_out": ("without",),
    "/api/v1/query/suggest": ("at",),
}
FLAGS = {
    "/api/v1/process": ("facet", "svc.comprehensive_search", "svc.facet.fuzzy"),
    "/api/v2/alert": ("facets", "facet"),
}


@pytest.mark.parametrize(
    ("path", "name"),
    [(path, name) for table in (NUMBERS, FLAGS) for path, names in table.items() for name in names],
)
def test_a_number_or_a_flag_without_a_value_is_refused(
    analyst: httpx.Client, path: str, name: str
) -> None:
    for value in ("", " "):
        answer = analyst.get(path, params={"from": "-24h", name: value})
        assert answer.status_code == 400, (value, answer.text)
        assert name.removeprefix("svc.").removeprefix("cb.") in answer.json()["message"]
    assert analyst.get(path, params={"from": "-24h", name: "x7"}).status_code == 400
