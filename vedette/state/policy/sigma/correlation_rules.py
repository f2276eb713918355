"""Correlations and filters without effect, because rules that they refer to are missing, disabled,
stopped, or cannot be evaluated."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from sqlalchemy import Connection, RowMapping, or_, select

from vedette import limits
from vedette.state.db.schema_rules import SIGMA_RULE

_ROW = SIGMA_RULE.c
_COLUMNS: Final = (
    _ROW.id,
    _ROW.title,
    _ROW.kind,
    _ROW.compiled,
    _ROW.enabled,
    _ROW.stopped_us,
    _ROW.problem_reason,
)


def blocked_rules(connection: Connection) -> dict[str, str]:
    """Maps the id of each stored correlation or filter without effect to the reason. Includes
    disabled documents whose rules are missing."""
    query = select(*_COLUMNS).where(
        _ROW.deleted_us == 0, _ROW.kind.in_(("correlation", "filter")), _ROW.compiled != ""
    )
    above = list(connection.execute(query).mappings())
    if not above:
        return {}
    bodies = {row["id"]: _body(row) for row in above}
    named = {name for body in bodies.values() for name in body.get("rules") or ()}
    known = _known(connection, named)
    known |= {name: row for row in above for name in _names(row, bodies[row["id"]])}
    found: dict[str, str] = {}
    # Each round finds documents that refer to documents of the previous round.
    for _ in range(limits.CORRELATION_DEPTH_MAX + 1):
        before = len(found)
        for row in above:
            reason = _reason(bodies[row["id"]], row["kind"], known, found)
            if reason:
                found[row["id"]] = reason
        if len(found) == before:
            break
    return found


def base_rules(connection: Connection, correlation_id: str) -> list[str]:
    """Returns the ids of the rules whose hits a correlation counts, directly or through other
    correlations, in ascending order; [] for a rule that is no correlation."""
    query = select(*_COLUMNS).where(_ROW.deleted_us == 0, _ROW.kind == "correlation")
    above = list(connection.execute(query).mappings())
    bodies = {row["id"]: _body(row) for row in above}
    by_name = {name: row["id"] for row in above for name in _names(row, bodies[row["id"]])}
    reached: set[str] = set()
    waiting = [correlation_id]
    names: set[str] = set()
    while waiting:
        current = waiting.pop()
        if current in reached or current not in bodies:
            continue
        reached.add(current)
        counted = set(map(str, bodies[current].get("rules") or ()))
        waiting.extend(by_name[name] for name in counted & by_name.keys())
        names |= counted - by_name.keys()
    return sorted({row["id"] for row in _known(connection, names).values()})


def _reason(
    body: Mapping[str, Any], kind: str, known: Mapping[str, RowMapping], blocked: Mapping[str, str]
) -> str:
    """Returns the reason why a document has no effect; "" if it has an effect."""
    names = list(body.get("rules") or ())
    problems = [text for name in names if (text := _problem(name, known.get(name), blocked))]
    if len(names) - len(problems) >= _needed(body, kind, len(names)):
        return ""
    return "; ".join(problems)[: limits.SIGMA_PROBLEM_CHARS_MAX]


def _needed(body: Mapping[str, Any], kind: str, names: int) -> int:
    """Returns how many of the referenced rules must be in force."""
    if kind == "filter":
        return min(1, names)  # without names it applies to all rules of its log source
    match body.get("kind"):
        case "temporal_ordered":
            return names
        case "temporal":
            count = int(body.get("count", names))
            return count + 1 if body.get("operator") == "gt" else max(1, count)
    return 1


def _problem(name: str, row: RowMapping | None, blocked: Mapping[str, str]) -> str:
    if row is None:
        return f"rule {name[:80]} not found"
    title = f"rule {row['title'][:80]!r}"
    if row["problem_reason"] or not row["compiled"]:
        return f"{title} cannot be evaluated"
    if not row["enabled"]:
        return f"{title} is switched off"
    if row["stopped_us"]:
        return f"{title} was stopped because of its cost"
    return f"{title} cannot fire" if row["id"] in blocked else ""


def _known(connection: Connection, names: Iterable[str]) -> dict[str, RowMapping]:
    """Maps ids and names to stored rules; an id takes precedence over a name."""
    by_id: dict[str, RowMapping] = {}
    by_name: dict[str, RowMapping] = {}
    wanted = sorted(names)
    for at in range(0, len(wanted), _NAMES_A_QUERY):
        some = wanted[at : at + _NAMES_A_QUERY]
        texts = [f'"name":{json.dumps(name, ensure_ascii=False)}' for name in some]
        is_named = or_(*(_ROW.compiled.contains(text, autoescape=True) for text in texts))
        query = select(*_COLUMNS).where(
            _ROW.deleted_us == 0, _ROW.kind == "rule", or_(_ROW.id.in_(some), is_named)
        )
        for row in connection.execute(query).mappings():
            by_id[row["id"]] = row
            name = str(_body(row).get("name") or "")
            # Of two rules with the same name, prefer one in force.
            if name and (name not in by_name or not _problem(name, row, {})):
                by_name[name] = row
    return by_name | by_id


_NAMES_A_QUERY: Final = 50
"""Names per query; each is searched in the texts of all rules."""


def _names(row: RowMapping, body: Mapping[str, Any]) -> list[str]:
    """Returns the names by which correlations may refer to a document."""
    return [name for name in (row["id"], str(body.get("name") or "")) if name]


def _body(row: RowMapping) -> dict[str, Any]:
    try:
        body = json.loads(row["compiled"])
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}
