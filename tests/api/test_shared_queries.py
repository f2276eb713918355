"""The shared checks on stored data, and every published query and converted rule, over HTTPS."""

import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import parse_qsl, unquote

import httpx
import pytest

from tests.api.shared_checks import QUERIES, Check, checks, stored_checks
from tests.support.commands import program
from tests.support.served import Server, start_server
from vedette.errors import QueryError
from vedette.query import parse

pytestmark = [
    pytest.mark.skipif(not QUERIES.is_dir(), reason="the shared folder is absent"),
    pytest.mark.xdist_group("shared-queries"),
]

NO_PROCESS_OR_BINARY = re.compile("alert_|status|alliance_score_nvd")
"""Checks about alerts, and about what a feed said of a process."""


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client of a server on whose store the documents of the checks are: telemetry alone, made
    without a state database."""
    data: Path = tmp_path_factory.mktemp("checks")
    (data / "telemetry").mkdir()
    program("from tests.api.shared_checks import *; main(Path(sys.argv[1]))", data / "telemetry")
    for server in start_server(data, "--accept-store"):
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


OTHER_SEARCHES = {
    "alert_severity",
    "alert_type",
    "assigned_to",
    "created_time",
    "process_path",
    "report_score",
    "title",
    "watchlist_id",
    "watchlist_name",
}
"""Fields of alerts and of threat reports, which neither search here knows."""

UNKNOWN = {"digsig_result_filemod"}
"""Names in public queries that no search knows (docs/query-language.md#quotes-and-backslashes)."""

EXPRESSIONS = 6
"""Converted rules that hold a regular expression, which is no query."""

RUNS_ALL = bool(os.environ.get("VEDETTE_TEST_RECORDED"))
QUERIES_STEP = 1 if RUNS_ALL else 12
RULES_STEP = 1 if RUNS_ALL else 36
"""Running some is enough for every day; `make recorded` runs all. All are parsed every day."""


def refusal(client: httpx.Client, route: str, query: list[tuple[str, str]]) -> str:
    """Returns the error message for a query; "" if the server answers it."""
    found = client.get(route, params=httpx.QueryParams(query))
    if found.status_code == 200:
        assert not found.json()["incomplete_results"], query
        return ""
    assert found.status_code == 400, (query, found.text)
    assert found.json()["reason"] == "query_malformed_syntax", (query, found.text)
    return str(found.json()["message"])


def refusals(
    client: httpx.Client, routes: list[str], queries: list[list[tuple[str, str]]]
) -> list[str]:
    """Returns the last error message of each query that no route answers."""

    def last(query: list[tuple[str, str]]) -> str:
        message = ""
        for route in routes:
            if not (message := refusal(client, route, query)):
                break
        return message

    with ThreadPoolExecutor(2) as pool:
        return [message for message in pool.map(last, queries) if message]


def lines(name: str) -> list[str]:
    return (QUERIES / name).read_text(encoding="utf-8").splitlines()


def carried(line: str) -> list[tuple[str, str]]:
    """A stored query as the parameters that carry it."""
    pairs = parse_qsl(line, keep_blank_values=True)
    return pairs if any("q" in key.split(".") for key, _ in pairs) else [("q", unquote(line))]


def unknown_fields(messages: list[str]) -> set[str]:
    """The fields that messages complain of; every message must."""
    found = [re.match("(?:[^:]*: )?unknown field '(.*?)'", message) for message in messages]
    assert all(found), messages
    return {one[1] for one in found if one}


def test_published_queries_run_unless_they_ask_for_alerts_or_reports(asked: httpx.Client) -> None:
    queries = [[("q", line)] for line in lines("public.txt")]
    stored = [carried(line) for line in lines("urlencoded.txt")]
    refused = refusals(
        asked, ["/api/v1/process", "/api/v1/binary"], [*queries, *stored][::QUERIES_STEP]
    )
    assert unknown_fields(refused) <= OTHER_SEARCHES | UNKNOWN
    assert len(refused) <= 10


def test_converted_rules_run_except_regular_expressions(asked: httpx.Client) -> None:
    rules = [line.split("\t", 2)[-1] for line in lines("sigma_fixed.txt") + lines("sigma.txt")]
    rules = list(dict.fromkeys(rules))
    expressions = [rule for rule in rules if refused_as_expression(rule)]
    assert len(expressions) <= 2 * EXPRESSIONS
    chosen = [[("q", rule)] for rule in rules[::RULES_STEP] if rule not in expressions]
    assert refusals(asked, ["/api/v1/process"], chosen) == []


def refused_as_expression(rule: str) -> bool:
    try:
        parse(rule)
    except QueryError:
        assert re.search(r"\(\?|\{\d|\\s", rule), rule
        return True
    return False
