"""Many dear searches at once, clients that leave, and what a scoped user learns of hidden hosts."""

import asyncio
import ssl
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.sensor import enrol, secret_of
from tests.support.served import Server, hire, open_group, start_server, wait_for
from tests.support.sysmon import story
from vedette.model.principal import Role

SEARCHES = 4
DEADLINE_S = 30
QUERY = " OR ".join(
    f"cmdline:({' '.join(f'w{group}x{number}' for number in range(120))})" for group in range(10)
)
"""The engine takes a second or two to plan it, whatever is stored."""


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that allows a user a few searches, and counts hidden results for scoped users."""
    settings = (
        f"user_searches_max={SEARCHES}",
        f"search_deadline_s={DEADLINE_S}",
        "count_filtered_results=true",
    )
    words = [word for one in settings for word in ("--set", one)]
    yield from start_server(tmp_path_factory.mktemp("limited"), *words)


def search(server: Server, query: str = QUERY) -> httpx.Response:
    with server.analyst() as client:
        return client.post("/api/v1/process", json={"q": query, "rows": 10})


def waiting(client: httpx.Client) -> float:
    """Requests that are not answered yet, without the one that asks."""
    for line in client.get("/metrics").text.splitlines():
        if line.startswith("vedette_http_requests_in_progress "):
            return float(line.split()[1]) - 1
    raise AssertionError("no such metric")


@pytest.fixture
def dear_searches(limited: Server) -> Iterator[list[Future[httpx.Response]]]:
    """Runs the maximum number of concurrent searches of a user, all waiting or running."""
    with limited.sender() as client:
        assert client.post("/api/v1/ingest", json=story("dear.example").records).status_code == 200
    with limited.analyst() as client, ThreadPoolExecutor(SEARCHES) as threads:
        begun = [threads.submit(search, limited) for _ in range(SEARCHES)]
        assert wait_for(lambda: waiting(client) >= SEARCHES // 2, True, 30)
        yield begun


def test_ingest_and_sensors_go_on_under_many_dear_searches(
    limited: Server, dear_searches: list[Future[httpx.Response]]
) -> None:
    with limited.sender() as sender, limited.client() as client, limited.analyst() as analyst:
        sensor = enrol(client, "checks-in.example", secret_of(limited))
        assert sensor.check_in().status_code == 200
        answer = sender.post("/api/v1/ingest", json=story("while.example").records)
        assert (answer.status_code, answer.json()["rejected"]) == (200, 0)
        assert client.get("/readyz").status_code == 200
        assert analyst.get("/api/v1/sensor").status_code == 200
    assert {one.result().status_code for one in dear_searches} <= {200, 503}


def test_searches_beyond_the_limit_of_a_user_are_refused_with_it(limited: Server) -> None:
    with ThreadPoolExecutor(4 * SEARCHES) as threads:
        answers = list(threads.map(lambda _: search(limited), range(4 * SEARCHES)))
    refused = [one for one in answers if one.status_code == 429]
    assert refused
    assert {one.status_code for one in answers} <= {200, 429, 503}
    assert {one.json()["reason"] for one in refused} == {"too_many_searches"}
    assert f"limit {SEARCHES}" in refused[0].json()["message"]
    assert int(refused[0].headers["retry-after"]) > 0
    assert search(limited, "cmd.exe").status_code == 200


async def _leave(server: Server, query: str) -> None:
    """Sends a search and closes the connection without reading the answer."""
    context = ssl.create_default_context(cafile=str(server.certificate))
    url = httpx.URL(server.url)
    _, writer = await asyncio.open_connection(url.host, url.port, ssl=context)
    body = httpx.Request("POST", server.url, json={"q": query}).content
    head = (
        f"POST /api/v1/process HTTP/1.1\r\nHost: {url.host}\r\nX-Auth-Token: {server.token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    await writer.drain()
    await asyncio.sleep(0.3)
    writer.transport.abort()


def test_searches_of_clients_that_left_are_taken_back(limited: Server) -> None:
    async def all_leave() -> None:
        await asyncio.gather(*(_leave(limited, QUERY) for _ in range(SEARCHES)))

    asyncio.run(all_leave())
    with limited.analyst() as client:
        assert wait_for(lambda: waiting(client) == 0, True, 10)
    assert wait_for(lambda: search(limited, "cmd.exe").status_code, 200) == 200


@pytest.mark.parametrize("query", ['cmdline:""', 'notepad.exe ""', '""', 'path:"" OR cmdline:""'])
def test_an_empty_phrase_ends(limited: Server, query: str) -> None:
    with limited.sender() as client:
        client.post("/api/v1/ingest", json=story("phrases.example").records)
    with limited.analyst() as client:
        begin = time.monotonic()
        answer = client.get("/api/v1/process", params={"q": query})
        assert answer.status_code in (200, 400)
        assert time.monotonic() - begin < DEADLINE_S


def test_a_setting_counts_results_of_hidden_hosts(limited: Server) -> None:
    group_id, secret = open_group(limited, "seen")
    for name, token in (("seen.example", secret), ("hidden.example", limited.ingest_token)):
        with limited.client(Authorization=f"Bearer {token}") as client:
            assert client.post("/api/v1/ingest", json=story(name).records).status_code == 200
    query = "process_name:whoami.exe (hostname:seen.example OR hostname:hidden.example)"
    token = hire(limited, "scoped", {group_id: Role.VIEWER})
    with limited.client(**{"X-Auth-Token": token}) as client:

        def counts() -> Any:
            body = client.get("/api/v1/process", params={"q": query}).json()
            return body["total_results"], body["filtered"]

        assert wait_for(counts, (1, 1)) == (1, 1)


def test_a_server_with_running_searches_stops(tmp_path: Path) -> None:
    server = start_server(tmp_path, "--set", "search_deadline_s=300")
    running = next(server)
    with ThreadPoolExecutor(4) as threads:
        begun = [threads.submit(search, running) for _ in range(4)]
        with running.analyst() as client:
            wait_for(lambda: waiting(client) >= 1, True, 10)
        server.close()
        for one in begun:
            one.exception()
