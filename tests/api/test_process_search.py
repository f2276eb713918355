"""Further parts of the answer of a process search: groups, facets, highlights and completeness
(docs/api-objects.md#search-answer, docs/clients.md#search-and-facets)."""

from typing import Any

import httpx
import pytest

from tests.api.test_processes import names, search
from tests.support.sysmon import Story
from vedette.store.read.segment_facets import FACETS
from vedette.store.read.segment_histogram import TIME_FIELDS


@pytest.fixture
def host(sent_story: Story) -> str:
    return f"hostname:{sent_story.host.name}"


def facets(client: httpx.Client, *fields: str, **parameters: Any) -> dict[str, Any]:
    asked = {"facet": "true", "facet.field": list(fields), "rows": 0, **parameters}
    return dict(search(client, **asked)["facets"])


def test_every_facet_that_is_asked_for_is_answered(analyst: httpx.Client, host: str) -> None:
    found = facets(analyst, *FACETS, q=host)
    assert set(found) == set(FACETS)
    for name, entries in found.items():
        for entry in entries:
            assert set(entry) == {"name", "value", "percent", "ratio"}
            assert isinstance(entry["name"], str)
            assert isinstance(entry["percent"], int | float)
            assert 0 <= float(entry["ratio"]) <= 100, name


def test_facets_count_the_whole_result_and_not_the_page(analyst: httpx.Client, host: str) -> None:
    body = search(analyst, q=host, rows=1, facet="true", **{"facet.field": "hostname"})
    assert (len(body["results"]), body["total_results"]) == (1, 4)
    (entry,) = body["facets"]["hostname"]
    assert entry == {"name": host[9:], "value": 4, "percent": 100.0, "ratio": "100.0"}


def test_facets_without_rows_still_report_the_total(analyst: httpx.Client, host: str) -> None:
    body = search(analyst, q=host, rows=0, facets="true", **{"facet.field": "group"})
    assert (body["results"], body["total_results"]) == ([], 4)


def test_a_facet_value_can_be_searched_for(analyst: httpx.Client, host: str) -> None:
    for name, entries in facets(analyst, *FACETS, q=host).items():
        for entry in entries:
            field = {"path_full": "path", "username_full": "username"}.get(name, name)
            query = f'{host} {field}:"{entry["name"]}"'
            assert search(analyst, q=query)["total_results"] == entry["value"], (name, entry)


def test_facets_of_nothing_are_empty_lists(analyst: httpx.Client) -> None:
    assert facets(analyst, "hostname", "start", q="hostname:nobody") == {
        "hostname": [],
        "start": [],
    }


def test_no_facets_are_counted_unless_asked_for(analyst: httpx.Client, host: str) -> None:
    asked = {"q": host, "facet": "false", "facet.field": "nothing"}
    assert search(analyst, **asked)["facets"] == {}
    assert search(analyst, q=host, facet="true")["facets"] == {}


def test_an_unknown_facet_is_named(analyst: httpx.Client) -> None:
    asked = {"facet": "true", "facet.field": "no_such_facet"}
    answer = analyst.get("/api/v1/process", params=asked)
    assert (answer.status_code, answer.json()["reason"]) == (400, "bad_request")
    assert "no_such_facet" in answer.json()["message"]


def test_fuzzy_facets_of_a_small_result_are_exact(analyst: httpx.Client, host: str) -> None:
    fields = ("process_name", "hostname")
    fuzzy = facets(analyst, *fields, q=host, **{"svc.facet.fuzzy": "true"})
    assert fuzzy == facets(analyst, *fields, q=host)


@pytest.mark.parametrize("prefix", ["svc", "cb"])
def test_a_group_is_one_row_for_each_value(analyst: httpx.Client, host: str, prefix: str) -> None:
    body = search(analyst, q=host, **{f"{prefix}.group": "hostname", "sort": "process_name asc"})
    assert body["total_results"] == len(body["results"]) == 1
    assert search(analyst, q=host, **{f"{prefix}.group": "id"})["total_results"] == 4


def test_facets_of_groups_count_groups(analyst: httpx.Client, host: str) -> None:
    found = facets(analyst, "hostname", q=host, **{"svc.group": "id"})
    assert [entry["value"] for entry in found["hostname"]] == [4]


def test_an_unknown_group_is_named(analyst: httpx.Client) -> None:
    answer = analyst.get("/api/v1/process", params={"svc.group": "no_such_field"})
    assert answer.status_code == 400
    assert "no_such_field" in answer.json()["message"]


@pytest.mark.parametrize(
    ("query", "parameters", "trusted"),
    [
        ("process_name:x", {}, True),
        ("filemod:a", {}, True),
        ("filemod:a domain:b", {}, False),
        ("-filemod:a", {}, False),
        ("filemod_count:[1 TO *] netconn_count:[1 TO *]", {}, False),
        ("filemod:a domain:b", {"svc.comprehensive_search": "true"}, True),
        ("filemod:a domain:b", {"cb.comprehensive_search": "1"}, True),
        ("filemod:a domain:b", {"comprehensive_search": "true"}, True),
        ("filemod:a domain:b", {"comprehensive_search": "false"}, False),
    ],
)
def test_an_answer_says_whether_segments_could_mislead(
    analyst: httpx.Client, query: str, parameters: dict[str, str], trusted: bool
) -> None:
    assert search(analyst, q=query, **parameters)["comprehensive_search"] is trusted


def test_a_comprehensive_search_finds_what_a_plain_one_finds(
    analyst: httpx.Client, host: str
) -> None:
    query = f"{host} filemod:up.exe domain:c2.evil.example -modload:nothing.dll"
    body = search(analyst, q=query, **{"svc.comprehensive_search": "true", "svc.group": "id"})
    assert names(body) == ["powershell.exe"]
    assert names(search(analyst, q=query)) == ["powershell.exe"]


def test_highlights_mark_the_text_and_name_its_results(
    analyst: httpx.Client, sent_story: Story, host: str
) -> None:
    body = search(analyst, q=f"{host} whoami.exe")
    found = {entry["name"]: entry["ids"] for entry in body["highlights"]}
    ids = {one["process_name"].lower(): one["unique_id"] for one in body["results"]}
    path = "C:\\Windows\\System32\\PREPREPREwhoami.exePOSTPOSTPOST"
    assert set(ids) == {"powershell.exe", "whoami.exe"}
    assert found["PREPREPREwhoami.exePOSTPOSTPOST"] == [ids["whoami.exe"]]
    assert set(found[path]) == set(ids.values())  # its own path, and that of a child
    assert f"PREPREPRE{sent_story.host.name}POSTPOSTPOST" in found


def test_highlights_follow_the_page(analyst: httpx.Client, host: str) -> None:
    body = search(analyst, q=f"{host} up.exe", rows=1, start=1)
    assert (body["results"], body["highlights"]) == ([], [])
    assert search(analyst, q=f"{host} up.exe", rows=0)["highlights"] == []
    marked = search(analyst, q=f"{host} filemod:up.exe")["highlights"]
    assert any("PREPREPREup.exePOSTPOSTPOST" in entry["name"] for entry in marked)


@pytest.mark.parametrize("query", ["", "netconn_count:[1 TO *]", "start:-24h", "-whoami.exe"])
def test_what_is_no_text_marks_nothing(analyst: httpx.Client, query: str) -> None:
    assert search(analyst, q=query)["highlights"] == []


def test_the_other_members_have_their_forms(analyst: httpx.Client, host: str) -> None:
    body = search(analyst, q=host)
    assert (body["all_segments"], body["incomplete_results"]) == (True, False)
    assert (body["tagged_pids"], body["filtered"]) == ({}, 0)
    assert body["terms"] == [host]


@pytest.mark.parametrize(
    ("bound", "found"),
    [
        ("min_last_update", {"2020-01-01": 4, "2037-01-01": 0}),
        ("max_last_update", {"2020-01-01": 0, "2037-01-01": 4}),
        ("min_last_server_update", {"2020-01-01T00:00:00": 4, "2037-01-01T00:00:00": 0}),
        ("max_last_server_update", {"2020-01-01T00:00:00": 0, "2037-01-01T00:00:00Z": 4}),
    ],
)
@pytest.mark.parametrize("prefix", ["svc", "cb"])
def test_updates_can_be_bounded(
    analyst: httpx.Client, host: str, bound: str, found: dict[str, int], prefix: str
) -> None:
    for moment, total in found.items():
        body = search(analyst, q=host, **{f"{prefix}.{bound}": moment})
        assert body["total_results"] == total, moment


def test_the_bounds_of_updates_are_inclusive(analyst: httpx.Client, sent_story: Story) -> None:
    query = f"hostname:{sent_story.host.name} process_name:whoami.exe"
    (one,) = search(analyst, q=query)["results"]
    bounds = {f"cb.{end}_last_update": one["last_update"] for end in ("min", "max")}
    assert search(analyst, q=query, **bounds)["total_results"] == 1


def test_a_flag_that_is_none_is_named(analyst: httpx.Client) -> None:
    answer = analyst.get("/api/v1/process", params={"svc.comprehensive_search": "perhaps"})
    assert answer.status_code == 400
    assert "comprehensive_search" in answer.json()["message"]


def test_a_posted_search_takes_lists(analyst: httpx.Client, host: str) -> None:
    body = {
        "q": [host],
        "facet": ["true"],
        "facet.field": ["hostname", "group"],
        "rows": 0,
        "cb.group": "id",
    }
    answer = analyst.post("/api/v1/process", json=body)
    assert set(answer.json()["facets"]) == {"hostname", "group"}
    assert answer.json()["total_results"] == 4


def test_the_rare_end_of_a_facet_and_so_many_of_its_values(
    analyst: httpx.Client, host: str
) -> None:
    (everything,) = facets(analyst, "process_name", q=host).values()
    assert len(everything) > 1
    rare = {"svc.facet.order": "count_asc"}
    (reversed_,) = facets(analyst, "process_name", q=host, **rare).values()
    assert [one["value"] for one in reversed_] == sorted(one["value"] for one in everything)
    assert {one["name"] for one in reversed_} == {one["name"] for one in everything}
    (first,) = facets(analyst, "process_name", q=host, **rare, **{"cb.facet.limit": 1}).values()
    assert [one["name"] for one in first] == [reversed_[0]["name"]]
    (most,) = facets(analyst, "process_name", q=host, **{"svc.facet.limit": "1"}).values()
    assert most[0]["value"] == max(one["value"] for one in everything)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("svc.facet.limit", "0"),
        ("svc.facet.limit", "201"),
        ("svc.facet.order", "name"),
        ("svc.buckets", "0"),
        ("svc.buckets", "401"),
        ("svc.histogram", "cmdline"),
        ("svc.histogram", "start), version("),
    ],
)
def test_what_counts_nothing_is_named(analyst: httpx.Client, name: str, value: str) -> None:
    answer = analyst.get("/api/v1/process", params={name: value})
    assert (answer.status_code, answer.json()["reason"]) == (400, "bad_request")
    assert name.removeprefix("svc.") in answer.json()["message"]


@pytest.mark.parametrize("field", TIME_FIELDS)
def test_results_over_time_add_up(analyst: httpx.Client, host: str, field: str) -> None:
    asked = {"q": host, "rows": 0, "svc.histogram": field}
    body = search(analyst, **asked)
    found = body["histogram"]
    assert found["field"] == field
    assert sum(one["count"] for one in found["buckets"]) == body["total_results"] == 4
    times = [one["time"] for one in found["buckets"]]
    assert times == sorted(times)
    assert times[-1] <= found["until"]
    (one,) = search(analyst, **asked, **{"svc.buckets": 1, "svc.group": "id"})["histogram"][
        "buckets"
    ][:1]
    assert one["count"] >= 1
    assert "histogram" not in search(analyst, q=host, rows=0)


def test_results_over_time_by_the_values_of_a_facet(analyst: httpx.Client, host: str) -> None:
    asked = {"q": host, "rows": 0, "svc.histogram": "start", "svc.histogram.by": "process_name"}
    found = search(analyst, **asked)["histogram"]
    (counted,) = facets(analyst, "process_name", q=host, **{"svc.facet.limit": 5}).values()
    assert found["values"] == [one["name"] for one in counted]
    sums = [sum(one["values"][at] for one in found["buckets"]) for at in range(len(counted))]
    assert sums == [one["value"] for one in counted]
    weekdays = search(analyst, **asked | {"svc.histogram.by": "day_of_week"})["histogram"]
    assert sum(sum(one["values"]) for one in weekdays["buckets"]) == 4
    wrong = analyst.get("/api/v1/process", params=asked | {"svc.histogram.by": "cmdline"})
    assert (wrong.status_code, "cmdline" in wrong.json()["message"]) == (400, True)


def test_nothing_over_time_has_no_times(analyst: httpx.Client) -> None:
    asked = {"q": "hostname:nobody", "svc.histogram": "start", "svc.histogram.by": "group"}
    found = search(analyst, **asked)["histogram"]
    assert (found["since"], found["until"], found["buckets"], found["values"]) == (
        None,
        None,
        [],
        [],
    )
