"""Formats the response of `_bulk`: an item for every action, in order, as bytes.

Senders decide by the status of an item (docs/telemetry-formats.md#protocols): below 300 is
delivered, 429 and 5xx are retried, any other 4xx is dropped. Therefore:

| outcome of the record | item |
|---|---|
| stored | 201 |
| a duplicate, of a kind that settings exclude, or filtered | 200, `"result": "noop"` |
| rejected | 400 with the reason |

A duplicate is not 409, because some senders log that as an error. Items with the same outcome have
identical bytes, which are rendered once. `filter_path` (Beats send
`errors,items.*.error,items.*.status`) works as in Elasticsearch: members that no pattern names are
omitted, and so are objects that become empty.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

import orjson

from vedette.pipeline.submission import Outcome, Receipt
from vedette.web.telemetry.elastic_setup_json import INDEX

ACTIONS: Final = ("create", "index", "update", "delete")

ITEM_STATUS: Final[Mapping[Outcome, int]] = {
    Outcome.EVENTS: 201,
    Outcome.RECORD: 201,
    Outcome.DUPLICATE: 200,
    Outcome.NOT_KEPT: 200,
    Outcome.FILTERED: 200,
    Outcome.REJECTED: 400,
}


@dataclass(frozen=True, slots=True)
class Problem:
    """Reason for the rejection of a record."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class BulkOutcome:
    """The outcomes of a bulk request."""

    actions: Sequence[str]
    """Verb of each action."""
    outcomes: Sequence[int]
    """`Outcome` of each action."""
    problems: Mapping[int, Problem]
    """Problems by position of the action."""


def problems_of(receipt: Receipt) -> dict[int, Problem]:
    """Returns the rejected records of a receipt by position."""
    return {
        refusal.position: Problem(refusal.reason, refusal.message) for refusal in receipt.refusals
    }


def bulk_answer(outcome: BulkOutcome, took_ms: int, filter_path: str = "") -> bytes:
    """Returns the encoded response."""
    shape = _Shape(tuple(part.strip() for part in filter_path.split(",") if part.strip()))
    members = []
    if shape.keeps("took"):
        members.append(b'"took":%d' % took_ms)
    if shape.keeps("errors"):
        members.append(b'"errors":true' if outcome.problems else b'"errors":false')
    items = _items(outcome, shape)
    if items or not shape.patterns:
        members.append(b'"items":[' + items + b"]")
    return b"{" + b",".join(members) + b"}"


@dataclass(frozen=True, slots=True)
class _Shape:
    """Selects the members of a response: those that a pattern names, or all without patterns."""

    patterns: tuple[str, ...]

    def keeps(self, path: str) -> bool:
        """Returns whether a pattern names the member or an object that contains it."""
        return not self.patterns or any(_names(pattern, path) for pattern in self.patterns)


def _names(pattern: str, path: str) -> bool:
    wanted, present = pattern.split("."), path.split(".")
    if "**" in wanted:
        return fnmatchcase(path, pattern.replace("**.", "*").replace("**", "*"))
    return len(wanted) <= len(present) and all(map(fnmatchcase, present, wanted))


def _items(outcome: BulkOutcome, shape: _Shape) -> bytes:
    """Returns the items; each distinct item is rendered once."""
    codes = set(outcome.outcomes)
    rendered = {
        action: {code: _plain_item(action, Outcome(code), shape) for code in codes}
        for action in set(outcome.actions)
    }
    pairs = zip(outcome.actions, outcome.outcomes, strict=True)
    items = [rendered[action][code] for action, code in pairs]
    refused: dict[tuple[str, Problem], bytes] = {}
    for position, problem in outcome.problems.items():
        kind = outcome.actions[position], problem
        if kind not in refused:
            refused[kind] = _refused_item(*kind, shape)
        items[position] = refused[kind]
    return b",".join(filter(None, items))


def _plain_item(action: str, outcome: Outcome, shape: _Shape) -> bytes:
    status = ITEM_STATUS[outcome]
    result = "created" if status == 201 else "noop"
    return _item(action, {"_index": INDEX, "status": status, "result": result}, shape)


def _refused_item(action: str, problem: Problem, shape: _Shape) -> bytes:
    error = {"type": problem.reason, "reason": problem.message}
    path = f"items.{action}.error"
    kept = {name: text for name, text in error.items() if shape.keeps(f"{path}.{name}")}
    members = {"_index": INDEX, "status": ITEM_STATUS[Outcome.REJECTED]}
    return _item(action, members, shape, {"error": kept} if kept else {})


def _item(
    action: str, members: dict[str, Any], shape: _Shape, more: dict[str, Any] | None = None
) -> bytes:
    kept = {name: value for name, value in members.items() if shape.keeps(f"items.{action}.{name}")}
    kept |= more or {}
    return orjson.dumps({action: kept}) if kept else b""
