"""Checks whether detection keeps up with incoming telemetry."""

from collections.abc import Iterator
from typing import Final

from vedette.alerting.rule_hits import WATERMARK
from vedette.doctor.finding import Finding, Severity
from vedette.feeds.indicators import FOLLOWER as INDICATORS
from vedette.limits import Limit
from vedette.state.db.database import Database
from vedette.state.jobs import watermarks
from vedette.store.engine.client import Engine
from vedette.store.read.detection.lag import oldest_after
from vedette.watchlists.rounds import FOLLOWER as WATCHLISTS

DOCTOR_LAG_US: Limit[int] = 5 * 60 * 1_000_000
"""Microseconds that detection may be behind before `vedette doctor` warns. Its rounds run every few
seconds."""

DOCTOR_LAG_GRAVE_US: Limit[int] = 3600 * 1_000_000
"""Microseconds that detection may be behind before `vedette doctor` reports an error: attacks go on
in the meantime."""


_FOLLOWERS: Final = (
    (WATERMARK, "hit", "alerts of Sigma rules", "the job `detection` in the log"),
    (WATCHLISTS, "segment", "watchlists", "costly watchlists (their times: GET /api/v1/watchlist)"),
    (INDICATORS, "segment", "indicators of feeds", "the size of feeds, and their errors"),
)
"""Name of a watermark, the table that it follows, its name in messages, and what to look at if it
is late."""


def lateness(telemetry: Engine, state: Database, now_us: int) -> Iterator[tuple[str, int]]:
    """Yields for each follower how long ago, in microseconds, the oldest commit arrived that it has
    not judged. Followers that nothing has asked for yet are left out."""
    for name, table, _, _ in _FOLLOWERS:
        seq = watermarks.load(state, name)
        if seq is not None:
            oldest_us = oldest_after(telemetry, table, seq)
            yield name, now_us - oldest_us if oldest_us else 0


def check_detection(telemetry: Engine, state: Database, now_us: int) -> Iterator[Finding]:
    """Whether any follower is so late that somebody has to look at it."""
    is_fine, late = True, dict(lateness(telemetry, state, now_us))
    for name, _, what, look_at in _FOLLOWERS:
        behind_us = late.get(name, 0)
        if behind_us > DOCTOR_LAG_US:
            is_fine = False
            grave: Severity = "error" if behind_us > DOCTOR_LAG_GRAVE_US else "warning"
            text = f"{what} are {behind_us // 60_000_000} minutes behind what arrives"
            yield Finding(
                "detection",
                grave,
                text,
                f"look at {look_at}; give the machine more "
                "cores, or send less (docs/ingress-filters.md)",
            )
    if is_fine:
        yield Finding("detection", "ok", "rules, watchlists and indicators keep up")
