"""A store on another machine that hangs: whatever asks it waits, in threads. The event loop does
not, and who asks whether the server is ready is told within seconds."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.fault.callers import CALLERS, Caller
from tests.fault.crash import forked
from tests.fault.hostile.prober import probing
from tests.support.clickhouse_front import Front, clickhouse_front
from tests.support.served import Server, listening, wait_for
from tests.support.sysmon import story
from vedette.web.http.health_checks import READINESS_S

HANGS_S = 600.0
"""Far longer than any request waits, unless the store is told to go on."""

TIMEOUT_S = 60.0
PROBES_AT_ONCE = 8
"""Concurrent readiness probes: more than the threads that serve them."""


@pytest.fixture
def front(tmp_path: Path) -> Iterator[Front]:
    with clickhouse_front(tmp_path / "front") as started:
        yield started


@contextmanager
def hanging(front: Front) -> Iterator[None]:
    front.fail({"kind": "slow", "times": 1_000_000, "seconds": HANGS_S})
    try:
        yield
    finally:
        front.fail()


def readiness(server: Server) -> httpx.Response:
    with server.client() as client:
        return client.get("/readyz", timeout=TIMEOUT_S)


def test_health_is_answered_at_once_while_the_store_hangs(tmp_path: Path, front: Front) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "vedette.toml").write_text(f'clickhouse_dsn = "{front.dsn}"\nclickhouse_quorum = 1\n')
    with forked(data) as process:
        server = listening(data, process)
        tale = story("slow-store.example")
        with server.sender() as sender:
            assert sender.post("/api/v1/ingest", json=tale.records).status_code == 200
        callers = [Caller(server, number) for number in range(CALLERS)]
        with probing(server.url, server.certificate, process.pid) as probes:
            with hanging(front), ThreadPoolExecutor(PROBES_AT_ONCE) as pool:
                for caller in callers:
                    caller.start()
                answers = list(pool.map(readiness, [server] * PROBES_AT_ONCE))
                waiting = [caller for caller in callers if caller.is_alive()]
            for caller in callers:
                caller.join(2 * TIMEOUT_S)
        print(probes.text())
        assert waiting, "the store did not hang"
        assert {answer.status_code for answer in answers} == {503}
        checks = answers[0].json()["checks"]
        assert checks.pop("store") == f"no answer within {READINESS_S} s"
        assert set(checks.values()) == {"ok"}
        assert probes.failures == []
        assert probes.times_ms[-1] < 1_000 * READINESS_S, "one waited with the store"
        assert [caller.failed for caller in callers if caller.failed] == []
        assert wait_for(lambda: readiness(server).status_code, 200, TIMEOUT_S) == 200
