"""Whatever `/openapi.json` allows and forbids is sent to a live server: it answers with what the
document says, never with 500, and is as good as before afterwards.

`make fuzz` sends 50,000 requests (VEDETTE_FUZZ_REQUESTS); without it a few of each operation are
sent. VEDETTE_SEED repeats a run.
"""

import os
import random
import threading
from collections.abc import Iterable, Iterator, Mapping

import pytest
from schemathesis import Case

from tests.api.test_access import PLACES
from tests.api.test_alerts import RULE, hit
from tests.support.openapi_fuzz import Found, KnownIds, Sending, batches, made_cases
from tests.support.sensor import enrol, secret_of
from tests.support.served import Server, state_of, wait_for
from tests.support.sysmon import story
from tests.support.written_detections import alerted_server
from vedette.clock import SystemClock
from vedette.model.findings.detection import Detection
from vedette.state.accounts import tokens, users
from vedette.state.policy import approved_addresses

SEED = int(os.environ.get("VEDETTE_SEED", "1307"))
WANTED = int(os.environ.get("VEDETTE_FUZZ_REQUESTS", "0"))
EACH = 1
"""Requests of an operation and mode in the short form."""
INVALID_EVERY = 3
"""In the short form, one operation in INVALID_EVERY also gets an invalid request."""

TIMEOUT_S = 60.0

REFUSED_SHARE_MAX = 0.05
"""Maximum share of 403 answers: with more, the requests do not exercise the routes."""

LEFT_OUT = frozenset(
    {
        # They end what all else is sent with; tests/api/test_sessions.py calls them.
        "DELETE /api/v1/session",
    }
)
STARTS = {
    **{name.strip("{}").partition(":")[0]: [value] for name, value in PLACES.items()},
    "version": ["1", "2", "3", "4", "5"],
    "action": ["alert", "syslog", "email", "http_post"],
    "partition_name": ["writer"],
    "org_key": ["VEDETTE", "VEDETTE", "VEDETTE", "OTHER"],
    "file": ["docs.css", "docs.js"],
}


class Everybody:
    """An administrator, a sensor for what sensors call, and now and then nobody."""

    def __init__(self, server: Server, name: str) -> None:
        self._server = server
        now_us = SystemClock().now_us()
        with state_of(server) as database:
            user = users.add(database, users.NewUser(name, is_global_admin=True), now_us)
            issued = tokens.issue(database, tokens.NewToken("api", user_id=user.id), now_us)
        self.token = issued.secret
        self._let_in = threading.Lock()
        self.never = [name, issued.id]
        """The user and token that requests must not change, because all requests use them."""
        with server.client() as client:
            self._sensor = enrol(client, f"{name}.example", secret_of(server)).headers

    def headers(self, path: str, dice: random.Random) -> Mapping[str, str]:
        with self._let_in:
            pass  # nobody sends what would be refused, while all are shut out
        if dice.random() < 0.05:
            return {}
        return self._sensor if path.startswith("/sensor/") else {"X-Auth-Token": self.token}

    def answered(self, headers: Mapping[str, str]) -> None:
        """Where only others may call from now on, lets everybody in again."""
        if "x-vedette-warning" in headers:
            with self._let_in:
                self.let_in()

    def let_in(self) -> None:
        """Does what `vedette approvedlist disable` does, and waits until the server knows of it."""
        with state_of(self._server) as database:
            approved_addresses.enable(database, False)
        with self._server.client(**{"X-Auth-Token": self.token}) as client:
            ask = lambda: client.get("/api/info").status_code  # noqa: E731
            assert wait_for(ask, 200, TIMEOUT_S) == 200


def sent(server: Server, everybody: Everybody, batches_: Iterable[list[Case]]) -> Found:
    ids = KnownIds(STARTS, everybody.never)
    sending = Sending(server.url, str(server.certificate), everybody, ids)
    for number, cases in enumerate(batches_):
        sending.run(cases, SEED + number)
        print(f"{sending.found.sent} requests: {shown(sending.found)}", flush=True)
    return sending.found


def shown(found: Found) -> str:
    return "\n".join(f"{name}\n    {text}" for name, text in sorted(found.wrong.items()))


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with telemetry and alerts."""

    def detect(server: Server) -> list[Detection]:
        tale = story("fuzzed.corp.example")
        with server.sender() as sender:
            assert sender.post("/api/v1/ingest", json=tale.records).json()["rejected"] == 0
        with server.analyst() as client:
            rows = client.get("/api/v1/process", params={"q": "hostname:fuzzed.corp.example"})
            return [hit(row, RULE, "Odd process") for row in rows.json()["results"][:5]]

    with alerted_server(tmp_path_factory.mktemp("fuzzed"), detect) as server:
        yield server


def test_every_answer_is_one_that_the_document_describes(fuzzed: Server) -> None:
    everybody = Everybody(fuzzed, "fuzzer")
    with fuzzed.analyst() as client:
        document = client.get("/openapi.json").json()
    short = [made_cases(document, EACH, SEED, LEFT_OUT, INVALID_EVERY)] if not WANTED else []
    found = sent(fuzzed, everybody, short or batches(document, WANTED, SEED, LEFT_OUT))
    print(f"VEDETTE_SEED={SEED}: {found.sent} requests, {dict(found.statuses)}")
    assert not found.wrong, shown(found)
    operations = sum(len(item) for item in document["paths"].values())
    assert found.sent >= max(WANTED, operations)
    assert found.statuses[200] > found.sent / 10
    assert sum(found.refused.values()) < found.sent * REFUSED_SHARE_MAX, dict(found.refused)
    everybody.let_in()
    assert_healthy(fuzzed, everybody)


def test_an_answer_that_the_document_does_not_describe_is_found(fuzzed: Server) -> None:
    with fuzzed.analyst() as client:
        document = client.get("/openapi.json").json()
        client.post("/api/site", json={"name": "found"})
    calls = document["paths"]["/api/site"] | document["paths"]["/api/site/{site_id}"]
    del calls["get"]["responses"]["200"]
    for call in calls.values():
        call["responses"].pop("400", None)
    document["components"]["schemas"]["Site"]["properties"]["name"]["type"] = "integer"
    document["components"]["schemas"]["Error"]["properties"]["message"] = {"type": "integer"}
    document["paths"] = {path: one for path, one in document["paths"].items() if "/site" in path}
    found = sent(fuzzed, Everybody(fuzzed, "finder"), [made_cases(document, 5, SEED, LEFT_OUT)])
    assert {title for _, title, _ in found.wrong} == {
        "Undocumented status code",
        "Response violates schema",
    }


def assert_healthy(server: Server, everybody: Everybody) -> None:
    """Ready, and takes and finds telemetry; no bug is in its log."""
    with server.client(**{"X-Auth-Token": everybody.token}) as client:
        assert wait_for(lambda: client.get("/readyz").status_code, 200) == 200
        tale = story("after-fuzzing.corp.example")
        group = client.post("/api/group", json={"name": "after fuzzing"}).json()["id"]
        token = client.post("/api/v1/token", json={"group_id": group}).json()["secret"]
        with server.client(Authorization=f"Bearer {token}") as sender:
            assert sender.post("/api/v1/ingest", json=tale.records).json()["rejected"] == 0

        def total() -> int:
            query = {"q": "hostname:after-fuzzing.corp.example", "rows": "0"}
            return int(client.get("/api/v1/process", params=query).json()["total_results"])

        assert wait_for(lambda: total() > 3, True)
    log = (server.data / "server.log").read_text(errors="replace")
    assert [line for line in log.splitlines() if "request failed" in line] == []
