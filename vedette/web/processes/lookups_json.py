"""Formats responses of lookups, the list of fields, and completions."""

from collections.abc import Sequence
from typing import Any, Final

from vedette.model.field import Field
from vedette.model.field_docs import ALERTS, BINARIES, FIELDS, TYPES
from vedette.record.objects.ban import Ban
from vedette.search.lookup import Known, Recognised
from vedette.search.suggest import Suggestion
from vedette.web.json.wire_values import known_instant
from vedette.web.processes.models import process_body

Body = dict[str, Any]


def lookup_body(value: Recognised, known: Known, ban: Ban | None, targets: Sequence[Body]) -> Body:
    """Returns a value with its types and the matching data. `kind` is the first type that has
    processes, else the most likely type."""
    meanings = [
        {"kind": meaning.kind, "query": meaning.query, "processes": processes}
        for meaning, processes in zip(value.meanings, known.by_meaning, strict=True)
    ]
    return {
        "kind": next((one["kind"] for one in meanings if one["processes"]), value.kinds[0]),
        "meanings": meanings,
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
    """Returns a query field of an index."""
    return {
        "name": field.name,
        "aliases": list(field.aliases),
        "type": field.type,
        "type_meaning": TYPES.get(field.type, ""),
        "meaning": _MEANINGS[index].get(field.name, FIELDS.get(field.name, "")),
        "default": field.default,
    }


def suggestion_body(one: Suggestion) -> Body:
    """Returns a completion of a query."""
    return {"text": one.text, "start": one.start, "kind": one.kind, "count": one.count}
