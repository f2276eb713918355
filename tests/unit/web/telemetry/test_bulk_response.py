"""Answers to `_bulk`: what makes senders give up, retry or go on
(docs/telemetry-formats.md#protocols)."""

from typing import Any

import orjson
import pytest

from vedette.pipeline.submission import Outcome
from vedette.web.telemetry.bulk_response_json import BulkOutcome, Problem, bulk_answer

STORED = {"create": {"_index": "vedette", "status": 201, "result": "created"}}
NOOP = {"create": {"_index": "vedette", "status": 200, "result": "noop"}}
REFUSED = {
    "create": {
        "_index": "vedette",
        "status": 400,
        "error": {"type": "no_host", "reason": "has no host"},
    }
}


def answer(outcomes: list[Outcome], filter_path: str = "", verb: str = "create") -> Any:
    problems = {
        position: Problem("no_host", "has no host")
        for position, outcome in enumerate(outcomes)
        if outcome is Outcome.REJECTED
    }
    outcome = BulkOutcome([verb] * len(outcomes), bytearray(outcomes), problems)
    return orjson.loads(bulk_answer(outcome, 5, filter_path))


@pytest.mark.parametrize(
    ("outcome", "item"),
    [
        (Outcome.EVENTS, STORED),
        (Outcome.RECORD, STORED),
        (Outcome.DUPLICATE, NOOP),
        (Outcome.NOT_KEPT, NOOP),
        (Outcome.REJECTED, REFUSED),
    ],
)
def test_every_outcome_has_its_item(outcome: Outcome, item: dict[str, Any]) -> None:
    assert answer([outcome])["items"] == [item]


def test_items_stand_in_the_order_of_the_actions() -> None:
    body = answer([Outcome.EVENTS, Outcome.REJECTED, Outcome.DUPLICATE])
    assert body == {"took": 5, "errors": True, "items": [STORED, REFUSED, NOOP]}


def test_a_stored_batch_is_one_item_repeated() -> None:
    body = answer([Outcome.EVENTS] * 2_000)
    assert body == {"took": 5, "errors": False, "items": [STORED] * 2_000}


def test_items_answer_to_the_verb_of_their_action() -> None:
    assert list(answer([Outcome.EVENTS], verb="index")["items"][0]) == ["index"]


@pytest.mark.parametrize(
    ("filter_path", "body"),
    [
        ("errors", {"errors": True}),
        ("took,errors", {"took": 5, "errors": True}),
        (
            "errors,items.*.error,items.*.status",
            {
                "errors": True,
                "items": [
                    {"create": {"status": 201}},
                    {"create": {"status": 400, "error": REFUSED["create"]["error"]}},
                ],
            },
        ),
        ("items.*.error.type", {"items": [{"create": {"error": {"type": "no_host"}}}]}),
        ("items", {"items": [STORED, REFUSED]}),
        ("**.status", {"items": [{"create": {"status": 201}}, {"create": {"status": 400}}]}),
        ("nothing.like.it", {}),
    ],
)
def test_filter_path_keeps_what_it_names(filter_path: str, body: dict[str, Any]) -> None:
    assert answer([Outcome.EVENTS, Outcome.REJECTED], filter_path) == body
