"""Makes a small telemetry store of simulated data, and records what it answers.

    PYTHONPATH=<checkout> python scripts/old_store.py make DIRECTORY
    PYTHONPATH=<checkout> python scripts/old_store.py answers DIRECTORY

Runs with the code of any checkout, whose server it starts: `make` sends records to it over HTTPS,
`answers` prints the answers to a fixed set of questions as JSON. Packing the directory, and where
the result belongs, is described in `tests/data/stores/README.md`.
"""

import json
import sys
from pathlib import Path
from typing import Any

from vedette.cli.server_process import ServerProcess, api_client
from vedette.simulate.bulk_client import Target
from vedette.simulate.load import LoadPlan, run_load

EVENTS: int = 600
ENDPOINTS: int = 3
RATE: int = 200
SECONDS: int = 10
SEED: int = 7

QUERIES: tuple[str, ...] = (
    "",
    "process_name:*",
    "process_name:svchost.exe",
    "netconn_count:[1 TO *]",
    "filemod_count:[1 TO *]",
    "modload:ntdll.dll",
    "childproc_count:[1 TO *]",
    "username:SYSTEM",
    "-username:SYSTEM",
    "cmdline:exe",
    "path:windows",
    "digsig_result:Signed",
)
ROWS: int = 1_000
FACETS: tuple[str, ...] = ("process_name", "username_full", "hostname", "path_full")
EVENTS_OF: int = 25
"""Processes whose events are recorded."""


def make(directory: Path) -> None:
    server = ServerProcess(directory, 0)
    try:
        access = server.wait_until_ready()
        target = Target(access.url, access.ingest_token, Path(access.certificate))
        plan = LoadPlan(
            ENDPOINTS, RATE, SECONDS, EVENTS, connections=1, events_per_request=100, seed=SEED
        )
        result = run_load(plan, target)
    finally:
        server.stop()
    if result.errors or not result.stored:
        raise SystemExit(f"nothing was stored: {result.errors}")


def answers(directory: Path) -> dict[str, Any]:
    """The answers of a server over the store, without what depends on the time of asking."""
    server = ServerProcess(directory, 0)
    try:
        access = server.wait_until_ready()
        with api_client(access) as client:
            return asked(client)
    finally:
        server.stop()


def asked(client: Any) -> dict[str, Any]:
    """Searches, facets, summaries and events, by question."""
    found: dict[str, Any] = {}
    for query in QUERIES:
        body = _get(client, "/api/v1/process", q=query, rows=ROWS, sort="start asc")
        rows = sorted(body["results"], key=lambda row: row["unique_id"])
        found[f"search {query}"] = [_stable(row) for row in rows]
    everything = found["search "]
    for row in everything[:EVENTS_OF]:
        process, segment = row["id"], row["segment_id"]
        for kind in ("process", "event"):
            path = f"/api/v1/process/{process}/{segment}" + ("/event" if kind == "event" else "")
            found[f"{kind} {row['unique_id']}"] = _stable(_get(client, path))
    return found


def _get(client: Any, path: str, **params: Any) -> Any:
    answer = client.get(path, params=params)
    answer.raise_for_status()
    return answer.json()


_OF_THE_MOMENT: frozenset[str] = frozenset(("elapsed", "last_server_update", "comms_ip"))


def _stable(body: Any) -> Any:
    match body:
        case dict():
            return {k: _stable(v) for k, v in sorted(body.items()) if k not in _OF_THE_MOMENT}
        case list():
            return [_stable(one) for one in body]
        case _:
            return body


def main() -> None:
    command, directory = sys.argv[1], Path(sys.argv[2])
    if command == "make":
        make(directory)
    else:
        json.dump(answers(directory), sys.stdout, indent=0, sort_keys=True)


if __name__ == "__main__":
    main()
