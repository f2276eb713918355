"""Searches that are posted as forms find what their JSON form finds."""

import httpx
import pytest

from tests.support.sysmon import Story

SEARCHES = ("/api/v1/process", "/api/v1/binary", "/api/v2/alert", "/api/v2/alert/group")
FORM = {"content-type": "application/x-www-form-urlencoded; charset=utf-8"}


@pytest.mark.parametrize("path", SEARCHES)
def test_a_form_is_read_like_json(analyst: httpx.Client, sent_story: Story, path: str) -> None:
    host = f"hostname:{sent_story.host.name}"
    asked = {"q": host, "rows": "3", "start": "0"}
    posted = analyst.post(path, data=asked)
    assert posted.status_code == 200, posted.text
    known, found = analyst.post(path, json=asked).json(), posted.json()
    for answer in (known, found):
        answer.pop("elapsed", None)
    assert found == known


def test_a_repeated_field_and_the_address_count_too(
    analyst: httpx.Client, sent_story: Story
) -> None:
    body = f"q=hostname%3A{sent_story.host.name}&q=process_name%3Apowershell.exe&rows=1"
    answer = analyst.post(
        "/api/v1/process", params={"start": 0}, content=body.encode(), headers=FORM
    ).json()
    assert answer["terms"] == [f"hostname:{sent_story.host.name}", "process_name:powershell.exe"]


@pytest.mark.parametrize(
    "content",
    [
        b"rows=",
        b"rows=x&q=a",
        b"q=\xff\xfe",
        b"q=%ff",
        b"&".join([b"a=b"] * 1_001),
        b"sort=a%20b%20c",
        b"facet=perhaps",
    ],
    ids=lambda content: repr(content[:12]),
)
def test_a_bad_form_is_refused(analyst: httpx.Client, content: bytes) -> None:
    for path in SEARCHES:
        assert analyst.post(path, content=content, headers=FORM).status_code == 400, path


def test_a_huge_form_is_refused(analyst: httpx.Client) -> None:
    answer = analyst.post("/api/v2/alert", content=b"q=" + b"a" * (1 << 20), headers=FORM)
    assert answer.status_code == 413


def test_an_empty_form_asks_for_everything(analyst: httpx.Client, sent_story: Story) -> None:
    answer = analyst.post("/api/v1/process", content=b"", headers=FORM).json()
    assert answer["total_results"] == analyst.get("/api/v1/process").json()["total_results"]
