"""Answers of look-ups, of the list of fields, and of completions."""

from collections.abc import Sequence
from typing import Any, Final

from vedette.api.schemas.search.process import process_body
from vedette.api.schemas.wire_values import known_instant
from vedette.model.field import Field
from vedette.model.field_docs import ALERTS, BINARIES, FIELDS, TYPES
from vedette.search.lookup import Known, Recognised
from vedette.search.suggest import Suggestion
from vedette.state.policy.bans import Ban

Body = dict[str, Any]


def lookup_body(value: Recognised, known: Known, ban: Ban | None, targets: Sequence[Body]) -> Body:
    """What a value is, and what is known of it."""
    return {
        "kind": value.kind,
        "value": value.value,
        "query": value.query,
        "alert_query": value.alert_query,
        "processes": known.processes,
        "host_count": known.host_count,
        "hosts": [{"name": name, "value": count} for name, count in known.hosts],
        "first_seen": known_instant(known.first_us),
        "last_seen": known_instant(known.last_us),
        "alerts": known.alerts,
        "open_alerts": known.open_alerts,
        "feeds": [{"name": name, "value": count} for name, count in known.feeds],
        "newest": None if known.newest is None else process_body(known.newest),
        "banned": ban is not None and ban.enabled,
        "ban_text": ban.text if ban is not None else None,
        "incomplete_results": known.is_incomplete,
        "targets": list(targets),
    }


_MEANINGS: Final = {"process": FIELDS, "binary": BINARIES, "alert": ALERTS}


def field_body(field: Field, index: str) -> Body:
    """A field of the queries over an index."""
    return {
        "name": field.name,
        "aliases": list(field.aliases),
        "type": field.type,
        "type_meaning": TYPES.get(field.type, ""),
        "meaning": _MEANINGS[index].get(field.name, FIELDS.get(field.name, "")),
        "default": field.default,
    }


def suggestion_body(one: Suggestion) -> Body:
    """A completion."""
    return {"text": one.text, "start": one.start, "kind": one.kind, "count": one.count}
