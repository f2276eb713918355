"""The shared checks on stored data, and every published query and converted rule, over HTTPS."""

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import parse_qsl

import httpx
import pytest

from tests.api.shared_checks import QUERIES, Check, checks, stored_checks
from tests.served import Server, start_server

pytestmark = [
    pytest.mark.skipif(not QUERIES.is_dir(), reason="the shared folder is absent"),
    pytest.mark.xdist_group("shared-queries"),
]

NO_PROCESS_OR_BINARY = re.compile("alert_|status|alliance_score_nvd")
"""Checks about alerts, and about what a feed said of a process."""

REFUSED = {
    "a regular expression, which is no query": 6,
    "a field of alerts or of threat reports": 22,
    "a name that no search knows": 5,
}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client of a server on whose store the documents of the checks are."""
    data: Path = tmp_path_factory.mktemp("checks")
    (data / "telemetry").mkdir()
    command = [sys.executable, "-m", "tests.api.shared_checks", str(data / "telemetry")]
    subprocess.run(command, check=True, cwd=Path(__file__).parents[2])
    for server in start_server(data):
        yield from clients(server)


def clients(server: Server) -> Iterator[httpx.Client]:
    with server.analyst() as client:
        yield client


def total(client: httpx.Client, route: str, check: Check) -> int:
    answer = client.get(route, params={"q": check.query, "svc.fq.hostname": check.host})
    assert answer.status_code == 200, (check, answer.text)
    return int(answer.json()["total_results"])


def test_only_checks_of_alerts_and_feeds_are_not_stored() -> None:
    left_out = [check for check in checks() if check not in stored_checks()]
    assert len(left_out) <= 5
    for check in left_out:
        assert NO_PROCESS_OR_BINARY.search(check.query), check


def test_every_check_of_processes_holds_on_stored_data(asked: httpx.Client) -> None:
    ours = [check for check in stored_checks() if check.is_of_process]
    assert len(ours) >= 83
    for check in ours:
        assert total(asked, "/api/v1/process", check) == check.matches, check


def test_every_check_of_binaries_holds_on_stored_data(asked: httpx.Client) -> None:
    ours = [check for check in stored_checks() if check.is_of_binary]
    assert len(ours) >= 7
    for check in ours:
        assert total(asked, "/api/v1/binary", check) == check.matches, check
        if not check.query.endswith(" .sys"):  # a word without a field asks no binary
            assert total(asked, "/api/v1/process", check) == check.matches, check


def routes_of(text: str) -> Iterator[httpx.Request]:
    """The searches a query may be meant for, the most likely first."""


def answer(client: httpx.Client, query: list[tuple[str, str]]) -> httpx.Response:
    """What a query is answered by the first search that understands it."""
    for route in ("/api/v1/process", "/api/v1/binary"):
        found = client.get(route, params=httpx.QueryParams(query))
        if found.status_code == 200:
            assert not found.json()["incomplete_results"], query
            return found
        assert found.status_code == 400, (query, found.text)
        assert found.json()["reason"] == "query_malformed_syntax", (query, found.text)
    return found


def parts(name: str, line: str) -> list[tuple[str, str]]:
    """A line of a file of queries, as the parameters that carry it."""
    if name == "urlencoded.txt":
        pairs = parse_qsl(line, keep_blank_values=True)
        return pairs if any("q" in key for key, _ in pairs) else [("q", line)]
    return [("q", line.split("\t", 2)[-1])]


@pytest.mark.parametrize("name", ["public.txt", "urlencoded.txt", "sigma.txt", "sigma_fixed.txt"])
def test_every_query_runs(asked: httpx.Client, name: str) -> None:
    lines = (QUERIES / name).read_text(encoding="utf-8").splitlines()
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda line: answer(asked, parts(name, line)), lines))
    refused = Counter(one.json()["message"] for one in found if one.status_code == 400)
    print(len(lines), refused)
