"""The id of a request: the client's own, in the answer, in every log line and in the audit log."""

import json
import secrets
from typing import Any

import httpx
import pytest

from tests.support.served import Server, wait_for

HEADER = "X-Request-Id"


def lines_of(server: Server, request_id: str) -> list[dict[str, Any]]:
    """The log lines of a request."""
    found = []
    for text in (server.data / "server.log").read_text().splitlines():
        if request_id in text:
            line = json.loads(text)
            assert line["request_id"] == request_id
            found.append(line)
    return found


def test_a_change_is_found_by_the_clients_id_in_answer_log_and_audit(
    server: Server, analyst: httpx.Client
) -> None:
    mine = f"ticket-4711.{secrets.token_hex(8)}"
    body = {"name": f"team of {mine}", "group_access": []}
    answer = analyst.post("/api/team", json=body, headers={HEADER: mine})
    assert (answer.status_code, answer.headers[HEADER]) == (200, mine)
    assert wait_for(lambda: len(lines_of(server, mine)), 1) == 1
    (line,) = lines_of(server, mine)
    assert (line["event"], line["path"], line["status"]) == ("request", "/api/team", 200)
    audited = analyst.get("/api/v1/audit", params={"rows": "200"}).json()
    (entry,) = [one for one in audited["results"] if one["request_id"] == mine]
    assert entry["kind"] == "team"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/healthz", 200),
        ("GET", "/api/v1/process/no-such-process/1", 400),
        ("GET", "/no/such/path", 404),
        ("DELETE", "/api/info", 405),
        ("POST", "/sensor/v1/checkin", 403),
    ],
)
def test_errors_and_fast_answers_have_it_too(
    server: Server, analyst: httpx.Client, method: str, path: str, status: int
) -> None:
    mine = secrets.token_hex(8)
    answer = analyst.request(method, path, headers={HEADER: mine})
    assert (answer.status_code, answer.headers[HEADER]) == (status, mine)
    assert wait_for(lambda: [one["status"] for one in lines_of(server, mine)], [status]) == [status]


def test_an_id_that_could_forge_log_lines_is_replaced(
    server: Server, analyst: httpx.Client
) -> None:
    mark = secrets.token_hex(8)
    for odd in (f'x"}} {{"event": "{mark}', "a b", "x" * 65, "", "ä"):
        answer = analyst.get("/healthz", headers={HEADER: odd.encode("latin-1")})  # type: ignore[dict-item]
        assert answer.headers[HEADER] not in ("", odd)
        assert len(answer.headers[HEADER]) == 16
    assert mark not in (server.data / "server.log").read_text()


def test_requests_at_once_keep_their_own(server: Server, analyst: httpx.Client) -> None:
    wanted = [secrets.token_hex(8) for _ in range(20)]
    for one in wanted:
        assert analyst.get("/api/v1/sensor", headers={HEADER: one}).headers[HEADER] == one
    assert wait_for(lambda: [len(lines_of(server, one)) for one in wanted], [1] * 20) == [1] * 20
