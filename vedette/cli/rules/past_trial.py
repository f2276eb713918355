"""`vedette sigma test`: tests rules on the telemetry that a server has stored."""

from pathlib import Path
from typing import Annotated, Any, Final

import httpx
import typer
from rich.console import Console

from vedette import limits
from vedette.alerting.rule_backtest import PastTime, backtest_rules
from vedette.alerting.rule_import import load_files, trial_rules
from vedette.bootstrap.local_access import LocalAccess, read_access
from vedette.bootstrap.stopped_server import stopped_server
from vedette.cli.options import ConfigOption, DataOption, JsonOption, load_settings
from vedette.cli.printing import print_json, print_table
from vedette.cli.rules.past_requests import merged, past_requests
from vedette.cli.rules.rule_files import rule_files
from vedette.cli.server_process import api_client
from vedette.clock import SystemClock
from vedette.errors import StartError
from vedette.limits import Limit
from vedette.model.scope import EVERYTHING
from vedette.settings import Settings
from vedette.state.policy import rule_placeholders, rules
from vedette.store.plan.search_bounds import Reach
from vedette.web.rules.models import past_body

_DAY_MS: Final = 24 * 3600 * 1_000
RULE_PARSING_S: Limit[float] = 60.0
"""Seconds for the server to parse thousands of rules, which takes several seconds on an idle
server."""


def try_on_past(
    path: Annotated[
        Path, typer.Argument(metavar="RULES", exists=True, help="Rule file or directory.")
    ],
    days: Annotated[
        int, typer.Option(min=1, max=365, help="Days of stored telemetry to search.")
    ] = limits.RULE_PAST_DAYS,
    by_arrival: Annotated[
        bool,
        typer.Option(help="Select events by arrival time instead of event time."),
    ] = False,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Test rules on the stored data of a server, running or stopped. Prints hits per day, hosts,
    samples, and expected alerts. Stores nothing."""
    settings = load_settings(data, config).settings
    by: PastTime = "arrival" if by_arrival else "event"
    running = read_access(settings.data)
    if running is not None:
        asked = {"from": f"-{days * 24}h", "by": by}
        body = _of_running(running, path, asked, settings)
    else:
        body = _of_stopped(settings, path, days, by)
    if as_json:
        print_json(body)
    else:
        _print(body)


def _of_running(
    running: LocalAccess, path: Path, asked: dict[str, str], settings: Settings
) -> dict[str, Any]:
    timeout_s = settings.search_deadline_s + limits.SIGMA_PARSER_WAIT_S + RULE_PARSING_S
    with api_client(running, timeout_s) as client:
        requests = past_requests(rule_files(path))
        return merged([_answer(client, running, {**asked, "files": some}) for some in requests])


def _answer(client: httpx.Client, running: LocalAccess, asked: dict[str, Any]) -> dict[str, Any]:
    try:
        answer = client.post("/api/v1/sigma/test", json=asked)
        body: dict[str, Any] = answer.json()
    except (httpx.HTTPError, OSError, ValueError) as error:
        raise StartError(f"the server at {running.url} does not respond: {error}") from None
    if answer.status_code != httpx.codes.OK:
        raise StartError(
            f"the server at {running.url} rejects the request: {body.get('message', body)}"
        )
    return body


def _of_stopped(settings: Settings, path: Path, days: int, by: PastTime) -> dict[str, Any]:
    clock = SystemClock()
    until_ms = clock.now_us() // 1_000
    with stopped_server(settings, clock) as (here, findings):
        if here.telemetry is None or here.state is None:
            raise StartError("; ".join(one.text for one in findings))
        values = rule_placeholders.load(here.state).by_name
        documents = load_files(rule_files(path), values)
        filters = [one for one in rules.evaluated(here.state)[1] if one.kind == "filter"]
        judged = trial_rules([*documents, *filters])
        reach = Reach.within(settings.search_deadline_s)
        from_ms = until_ms - days * _DAY_MS
        past = backtest_rules(here.telemetry, judged, EVERYTHING, from_ms, until_ms, reach, by)
    return past_body(documents, past)


def _print(body: dict[str, Any]) -> None:
    print_table(
        ("rule", "hits", "alerts", "fields that are not stored"),
        [
            (one["title"], one["hits"], one["expected_alerts"], ", ".join(one["not_stored"]))
            for one in body["rules"]
        ],
    )
    problems = [one for one in body["documents"] if one["reason"]]
    if problems:
        names = ("place", "title", "reason", "message")
        print_table(names, [tuple(one[name] for name in names) for one in problems])
    if body["samples"]:
        print_table(("time", "host", "rule", "matched"), map(_sample, body["samples"]))
    for day in body["hits_per_day"]:
        print(f"{day['day']}  {day['hits']:,}")
    part = "; only the newest part (time limit reached)" if body["incomplete_results"] else ""
    Console(stderr=True, highlight=False).print(
        f"{body['total_hits']:,} hits on {body['total_hosts']:,} hosts and "
        f"{body['expected_alerts']:,} alerts from {body['from']} to {body['to']}{part}"
    )


def _sample(one: dict[str, Any]) -> tuple[str, str, str, str]:
    shown = limits.SIGMA_MATCHED_CHARS_SHOWN
    matched = ", ".join(f"{name}={value[:shown]}" for name, value in one["matched"].items())
    return one["time"], one["hostname"], one["title"], matched
