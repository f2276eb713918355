"""Runs records of Linux and macOS senders through decode, learn and normalise."""

import json
from collections.abc import Iterable
from typing import Any, TypeVar

from vedette.ingest.context.host_context import HostContext
from vedette.ingest.decode import decode
from vedette.ingest.framing.body import split_body
from vedette.ingest.normalise import SOURCES
from vedette.ingest.normalise.keep import KEEP
from vedette.ingest.record import Record
from vedette.model.event import Facts, Outcome

T = TypeVar("T")


def records_of(*sent: dict[str, Any] | str, host: str = "web1.example") -> list[Record]:
    """Records of JSON objects and log lines, as one request holds them."""
    lines = (one if isinstance(one, str) else json.dumps(one) for one in sent)
    body = "\n".join(lines).encode()
    return [record for piece in split_body(body, host) for record in decode(piece)]


def outcomes_of(records: Iterable[Record], ctx: HostContext | None = None) -> list[Outcome]:
    """Returns the outcomes of one host's records after all have contributed to its context."""
    context = ctx or HostContext(1)
    batch = list(records)
    for record in batch:
        SOURCES[record.vedette_record].learn(record, context)
    return [
        outcome
        for record in batch
        for outcome in SOURCES[record.vedette_record].normalise(record, context, KEEP)
    ]


def normalised(*sent: dict[str, Any] | str, host: str = "web1.example") -> list[Outcome]:
    return outcomes_of(records_of(*sent, host=host))


def only(kind: type[T], outcomes: Iterable[Outcome]) -> list[T]:
    """The outcomes of one kind."""
    return [outcome for outcome in outcomes if isinstance(outcome, kind)]


def merged(outcomes: Iterable[Outcome]) -> dict[str, dict[str, Any]]:
    """All facts by process, the greater value winning."""
    found: dict[str, dict[str, Any]] = {}
    for facts in only(Facts, outcomes):
        known = found.setdefault(facts.process_id, {})
        for name, value in facts.values.items():
            known[name] = max(known.get(name, value), value)
    return found


def of_path(outcomes: Iterable[Outcome], path: str) -> tuple[str, dict[str, Any]]:
    """Id and facts of the one process with this path."""
    ((process_id, values),) = (
        item for item in merged(outcomes).items() if item[1].get("path") == path
    )
    return process_id, values
