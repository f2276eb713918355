"""Measures the response time of `/healthz` and the server's memory during the attackers' corpus of
the tests.

The prober is a separate process with a real-time policy, so that its own scheduling does not count,
and opens a new TLS connection for each probe. The attackers share the cores with the server but use
only idle time, because real attackers would not use these cores at all.
"""

import os
from pathlib import Path
from typing import Final

from bench.figure import Figure, Outcome, Part
from tests.fault.hostile.play import ATTACKERS, play
from tests.fault.hostile.prober import probing
from tests.fault.hostile.target import Target
from tests.support.cores import give_the_machine
from vedette.bootstrap.local_access import LocalAccess
from vedette.cli.server_process import ServerProcess
from vedette.clock import SystemClock
from vedette.model.principal import Role
from vedette.state.accounts import teams, tokens, users
from vedette.state.db.database import open_database
from vedette.state.policy import groups
from vedette.state.sensors import enrolment

SECONDS: Final = 60.0
SEED: Final = 11
HEALTH_MS_MAX: Final = 100
MEMORY_MB_MAX: Final = 3_000


def run(room: Path) -> Outcome:
    server = ServerProcess(room / "server", 0)
    attackers = room / "attackers"
    attackers.mkdir()
    try:
        access = server.wait_until_ready()
        target = _target(access, room / "server")
        loop_nice = os.getpriority(os.PRIO_PROCESS, server.pid)
        give_the_machine(server.pid)
        with probing(access.url, target.certificate, server.pid) as probes:
            seen = play(target, attackers, SECONDS, SEED)
    finally:
        server.stop()
    return Outcome(
        f"{len(ATTACKERS)} attackers for {SECONDS:.0f} s, {sum(seen.statuses.values()):,} attacks",
        (
            Figure("/healthz, p50", probes.share_ms(0.5), "ms"),
            Figure("/healthz, p99", probes.share_ms(0.99), "ms", at_most=HEALTH_MS_MAX),
            Figure("/healthz, slowest", probes.times_ms[-1], "ms", at_most=HEALTH_MS_MAX),
            Figure("/healthz without an answer", len(probes.failures), "probes", at_most=0),
            Figure("answers of 500 and attacks that succeed", len(seen.broken), "", at_most=0),
            Figure("memory", max(probes.memory_mb), "MB", at_most=MEMORY_MB_MAX),
        ),
        (_priority(loop_nice), *probes.slowest, *seen.broken[:5]),
    )


def _priority(loop_nice: int) -> str:
    if loop_nice < 0:
        return f"the event loop has priority (nice {loop_nice})"
    return (
        f"the event loop has NO priority (nice {loop_nice}): started with a nice value or without"
        " CAP_SYS_NICE, a server answers several times slower"
    )


def _target(access: LocalAccess, data: Path) -> Target:
    now_us = SystemClock().now_us()
    database = open_database("", data)
    try:
        group = groups.add(database, "Elsewhere")
        team = teams.add(database, "elsewhere", {group.id: Role.VIEWER})
        user = users.add(database, users.NewUser("elsewhere", team_ids=(team.id,)), now_us)
        token = tokens.issue(database, tokens.NewToken("api", user_id=user.id), now_us).secret
        secret = enrolment.current_secret(database, groups.DEFAULT_GROUP_ID)
    finally:
        database.close()
    return Target(
        access.url, Path(access.certificate), access.token, access.ingest_token, secret, token
    )


PART = Part("hostile", run)
