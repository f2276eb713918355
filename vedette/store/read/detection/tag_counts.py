"""How many documents watchlists hit over time, by their tags."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from vedette.model.scope import Scope
from vedette.store.engine.client import Engine

_KEY: Final = "window_ms, sensor_id, process_id, segment_id"


def hits_over_time(
    engine: Engine,
    scope: Scope,
    names: Sequence[str],
    until_ms: int,
    width_ms: int,
    steps: int,
    deadline_s: float,
) -> Mapping[str, Sequence[int]]:
    """Segments that each of these watchlists tagged, in `steps` intervals that end at `until_ms`,
    by the time of the segment, the newest last; only those of the scope, without watchlists that
    hit none. Raises UnavailableError (`deadline`)."""
    if not names:
        return {}
    from_ms = until_ms - width_ms * steps
    params: dict[str, Any] = {"names": list(names), "from_ms": from_ms, "width_ms": width_ms}
    within = ""
    if scope.sensors is not None:
        within = "AND sensor_id IN {sensors:Array(UInt32)} "
        params["sensors"] = sorted(scope.sensors)
    rows = engine.query(
        "SELECT name, intDiv(window_ms - {from_ms:UInt64}, {width_ms:UInt64}) AS step, count() "
        f"FROM (SELECT name, {_KEY} FROM tag WHERE family = 'watchlist' "
        "AND name IN {names:Array(String)} AND window_ms >= {from_ms:UInt64} "
        f"{within}GROUP BY ALL) GROUP BY name, step",
        params,
        deadline_s=deadline_s,
    ).rows
    found: dict[str, list[int]] = {}
    for name, step, count in rows:
        found.setdefault(name, [0] * steps)[min(step, steps - 1)] += count
    return found
