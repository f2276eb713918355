"""The answer to `_bulk`: one item for every action, in order, as bytes.

Senders decide by an item's status (telemetry.md 3): below 300 is delivered, 429 and 5xx is sent
again, any other 4xx is dropped. So:

| outcome of the record | item |
|---|---|
| stored | 201 |
| stored before, of a kind the settings do not keep, or filtered | 200, `"result": "noop"` |
| rejected | 400 with the reason |

A duplicate is not 409: some senders log that as a failure of theirs. Items of one kind are the
same bytes, so the usual answer is a few strings repeated; `filter_path` (Beats ask for
`errors,items.*.error,items.*.status`) works like Elasticsearch's: what no pattern names is left
out, and objects that become empty go too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

import orjson

from vedette.api.schemas.elastic_setup import INDEX
from vedette.pipeline.submission import Outcome, Receipt

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
    """Why an item was not taken."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class BulkOutcome:
    """What became of a bulk request's actions."""

    actions: Sequence[str]
    """The verb of every action."""
    outcomes: Sequence[int]
    """An `Outcome` for every action."""
    problems: Mapping[int, Problem]
    """By position of the action."""


def problems_of(receipt: Receipt) -> dict[int, Problem]:
    """The refusals of a receipt by position."""
    return {
        refusal.position: Problem(refusal.reason, refusal.message) for refusal in receipt.refusals
    }


def bulk_answer(outcome: BulkOutcome, took_ms: int, filter_path: str = "") -> bytes:
    """The encoded answer."""
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
    """Which members an answer keeps: those that a pattern names, all without patterns."""

    patterns: tuple[str, ...]

    def keeps(self, path: str) -> bool:
        """Whether a leaf stays: a pattern may name it, or an object around it."""
        return not self.patterns or any(_names(pattern, path) for pattern in self.patterns)


def _names(pattern: str, path: str) -> bool:
    wanted, present = pattern.split("."), path.split(".")
    if "**" in wanted:
        return fnmatchcase(path, pattern.replace("**.", "*").replace("**", "*"))
    return len(wanted) <= len(present) and all(map(fnmatchcase, present, wanted))


def _items(outcome: BulkOutcome, shape: _Shape) -> bytes:
    """Each kind of item is rendered once; only refusals differ from one another."""
    codes = set(outcome.outcomes)
    rendered = {
        action: {code: _plain_item(action, Outcome(code), shape) for code in codes}
        for action in set(outcome.actions)
    }
    pairs = zip(outcome.actions, outcome.outcomes, strict=True)
    items = [rendered[action][code] for action, code in pairs]
    for position, problem in outcome.problems.items():
        items[position] = _refused_item(outcome.actions[position], problem, shape)
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
