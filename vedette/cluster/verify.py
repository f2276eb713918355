"""Runs all checks of a cluster. Changes nothing except rows of its own table (`probe_table.py`)."""

from collections.abc import Callable, Iterable
from functools import partial

from vedette.cluster import row_checks, server_checks
from vedette.cluster.topology import answering, replicas
from vedette.doctor.finding import Finding
from vedette.errors import VedetteError
from vedette.model.host import ShardMap
from vedette.store.engine.client import ClickHouseEngine


def verify(
    engine: ClickHouseEngine, known: ShardMap, quorum: int, now_us: int, *, away: str = ""
) -> list[Finding]:
    """Returns the findings in a fixed order. A failed check is a finding itself. `away` is the host
    of a server that was stopped to test whether the others work without it."""
    found = replicas(engine)
    if not found:
        return [
            Finding(
                "cluster",
                "error",
                f"cluster {engine.capabilities.cluster!r} not found",
                "name one of remote_servers with clickhouse_cluster",
            )
        ]
    answers = answering(engine, found)
    checks: list[tuple[str, Callable[[], Iterable[Finding]]]] = [
        ("servers", partial(server_checks.check_answers, found, answers, away)),
        ("quorum", partial(server_checks.check_replicas, found, quorum)),
        ("versions", partial(server_checks.check_versions, engine)),
        ("clock", partial(server_checks.check_clocks, engine, now_us)),
        ("rights", partial(server_checks.check_user, engine)),
        ("schema", partial(server_checks.check_tables, engine, len(answers), known)),
        ("insert", partial(row_checks.check_writes, engine, answers)),
        ("totals", partial(row_checks.check_totals, engine, answers)),
        ("placement", partial(row_checks.check_placement, engine, known)),
    ]
    return [finding for name, check in checks for finding in _guarded(name, check)]


def _guarded(name: str, check: Callable[[], Iterable[Finding]]) -> list[Finding]:
    findings: list[Finding] = []
    try:
        findings.extend(check())
    except VedetteError as error:
        findings.append(
            Finding(
                name, "error", f"cannot be checked: {error.message}", "see that its servers run"
            )
        )
    return findings
