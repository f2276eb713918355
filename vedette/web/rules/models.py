"""Formats Sigma rules for the API and parses requests about them (docs/detection.md)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast, get_args

from vedette import limits
from vedette.alerting.rule_backtest import PastHit, PastTime, RulePast
from vedette.alerting.rule_import import Imported
from vedette.alerting.rule_messages import RuleFile
from vedette.alerting.rule_trial import TrialHit
from vedette.detect.rule import SEVERITY
from vedette.errors import BadRequestError
from vedette.limits import Limit
from vedette.state.policy.rule_placeholders import Placeholder
from vedette.state.policy.rules import InForce, Wanted
from vedette.state.policy.sigma_rule import EarlierText, NewSigmaRule, RuleState, SigmaRule
from vedette.web.json.wire_values import instant, known_instant

SIGMA_PLACEHOLDER_VALUES_MAX: Limit[int] = 1_000
"""Values of a placeholder, such as the names of all administrators."""


_PLACE: Final = "document"
_OUTCOMES: Final = ("added", "changed", "unchanged", "duplicate", "refused")


def rule_body(one: SigmaRule, in_force: int, *, with_text: bool) -> dict[str, Any]:
    """Returns a stored document as JSON. `in_force` is the generation that evaluates events."""
    rule, counts = one.rule, one.counts
    body: dict[str, Any] = {
        "id": rule.id,
        "kind": rule.kind,
        "title": rule.title,
        "level": rule.level,
        "status": rule.status,
        "version": rule.version,
        "revision": one.revision,
        "origin": rule.origin,
        "enabled": one.enabled,
        "state": one.state(in_force),
        "reason": one.reason,
        "message": one.message,
        "generation": one.generation,
        "created": instant(one.created_us),
        "modified": instant(one.modified_us),
        "modified_by": one.modified_by,
        "stopped": known_instant(one.stopped_us),
        "events": counts.events,
        "hits": counts.hits,
        "verify_us": counts.verify_us,
        "last_hit": known_instant(counts.last_hit_us),
    }
    return body | {"text": rule.text} if with_text else body


def in_force_body(one: InForce) -> dict[str, Any]:
    """Returns the rule generation that evaluates commits, and the commit and time from which it
    does."""
    return {"generation": one.generation, "seq": one.seq, "time": known_instant(one.time_us)}


def imported_body(number: int, one: Imported) -> dict[str, Any]:
    """Returns the outcome of the `number`th document (from 1) of a file."""
    place = f"{one.file or _PLACE}#{number}"
    return {
        "change": one.change,
        "line": one.line,
        **document_body(number, one.rule),
        "place": place,
    }


def imported_bodies(found: Sequence[Imported]) -> list[dict[str, Any]]:
    """Returns the outcomes of a request's documents, numbered within their files."""
    counted: Counter[str] = Counter()
    bodies = []
    for one in found:
        counted[one.file] += 1
        bodies.append(imported_body(counted[one.file], one))
    return bodies


def foreseen_body(found: Sequence[Imported]) -> dict[str, Any]:
    """Returns the outcomes that a request's documents would have. Documents that cannot be
    evaluated count as refused, regardless of their change."""
    counts = Counter("refused" if one.rule.problem_reason else one.change for one in found)
    return {
        "dry_run": True,
        "counts": {name: counts[name] for name in _OUTCOMES},
        "results": imported_bodies(found),
    }


def document_body(number: int, rule: NewSigmaRule) -> dict[str, Any]:
    """Returns the summary of the `number`th document of a request."""
    return {
        "place": f"{_PLACE}#{number}",
        "id": rule.id,
        "kind": rule.kind,
        "title": rule.title,
        "level": rule.level,
        "reason": rule.problem_reason,
        "message": rule.problem_message,
    }


def placeholder_body(name: str, known: Placeholder | None, ids: Sequence[str]) -> dict[str, Any]:
    """Returns a placeholder with the rules that use it; `known` is None if it has no values."""
    return {
        "name": name,
        "values": list(known.values) if known else [],
        "rules": sorted(ids),
        "modified": known_instant(known.modified_us if known else 0),
        "modified_by": known.modified_by if known else "",
    }


def placeholder_values(name: str, body: Mapping[str, Any]) -> list[str]:
    """Returns the `values` of a request. Raises BadRequestError."""
    if len(name) > limits.MEMBER_CHARS_MAX or not name.strip() or "%" in name or "\\" in name:
        raise BadRequestError("name: must be the text between the % signs")
    found, most = body.get("values"), SIGMA_PLACEHOLDER_VALUES_MAX
    if not isinstance(found, list) or not 0 < len(found) <= most:
        raise BadRequestError(f"values: must be a list of 1 to {most:,} texts")
    for number, one in enumerate(found):
        if not isinstance(one, str) or not 0 < len(one) <= limits.MEMBER_CHARS_MAX:
            raise BadRequestError(
                f"values[{number}]: must be a string of 1 to {limits.MEMBER_CHARS_MAX:,} characters"
            )
    return list(dict.fromkeys(found))


def versions_body(present: SigmaRule, earlier: Sequence[EarlierText]) -> list[dict[str, Any]]:
    """Returns the current and earlier texts of a rule, newest first."""
    rule = present.rule
    now = EarlierText(
        present.revision,
        rule.text,
        rule.title,
        rule.level,
        present.text_us,
        present.text_by,
    )
    return [
        {
            "revision": one.revision,
            "text": one.text,
            "title": one.title,
            "level": one.level,
            "modified": instant(one.text_us),
            "modified_by": one.text_by,
        }
        for one in (now, *earlier)
    ]


def hit_body(hit: TrialHit | PastHit, titles: Mapping[str, str]) -> dict[str, Any]:
    """Returns a hit of a rule in a trial."""
    return {
        "rule_id": hit.rule_id,
        "title": titles.get(hit.rule_id, ""),
        "hostname": hit.hostname,
        "time": instant(hit.time_us),
        "process_id": hit.process_id,
        "matched": hit.matched,
    }


def past_body(documents: Sequence[NewSigmaRule], past: RulePast) -> dict[str, Any]:
    """Returns the hits that rules would have had in stored telemetry."""
    titles = {one.id: one.title for one in documents}
    return {
        "documents": [document_body(n, one) for n, one in enumerate(documents, 1)],
        "from": instant(past.from_ms * 1_000),
        "to": instant(past.until_ms * 1_000),
        "by": past.by,
        "events": past.events,
        "total_hits": past.hits,
        "hits_per_day": [
            {"day": instant(day_ms * 1_000)[:10], "hits": hits}
            for day_ms, hits in sorted(past.by_day.items())
        ],
        "average_hits_per_day": round(past.hits / past.days, 2),
        "total_hosts": len(past.hosts),
        "hosts": [
            {"sensor_id": sensor_id, "hostname": name, "hits": hits}
            for sensor_id, name, hits in past.most_hit()
        ],
        "expected_alerts": past.alerts(),
        "expected_alerts_per_day": round(past.alerts() / past.days, 2),
        "rules": [
            {
                "rule_id": one.id,
                "title": one.title,
                "hits": past.by_rule[one.id],
                "expected_alerts": past.alerts(one.id),
                "not_stored": sorted(past.not_stored.get(one.id, ())),
            }
            for one in documents
            if one.kind == "rule" and one.compiled
        ],
        "samples": [hit_body(hit, titles) for hit in past.samples],
        "incomplete_results": past.is_incomplete,
    }


def past_time(body: Mapping[str, Any]) -> PastTime:
    """Returns the kind of time that the bounds of a trial apply to. Raises BadRequestError."""
    by = body.get("by", "event")
    if by not in get_args(PastTime):
        raise BadRequestError(f"by: must be one of {', '.join(get_args(PastTime))}")
    return cast("PastTime", by)


def rule_file(body: Mapping[str, Any]) -> RuleFile:
    """Returns the YAML of a request. Raises BadRequestError."""
    text, origin = body.get("text"), body.get("origin", "")
    if not isinstance(text, str) or not text.strip():
        raise BadRequestError("text: must be a string of YAML documents")
    if not isinstance(origin, str) or len(origin) > limits.MEMBER_CHARS_MAX:
        raise BadRequestError(f"origin: must be a string of at most {limits.MEMBER_CHARS_MAX}")
    return RuleFile(_PLACE, text, origin)


def rule_files(body: Mapping[str, Any]) -> list[RuleFile]:
    """Returns the YAML of a request: its text, or its files with their names. Raises
    BadRequestError."""
    given = body.get("files")
    if given is None:
        return [rule_file(body)]
    if body.get("text"):
        raise BadRequestError("text: cannot be combined with files")
    most = limits.SIGMA_REQUEST_FILES_MAX
    if not isinstance(given, list) or not 0 < len(given) <= most:
        raise BadRequestError(f"files: must be a list of 1 to {most:,} files")
    return [_named_file(number, one) for number, one in enumerate(given)]


def _named_file(number: int, given: object) -> RuleFile:
    place = f"files[{number}]"
    if not isinstance(given, dict):
        raise BadRequestError(f"{place}: must be an object with name and text")
    name, text = given.get("name"), given.get("text")
    if not isinstance(name, str) or not 0 < len(name) <= limits.MEMBER_CHARS_MAX:
        raise BadRequestError(f"{place}.name: 1 to {limits.MEMBER_CHARS_MAX:,} characters")
    if not isinstance(text, str):
        raise BadRequestError(f"{place}.text: must be a string of YAML documents")
    return RuleFile(name, text, name)


def ids(body: Mapping[str, Any]) -> list[str]:
    """Returns the `ids` of a request. Raises BadRequestError."""
    found = body.get("ids")
    if (
        not isinstance(found, list)
        or not found
        or len(found) > limits.SIGMA_RULES_MAX
        or not all(isinstance(one, str) for one in found)
    ):
        raise BadRequestError("ids: must be a list of rule ids")
    return list(dict.fromkeys(found))


def wanted(query: Mapping[str, str]) -> Wanted:
    """Returns the filter of a list request. Raises BadRequestError."""
    state: RuleState | None = next(
        (one for one in get_args(RuleState) if one == query.get("state")), None
    )
    if query.get("state") and state is None:
        raise BadRequestError(f"state: must be one of {', '.join(get_args(RuleState))}")
    level = query.get("level", "").lower()
    if level and level not in SEVERITY:
        raise BadRequestError(f"level: must be one of {', '.join(SEVERITY)}")
    texts = {name: query.get(name, "") for name in ("q", "reason", "origin")}
    for name, text in texts.items():
        if len(text) > limits.MEMBER_CHARS_MAX:
            raise BadRequestError(f"{name}: longer than {limits.MEMBER_CHARS_MAX} characters")
    return Wanted(texts["q"], level, state or "", texts["reason"], texts["origin"])
