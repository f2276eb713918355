"""Invalid requests of process analysis: 400 names the parameter, 404 names the missing object."""

from typing import Any

import pytest

from tests.api.analysis.conftest import Analysed

NOBODY = "00000001-0000-0000-0000-00000000dead"
ROOT = "/api/v6/process"


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ({"rows": -1}, "rows"),
        ({"rows": "many"}, "rows"),
        ({"rows": "1_0"}, "rows"),
        ({"rows": "\uff11"}, "rows"),
        ({"seek": "", "jump": "", "by": 1}, "seek and jump"),
        ({"seek": ""}, "by"),
        ({"seek": "", "by": "x"}, "by"),
        ({"seek": "", "by": 1, "to": 1}, "to"),
        ({"jump": ""}, "by"),
        ({"jump": "", "by": 1, "to": 1}, "by and to"),
        ({"jump": "", "to": "x"}, "to"),
        ({"jump": "", "to": -1}, "to"),
        ({"by": 1}, "by"),
        ({"to": 1}, "to"),
        ({"end_time": "yesterday"}, "end_time"),
        ({"end_time": "2026-01-01T00:00:00"}, "end_time"),
        ({"end_time": "2026-13-01T00:00:00.000Z"}, "end_time"),
    ],
)
def test_a_read_that_cannot_be_understood_is_400_with_the_name(
    analysed: Analysed, query: dict[str, Any], name: str
) -> None:
    answer = analysed.client.get(analysed.stream().path, params=query)
    assert (answer.status_code, answer.json()["reason"]) == (400, "bad_request")
    assert answer.json()["message"].startswith(name)


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ({}, "criteria"),
        ({"criteria": []}, "criteria"),
        ({"criteria": {"no_such_field": ["x"]}}, "criteria: unknown facet"),
        ({"criteria": {"no_such_field": []}}, "criteria: unknown facet"),
        ({"criteria": {"directory": "x"}}, "criteria: directory"),
        ({"criteria": {"directory": [None]}}, "criteria: directory"),
        ({"criteria": {"event_type": ["dnsquery"]}}, "criteria: event_type"),
        ({"criteria": {"domain": ["d"] * 1_001}}, "criteria: more than 1000"),
    ],
)
def test_criteria_that_cannot_be_understood_are_400_with_the_name(
    analysed: Analysed, body: dict[str, Any], name: str
) -> None:
    answer = analysed.client.patch(analysed.stream().path, json=body)
    assert (answer.status_code, answer.json()["reason"]) == (400, "bad_request")
    assert answer.json()["message"].startswith(name)


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ({"segment_id": 1}, "process_id"),
        ({"process_id": NOBODY}, "segment_id"),
        ({"process_id": "nonsense", "segment_id": 1}, "process_id"),
        ({"process_id": 5, "segment_id": 1}, "process_id"),
        ({"process_id": NOBODY, "segment_id": "x"}, "segment_id"),
        ({"process_id": NOBODY, "segment_id": -1}, "segment_id"),
        ({"process_id": NOBODY, "segment_id": True}, "segment_id"),
        ({"process_id": NOBODY, "segment_id": 1, "persistent": "yes"}, "persistent"),
    ],
)
def test_a_stream_that_cannot_be_made_is_400_with_the_name(
    analysed: Analysed, body: dict[str, Any], name: str
) -> None:
    answer = analysed.client.post(f"{ROOT}/stream", json=body)
    assert answer.status_code == 400
    assert answer.json()["message"].startswith(name)


@pytest.mark.parametrize(
    "path",
    [
        "nonsense/1/bulk",
        "nonsense/metadata",
        "nonsense/1/verify",
        "nonsense/1/segment",
        f"{NOBODY}/x/bulk",
        f"{NOBODY}/x/verify",
        f"{NOBODY}/x/segment",
        f"{NOBODY}/-1/segment",
        f"{NOBODY}/1/bulk?end_time=soon",
        "stream/nonsense",
        "suppression_status",
        f"suppression_status?parent_guid={NOBODY}",
        f"suppression_status?parent_guid={NOBODY}&childproc_guid=x",
        f"suppression_status?parent_guid={NOBODY}&childproc_guid={NOBODY}&childproc_md5=x",
    ],
)
def test_malformed_ids_are_400(analysed: Analysed, path: str) -> None:
    assert analysed.client.get(f"{ROOT}/{path}").status_code == 400


@pytest.mark.parametrize(
    "path",
    [
        f"{NOBODY}/1/bulk",
        f"{NOBODY}/metadata",
        f"{NOBODY}/1/verify",
        f"{NOBODY}/1/segment",
        f"suppression_status?parent_guid={NOBODY}&childproc_guid={NOBODY}",
    ],
)
def test_an_unknown_process_is_404_by_its_name(analysed: Analysed, path: str) -> None:
    answer = analysed.client.get(f"{ROOT}/{path}")
    assert answer.status_code == 404
    assert f"process '{NOBODY}'" in answer.json()["message"]


def test_an_unknown_segment_is_404_by_its_process_and_number(analysed: Analysed) -> None:
    asked = {"process_id": analysed.id, "segment_id": 77}
    stream = analysed.stream()
    for answer in (
        analysed.client.post(f"{ROOT}/stream", json=asked),
        analysed.client.get(stream.path, params={"jump": "", "to": 77}),
        analysed.get("77/bulk"),
        analysed.get("77/segment"),
    ):
        assert answer.status_code == 404
        assert f"process '{analysed.id}' has no segment 77" in answer.json()["message"]


def test_an_unknown_stream_is_404_by_its_id(analysed: Analysed) -> None:
    answer = analysed.client.get(f"{ROOT}/stream/{'0' * 32}")
    assert answer.status_code == 404
    assert "0" * 32 in answer.json()["message"]
