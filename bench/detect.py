"""Measures the cost of thousands of Sigma rules at ingest, and the delay from hit to alert.

The rules are the public rules next to the repository, including those of level low and
informational; without them, the starter pack.
"""

import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.figure import Figure, Outcome, Part
from bench.recorded_rules import recorded_figures
from bench.switched_load import SwitchedLoad
from vedette.bootstrap.local_access import LocalAccess
from vedette.cli.server_process import ServerProcess, api_client
from vedette.detect.starter_pack import starter_texts
from vedette.simulate.bulk_client import Target
from vedette.simulate.load import LoadPlan, run_load

ENDPOINTS = 200
WARM_S = 8
TURN_S = 6
SETTLE_S = 5.0
"""After a switch, before the next turn: rules choose anew what they are looked up by."""

TURNS = 6
"""With the rules and without them, each."""

EVENTS_PER_REQUEST = 1_000
FILES_A_REQUEST = 400
ALERT_WAIT_S = 20
"""After the load, for hits that are not alerts yet."""

ROUTE = "/api/v1/sigma"
RULES = Path(__file__).parents[2] / "shared" / "data" / "sigma" / "rules.tar.gz"


def run(room: Path) -> Outcome:
    server = ServerProcess(room / "server", 0)
    try:
        access = server.wait_until_ready()
        ids = _add_rules(access)
        turns = SwitchedLoad(
            server.pid,
            lambda is_on: _switch(access, ids, enabled=is_on),
            warm_s=WARM_S,
            turn_s=TURN_S,
            settle_s=SETTLE_S,
        )
        target = Target(access.url, access.ingest_token, Path(access.certificate))
        seconds = WARM_S + 2 * TURNS * (TURN_S + SETTLE_S + 2)
        plan = LoadPlan(ENDPOINTS, 0, seconds, events_per_request=EVENTS_PER_REQUEST)
        result = run_load(plan, target, turns.watch)
        time.sleep(ALERT_WAIT_S)
        latency_s, hits = _alerts(access)
        stopped = _stopped(access)
    finally:
        server.stop()
    if result.errors:
        raise RuntimeError(f"the load generator gave up: {result.errors}")
    recorded, notes = recorded_figures(room)
    return Outcome(
        f"{len(ids):,} Sigma rules, Sysmon JSON from {ENDPOINTS} simulated endpoints,"
        f" {len(turns.done)} turns of {TURN_S} s without and with them, medians",
        (
            *turns.figures("rules", target=0.8),
            Figure("commit to alert, p95 at most", latency_s, "s", at_most=10),
            *recorded,
        ),
        (
            turns.note(),
            f"{hits:,.0f} hits; rules stopped for their cost: {', '.join(stopped) or 'none'}",
            *notes,
        ),
    )


def _switch(access: LocalAccess, ids: list[str], *, enabled: bool) -> None:
    with api_client(access) as client:
        client.put(ROUTE, json={"ids": ids, "enabled": enabled}).raise_for_status()


def _texts() -> Iterator[str]:
    if not RULES.exists():
        yield from (text for _, text in starter_texts())
        return
    with tarfile.open(RULES) as archive:
        for member in archive:
            content = archive.extractfile(member) if member.name.endswith(".yml") else None
            if content is not None:
                yield content.read().decode()


def _add_rules(access: LocalAccess) -> list[str]:
    """Ids of the rules that can be evaluated and are about what the endpoints send; they are
    switched off."""
    texts = list(_texts())
    ids: list[str] = []
    with api_client(access) as client:
        for at in range(0, len(texts), FILES_A_REQUEST):
            body = {"text": "\n---\n".join(texts[at : at + FILES_A_REQUEST]), "enabled": False}
            answer = client.post(ROUTE, json=body, timeout=120)
            answer.raise_for_status()
            ids += [one["id"] for one in answer.json()["results"] if not one["reason"]]
    return ids


def _alerts(access: LocalAccess) -> tuple[float, float]:
    """The upper bound of the latency of 95% of the commits' alerts, and hits that were read."""
    with api_client(access) as client:
        lines = client.get("/metrics").text.splitlines()
    buckets: list[tuple[float, float]] = []
    hits = 0.0
    for line in lines:
        if line.startswith("vedette_alert_seconds_bucket"):
            bound = line.split('le="')[1].split('"')[0]
            buckets.append((float(bound), float(line.split()[-1])))
        elif line.startswith("vedette_rule_hits_total "):
            hits = float(line.split()[1])
    total = buckets[-1][1]
    return next((bound for bound, count in buckets if count >= 0.95 * total), 0.0), hits


def _stopped(access: LocalAccess) -> list[str]:
    with api_client(access) as client:
        found = client.get(ROUTE, params={"state": "stopped"}).json()["results"]
    return [one["title"] for one in found]


PART = Part("detect", run)
