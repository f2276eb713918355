"""`vedette doctor`: problems of a running or stopped server, and remedies."""

from collections.abc import Sequence
from typing import Any, Final

import httpx
import typer

from vedette.bootstrap.local_access import LocalAccess, read_access
from vedette.bootstrap.stopped_server import stopped_server
from vedette.cli.options import ConfigOption, DataOption, JsonOption, load_settings
from vedette.cli.printing import print_json, print_table
from vedette.cli.server_process import api_client
from vedette.clock import Clock, SystemClock
from vedette.doctor.examine import Examined, examine
from vedette.doctor.finding import SEVERITIES, Finding, worst
from vedette.errors import StartError
from vedette.limits import Limit
from vedette.settings import Settings
from vedette.web.server.findings_json import findings_body

DOCTOR_REQUEST_S: Limit[float] = 60.0
"""Timeout (s) of `vedette doctor` for a running server."""

DOCTOR_ANSWER_CHARS: Limit[int] = 300
"""Characters of an error response that `vedette doctor` shows."""

DOCTOR_VERIFY_S: Limit[float] = 4 * 3600.0
"""Timeout (s) with `--verify`, which reads the whole store: a terabyte at 100 MB/s takes 3
hours."""


_ALARM: Final = {"ok": "ok", "warning": "warning", "error": "ERROR"}


def doctor(
    data: DataOption = None,
    config: ConfigOption = None,
    verify: bool = typer.Option(
        False, "--verify", help="Read all telemetry and compare checksums (takes minutes to hours)."
    ),
    as_json: JsonOption = False,
) -> None:
    """Diagnose a server, running or stopped, and print remedies.

    Checks disk, file modes, certificate, clock, both stores, damaged parts, partitions, workers,
    silent sensors, quotas and tokens. Exit code 0: nothing; 1: warnings; 2: errors.
    """
    settings = load_settings(data, config).settings
    if not settings.data.is_dir() and not settings.state_dsn:
        raise StartError(f"no server data in {settings.data}; set --data")
    running = read_access(settings.data)
    clock = SystemClock()
    if running is None:
        findings = _stopped(settings, clock, verify)
    else:
        findings = _running(running, settings, clock, verify)
    if as_json:
        _print_json(findings, is_running=running is not None)
    else:
        print_findings(findings)
    raise typer.Exit(SEVERITIES.index(worst(findings)))


def print_findings(findings: Sequence[Finding]) -> None:
    """Prints a line per finding with its remedy."""
    print_table(
        ("check", "", "what", "what to do"),
        [(one.check, _ALARM[one.severity], one.text, one.remedy) for one in findings],
    )


def _stopped(settings: Settings, clock: Clock, verify: bool) -> list[Finding]:
    with stopped_server(settings, clock) as (here, unopened):
        return [*unopened, *examine(here, verify=verify)]


def _running(running: LocalAccess, settings: Settings, clock: Clock, verify: bool) -> list[Finding]:
    """Returns the findings of the server; if it does not answer, the findings from its files."""
    files_only = Examined(settings, clock, None, None, None, None)
    timeout_s = DOCTOR_VERIFY_S if verify else DOCTOR_REQUEST_S
    params = {"verify": "true"} if verify else {}
    try:
        with api_client(running, timeout_s) as client:
            answer = client.get("/api/v1/doctor", params=params)
            if answer.is_error:
                return [_refusal(answer), *examine(files_only)]
            return [_finding(one) for one in answer.json()["findings"]]
    except (httpx.HTTPError, OSError, ValueError, KeyError) as error:
        silent = Finding(
            "server",
            "error",
            f"process {running.pid} does not respond at {running.url}: {error}",
            "look at its log; stop it (SIGTERM, then SIGKILL) and start it again",
        )
        return [silent, *examine(files_only)]


def _refusal(answer: httpx.Response) -> Finding:
    """Returns the finding for a server that answers with an error."""
    text = f"the server returned {answer.status_code}: {answer.text[:DOCTOR_ANSWER_CHARS]}"
    return Finding("server", "error", text, "follow the message or check the server log")


def _finding(body: dict[str, Any]) -> Finding:
    return Finding(body["check"], body["severity"], body["text"], body["remedy"])


def _print_json(findings: list[Finding], *, is_running: bool) -> None:
    print_json(findings_body(findings, is_running=is_running))
