"""Reports of browsers about the console's content security policy, which any client can send."""

import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from tests.support.served import Server
from vedette.web.http.policy_reports import CSP_REPORTS_OF_ADDRESS_MAX
from vedette.web.server.policy_reports_routes import CSP_REPORT_BYTES_MAX

PATH = "/api/v1/csp-report"
MARK = "s3cr3t-of-a-link"
ADDRESSES = iter(f"127.0.9.{n}" for n in range(1, 255))
"""Each sends as many reports as it may."""


@contextmanager
def somebody(server: Server) -> Iterator[httpx.Client]:
    trusted = ssl.create_default_context(cafile=str(server.certificate))
    transport = httpx.HTTPTransport(verify=trusted, local_address=next(ADDRESSES))
    with httpx.Client(base_url=server.url, transport=transport, timeout=60) as client:
        yield client


def logged(server: Server, part: str) -> list[dict[str, Any]]:
    lines = (server.data / "server.log").read_text().splitlines()
    found = [json.loads(line) for line in lines if "the browser blocked part of a page" in line]
    return [one for one in found if part in json.dumps(one)]


def counts(analyst: httpx.Client) -> dict[str, float]:
    lines = analyst.get("/metrics").text.splitlines()
    rows = [one.rsplit(" ", 1) for one in lines if one.startswith("vedette_csp_reports_total")]
    return {name.partition('outcome="')[2].partition('"')[0]: float(value) for name, value in rows}


def violation(page: str) -> dict[str, Any]:
    return {
        "csp-report": {
            "document-uri": f"https://edr.example/ui/{page}/{MARK}?q={MARK}#link={MARK}",
            "violated-directive": "img-src",
            "blocked-uri": f"https://name:{MARK}@other.example/a/b/{MARK}?{MARK}",
            "line-number": 7,
            "script-sample": MARK,
        }
    }


def test_both_forms_are_logged_and_counted_without_what_may_be_secret(
    server: Server, analyst: httpx.Client
) -> None:
    before = counts(analyst)["logged"]
    newer = {
        "type": "csp-violation",
        "url": MARK,
        "body": {
            "documentURL": f"https://edr.example/ui/newer/{MARK}?{MARK}",
            "effectiveDirective": "script-src-elem",
            "blockedURL": "inline",
            "sample": MARK,
        },
    }
    with somebody(server) as client:
        for body in (violation("older"), [newer]):
            assert client.post(PATH, json=body).json() == {"result": "success"}
    (older,) = logged(server, "/ui/older")
    assert (older["page"], older["blocked"]) == ("edr.example/ui/older", "other.example/a/b")
    assert (older["directive"], older["line"]) == ("img-src", "7")
    (found,) = logged(server, "/ui/newer")
    assert (found["directive"], found["blocked"]) == ("script-src-elem", "inline")
    assert MARK not in (server.data / "server.log").read_text()
    assert counts(analyst)["logged"] == before + 2


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no json",
        b"[" * 4_000,
        b'{"csp-report":',
        b"null",
        b"7",
        b'"text"',
        b"[]",
        b"[null, 7, [{}]]",
        b'{"csp-report": 7}',
        json.dumps(
            {"csp-report": {"document-uri": "http://[", "blocked-uri": {"a": [1]}}}
        ).encode(),
        json.dumps({"csp-report": {"blocked-uri": "x" * 3_900}}).encode(),
        json.dumps({"csp-report": {"blocked-uri": "\x1b[2J\u202e\n<script>"}}).encode(),
        json.dumps([{"body": {}}] * 250).encode(),
    ],
)
def test_whatever_is_sent_is_refused_or_taken_and_little_of_it_is_logged(
    server: Server, body: bytes
) -> None:
    with somebody(server) as client:
        assert client.post(PATH, content=body).status_code in (200, 400)
    lines = (server.data / "server.log").read_text().splitlines()
    assert all(len(json.dumps(one)) < 2_000 for one in logged(server, ""))
    assert sum('"address": "127.0.9.' in one for one in lines[-50:]) < 50


def test_a_large_report_is_refused_before_it_is_read(server: Server) -> None:
    with somebody(server) as client:
        answer = client.post(PATH, content=b" " * (CSP_REPORT_BYTES_MAX + 1))
    assert answer.status_code == 413


def test_who_sends_many_is_refused_and_others_are_not(
    server: Server, analyst: httpx.Client
) -> None:
    before = counts(analyst)
    with somebody(server) as many, somebody(server) as other:
        answers = [many.post(PATH, json={}) for _ in range(CSP_REPORTS_OF_ADDRESS_MAX + 20)]
        assert [one.status_code for one in answers].count(429) > 0
        assert answers[-1].json()["reason"] == "too_many_requests"
        assert "Retry-After" in answers[-1].headers
        assert other.post(PATH, json={}).status_code == 200
    assert counts(analyst)["refused"] > before["refused"]


def test_a_session_is_no_condition_and_no_help(server: Server) -> None:
    """Browsers send the cookie along, and no token against forged requests."""
    with server.analyst() as client:
        answer = client.post(PATH, json={}, headers={"Origin": "https://other.example"})
    assert answer.status_code == 200
