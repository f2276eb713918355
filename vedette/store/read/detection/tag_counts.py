"""Counts the segments tagged by watchlists and feeds."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from vedette.model.findings.tag import TagFamily
from vedette.model.scope import Scope
from vedette.store.engine.client import Engine

_KEY: Final = "window_ms, sensor_id, process_id, segment_id"


def hits_over_time(
    engine: Engine,
    scope: Scope,
    family: TagFamily,
    names: Sequence[str],
    until_ms: int,
    width_ms: int,
    steps: int,
    deadline_s: float,
) -> Mapping[str, Sequence[int]]:
    """Maps each of these watchlists or feeds to the number of segments that it tagged in each of
    `steps` intervals that end at `until_ms`, by segment time, the newest last. Covers only the
    scope; omits names without hits. Raises UnavailableError (`deadline`)."""
    if not names:
        return {}
    from_ms = until_ms - width_ms * steps
    within, params = _within(scope)
    params |= {"family": family, "names": list(names), "from_ms": from_ms, "width_ms": width_ms}
    rows = engine.query(
        "SELECT name, intDiv(window_ms - {from_ms:UInt64}, {width_ms:UInt64}) AS step, count() "
        f"FROM (SELECT name, {_KEY} FROM tag WHERE family = {{family:String}} "
        "AND name IN {names:Array(String)} AND window_ms >= {from_ms:UInt64} "
        f"{within}GROUP BY ALL) GROUP BY name, step",
        params,
        deadline_s=deadline_s,
    ).rows
    found: dict[str, list[int]] = {}
    for name, step, count in rows:
        found.setdefault(name, [0] * steps)[min(step, steps - 1)] += count
    return found


class IocHits(Struct, frozen=True, gc=False):
    """The hits of an indicator."""

    ioc: str
    segments: int
    hosts: int
    last_ms: int
    """The window of the newest segment, epoch milliseconds."""


def hits_of_report(
    engine: Engine, scope: Scope, feed_name: str, report_id: str, rows_max: int, deadline_s: float
) -> Sequence[IocHits]:
    """Returns the indicators of a report that hit segments of the scope, those with the most hits
    first. Raises UnavailableError (`deadline`)."""
    within, params = _within(scope)
    rows = engine.query(
        "SELECT ioc, count() AS hits, uniqExact(sensor_id), max(window_ms) "
        f"FROM (SELECT ioc, {_KEY} FROM tag WHERE family = 'alliance' AND name = {{name:String}} "
        f"AND report = {{report:String}} {within}GROUP BY ALL) "
        f"GROUP BY ioc ORDER BY hits DESC, ioc LIMIT {rows_max:d}",
        params | {"name": feed_name.lower(), "report": report_id},
        deadline_s=deadline_s,
    ).rows
    return [IocHits(*row) for row in rows]


def _within(scope: Scope) -> tuple[str, dict[str, Any]]:
    if scope.sensors is None:
        return "", {}
    return "AND sensor_id IN {sensors:Array(UInt32)} ", {"sensors": sorted(scope.sensors)}
