"""The risk of a host, computed from its open alerts (docs/alerts.md#risk).

    weight = severity / 100 * criticality of the group / 3 * 2 ^ (-age / half-life)
    risk   = 100 * (1 - exp(-sum of weights))

One fresh alert of severity 100 gives a risk of 63, two give 86, and a hundred alerts of severity 5
give 99. The weights halve every week.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final

from vedette.limits import Limit
from vedette.model.findings.alert import CLOSED, THOUSAND
from vedette.model.scope import Scope
from vedette.query import Condition
from vedette.store.engine.client import Engine
from vedette.store.read.detection.alerts import search_alerts

RISK_ALERTS_MAX: Limit[int] = 1_000
"""Newest open alerts of a host from which its risk is computed; older ones do not change it."""

RISK_HALF_LIFE_DAYS: Limit[int] = 7
"""Days after which an open alert counts half for the risk of its host."""

RISK_DAYS_SHOWN: Limit[int] = 30
"""Days for which the risk of a host is returned, including today."""


_DAY_US: Final = 24 * 3600 * 1_000_000
_EPOCH: Final = date(1970, 1, 1)
_USUAL_CRITICALITY: Final = 3
_SHOWN: Final = 10


@dataclass(frozen=True, slots=True)
class HostRisk:
    """The risk of a host, 0 to 100."""

    sensor_id: int
    score: float
    open_alerts: int
    contributions: Sequence[tuple[str, str, float]]
    """(id, title, weight) of the alerts with the highest weights."""


def host_risk(engine: Engine, scope: Scope, sensor_id: int, now_us: int) -> HostRisk:
    """Returns the risk of one host. A host outside the scope gets the risk of a host without
    alerts, so the caller must check access first."""
    open_alerts = Condition(
        "sensor_id = {risk_sensor:UInt32} AND status NOT IN {risk_closed:Array(String)}",
        {"risk_sensor": sensor_id, "risk_closed": sorted(CLOSED)},
    )
    newest = [("created_time", True)]
    found = search_alerts(engine, open_alerts, scope, newest, rows=RISK_ALERTS_MAX)
    weights = [(row["id"], row["title"], weight_of(row, now_us)) for row in found.rows]
    weights.sort(key=lambda one: (-one[2], one[0]))
    score = _score(weight for _, _, weight in weights)
    return HostRisk(sensor_id, score, found.total, weights[:_SHOWN])


def risk_by_day(
    engine: Engine, scope: Scope, sensor_id: int, now_us: int
) -> list[tuple[date, float]]:
    """Returns (UTC day, risk at the end of the day), the oldest day first; today's value is the
    current risk. Computed from the newest `RISK_ALERTS_MAX` stored alerts. A closed alert counts
    until it was closed; a reopened alert counts as if it had never been closed."""
    of_host = Condition("sensor_id = {risk_sensor:UInt32}", {"risk_sensor": sensor_id})
    newest = [("created_time", True)]
    found = search_alerts(engine, of_host, scope, newest, rows=RISK_ALERTS_MAX).rows
    # Alerts created in the same instant get distinct times, which may be ahead of the clock.
    rows = [row | {"created_time": min(row["created_time"], now_us)} for row in found]
    today = now_us // _DAY_US
    return [
        (_EPOCH + timedelta(day), _score(weights_at(rows, min((day + 1) * _DAY_US - 1, now_us))))
        for day in range(today - RISK_DAYS_SHOWN + 1, today + 1)
    ]


def weights_at(rows: Sequence[dict[str, Any]], at_us: int) -> list[float]:
    """Returns the weights of the alerts that were open at `at_us`."""
    return [
        weight_of(row, at_us)
        for row in rows
        if row["created_time"] <= at_us
        and (row["status"] not in CLOSED or row["resolved_time"] > at_us)
    ]


def _score(weights: Iterable[float]) -> float:
    return round(100 * (1 - math.exp(-sum(weights))), 1)


def weight_of(row: dict[str, Any], now_us: int) -> float:
    """Returns the weight of one open alert."""
    severity = row["alert_severity"] / THOUSAND / 100
    criticality = row["sensor_criticality"] / THOUSAND / _USUAL_CRITICALITY
    # A host's clock may be ahead: no alert counts more than one created now.
    last_us = min(max(row["created_time"], row["last_event_time"]), now_us)
    days = (now_us - last_us) / _DAY_US
    return float(severity * criticality * 2.0 ** (-days / RISK_HALF_LIFE_DAYS))
