"""Preview of the hits that a query would have had in stored telemetry, before it is saved as a
watchlist.

Counts are exact unless the deadline passes. Then they cover the newest part of the requested
period, and the result states from which time on.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

from vedette.alerting.past_steps import newest_first
from vedette.errors import UnavailableError
from vedette.limits import SEGMENT_WINDOW_MS, Limit
from vedette.model.scope import Scope
from vedette.query import (
    SETTINGS,
    Condition,
    compile_binaries,
    compile_segments,
    exact_leaf,
    parse,
    parse_stored,
    print_query,
)
from vedette.query.nodes import And, Not
from vedette.store.engine.client import Engine
from vedette.store.plan.search_bounds import Reach
from vedette.store.read.segment_search import segment_rows
from vedette.store.sql.scope_filter import scope_params, scoped
from vedette.watchlists.watch_query import MODULES, WatchQuery

WATCHLIST_PREVIEW_SAMPLES: Limit[int] = 20
"""Hits that a preview shows."""

WATCHLIST_PREVIEW_VALUES: Limit[int] = 5
"""Values that a preview suggests to exclude."""

WATCHLIST_PREVIEW_HOSTS: Limit[int] = 100
"""Hosts that a preview names, by most hits."""

WATCHLIST_PREVIEW_STEP_S: Limit[int] = 3600
"""Length (s) of the first step of a preview; each further step is twice as long, so that a preview
that runs out of time covers the newest hits."""


HOUR_MS: Final = 3600 * 1_000
DAY_MS: Final = 24 * HOUR_MS
EXCLUDED: Final = ("process_name", "parent_name", "username", "hostname", "path")
"""Fields whose values usually cause the noise of a query over processes."""
_VALUES_A_STEP: Final = 100
_WITHIN: Final = "window_ms >= {past_from:UInt64} AND window_ms < {past_until:UInt64}"


@dataclass(slots=True)
class Backtest:
    """Hits of a query. A hit is a segment or a binary; an alert is raised per process, or per
    binary and host."""

    from_ms: int
    until_ms: int
    index_type: str
    hits: int = 0
    by_day: dict[int, int] = field(default_factory=dict)
    """Hits by the start of their day (UTC, epoch ms)."""
    hosts: dict[tuple[int, str], int] = field(default_factory=dict)
    """Hits by (sensor id, host name)."""
    processes: set[str] = field(default_factory=set)
    pairs: int = 0
    """Number of pairs of a binary and a host that has it."""
    samples: list[dict[str, Any]] = field(default_factory=list)
    """Rows of the newest hits."""
    values: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Hits by (field of `EXCLUDED`, value); lower bounds for rare values."""
    is_incomplete: bool = False
    """Whether time ran out; `from_ms` is then later than requested."""

    @property
    def alerts(self) -> int:
        """Number of alerts with the alert action enabled."""
        return self.pairs if self.index_type == MODULES else len(self.processes)

    def noisiest(self) -> list[tuple[str, str, int]]:
        """Returns (field, value, hits) of the most frequent values; omits values of all hits, since
        excluding them would leave nothing."""
        some = ((*pair, hits) for pair, hits in self.values.items() if hits < self.hits)
        return sorted(some, key=lambda one: (-one[2], one[:2]))[:WATCHLIST_PREVIEW_VALUES]

    @property
    def days(self) -> float:
        """Length of the searched period in days."""
        return max(self.until_ms - self.from_ms, SEGMENT_WINDOW_MS) / DAY_MS

    def most_hit(self) -> list[tuple[int, str, int]]:
        """Returns (sensor id, host name, hits) of the hosts with the most hits."""
        found = [(sensor_id, name, hits) for (sensor_id, name), hits in self.hosts.items()]
        return sorted(found, key=lambda one: (-one[2], one[1]))[:WATCHLIST_PREVIEW_HOSTS]


def backtest(
    engine: Engine,
    query: WatchQuery,
    index_type: str,
    scope: Scope,
    from_ms: int,
    until_ms: int,
    reach: Reach,
) -> Backtest:
    """Returns hits in the telemetry of a period within the scope; for binaries, those first seen in
    the period."""
    found = Backtest(until_ms, until_ms, index_type)
    try:
        if index_type == MODULES:
            _binaries(engine, query, scope, from_ms, found, reach)
        else:
            for step in newest_first(from_ms, until_ms, WATCHLIST_PREVIEW_STEP_S * 1_000):
                _segments(engine, query, scope, step, found, reach)
        found.from_ms = from_ms
    except UnavailableError as error:
        if error.reason != "deadline":
            raise
        found.is_incomplete = True
    return found


def _segments(
    engine: Engine,
    query: WatchQuery,
    scope: Scope,
    step: tuple[int, int],
    found: Backtest,
    reach: Reach,
) -> None:
    where = compile_segments(query.checked, prefix="past_")
    where = scoped(where.within(_WITHIN, {"past_from": step[0], "past_until": step[1]}), scope)
    rows = engine.query(
        "SELECT intDiv(window_ms, {day:UInt64}) * {day:UInt64} AS day, sensor_id, "
        "any(hostname), count(), groupUniqArray(process_id) "
        f"FROM segment FINAL {where.clause} GROUP BY day, sensor_id",
        {**where.params, "day": DAY_MS},
        settings=SETTINGS,
        deadline_s=reach.left_s(),
        cancel=reach.cancel,
    ).rows
    if len(found.samples) < WATCHLIST_PREVIEW_SAMPLES and rows:
        places = engine.query(
            f"SELECT window_ms, sensor_id, key_hash FROM segment FINAL {where.clause} "
            f"ORDER BY window_ms DESC, key_hash LIMIT {WATCHLIST_PREVIEW_SAMPLES:d}",
            where.params,
            settings=SETTINGS,
            deadline_s=reach.left_s(),
            cancel=reach.cancel,
        ).rows
        samples = segment_rows(engine, [(one[0], one[1], one[2]) for one in places])
        found.samples = [*found.samples, *samples][:WATCHLIST_PREVIEW_SAMPLES]
    for day_ms, sensor_id, hostname, count, processes in rows:
        _count(found, day_ms, (sensor_id, hostname), count)
        found.hits += count
        found.processes.update(processes)
    if rows:
        found.values.update(_values(engine, where, reach))
    found.from_ms = step[0]


def _values(engine: Engine, where: Condition, reach: Reach) -> dict[tuple[str, str], int]:
    """Returns the number of segments per field and value."""
    pairs = ", ".join(f"('{name}', toString(`{name}`))" for name in EXCLUDED)
    rows = engine.query(
        f"SELECT arrayJoin([{pairs}]) AS pair, count() AS hits FROM segment FINAL {where.clause} "
        f"GROUP BY pair HAVING pair.2 != '' ORDER BY hits DESC, pair LIMIT {_VALUES_A_STEP:d}",
        where.params,
        settings=SETTINGS,
        deadline_s=reach.left_s(),
        cancel=reach.cancel,
    ).rows
    return {(name, value): hits for (name, value), hits in rows}


def without(search_query: str, field_name: str, value: str) -> str:
    """Returns the stored query with a value of a field excluded."""
    left_out = Not(exact_leaf(field_name, value))
    text = print_query(And((parse_stored(search_query), left_out)))
    # In URL form if the text would otherwise be parsed as a URL, or its percent signs decoded.
    return text if parse_stored(text) == parse(text) else f"q={quote(text)}"


def _binaries(
    engine: Engine,
    query: WatchQuery,
    scope: Scope,
    from_ms: int,
    found: Backtest,
    reach: Reach,
) -> None:
    where = compile_binaries(query.checked)
    rows = engine.query(
        f"SELECT * FROM ({where.binaries}) WHERE added BETWEEN "
        "fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC') "
        "AND fromUnixTimestamp64Milli({until_ms:Int64}, 'UTC') ORDER BY added DESC, hash",
        {
            **where.params,
            **scope_params(scope),
            "from_ms": from_ms,
            "until_ms": found.until_ms,
        },
        settings=SETTINGS,
        deadline_s=reach.left_s(),
        cancel=reach.cancel,
    ).dicts()
    found.hits, found.samples = len(rows), rows[:WATCHLIST_PREVIEW_SAMPLES]
    for row in rows:
        day_ms = row["added"] // 1_000 // DAY_MS * DAY_MS
        found.by_day[day_ms] = found.by_day.get(day_ms, 0) + 1
        found.pairs += len(row["endpoint"])
        for host in _endpoints(row):
            found.hosts[host] = found.hosts.get(host, 0) + 1


def _endpoints(row: Mapping[str, Any]) -> Sequence[tuple[int, str]]:
    pairs = (endpoint.rpartition("|") for endpoint in row["endpoint"])
    return [(int(sensor_id), name) for name, _, sensor_id in pairs]


def _count(found: Backtest, day_ms: int, host: tuple[int, str], count: int) -> None:
    found.by_day[day_ms] = found.by_day.get(day_ms, 0) + count
    found.hosts[host] = found.hosts.get(host, 0) + count
