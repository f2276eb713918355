"""Judges the documents of a batch by watchlists, and measures each watchlist's cost.

An error or a timeout of one watchlist affects only that watchlist.
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import structlog

from vedette.limits import WATCHLIST_ERROR_CHARS_MAX, Limit
from vedette.query.match import Predicate, compile_match
from vedette.watchlists.anchors import anchors_of
from vedette.watchlists.batch import Batch
from vedette.watchlists.candidates import Candidates
from vedette.watchlists.watch_query import WatchQuery, asks_tags, columns_of, joins_of

WATCHLIST_COST_S_A_BATCH: Limit[int] = 10
"""Time (s) of one watchlist for one batch, above which it is stopped at once."""

WATCHLIST_CLOCK_EVERY: Limit[int] = 256
"""Documents between two time checks."""


log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Outcome:
    """Result of one watchlist for a batch."""

    hits: list[int] = field(default_factory=list)
    """Numbers of documents, ascending."""
    seconds: float = 0.0
    """Processor time, so that a busy server does not stop a watchlist."""
    error: str = ""
    """Reason why not all documents were examined."""


class Judge:
    """Queries by number, compiled once for many batches."""

    def __init__(self, queries: Mapping[int, WatchQuery]) -> None:
        self.columns = frozenset(
            name for query in queries.values() for name in columns_of(query.checked)
        )
        """Columns that the queries read."""
        self.joins = frozenset(
            name for query in queries.values() for name in joins_of(query.checked)
        )
        """Binaries that the queries use, by key of `fields.JOINS`."""
        self._asks: dict[int, Predicate] = {
            number: compile_match(query.checked) for number, query in queries.items()
        }
        self._of_tags = {number for number, query in queries.items() if asks_tags(query.checked)}
        self._candidates = Candidates(
            {number: anchors_of(query.checked) for number, query in queries.items()}
        )

    def judge(self, batch: Batch) -> dict[int, Outcome]:
        """Returns the outcome of every query."""
        literal = self._candidates.by_literal(batch)
        return {number: self._one(number, batch, literal) for number in self._asks}

    def _one(self, number: int, batch: Batch, literal: Mapping[int, set[int]]) -> Outcome:
        outcome = Outcome()
        began = time.thread_time()
        try:
            if number in self._of_tags:
                batch.add_tags()
            places = self._candidates.of(number, batch, literal)
            self._look(number, batch, places, outcome, began)
        except Exception as error:  # must not affect other watchlists
            log.exception("a watchlist failed", number=number)
            outcome.error = f"{type(error).__name__}: {error}"[:WATCHLIST_ERROR_CHARS_MAX]
        outcome.seconds = time.thread_time() - began
        return outcome

    def _look(
        self,
        number: int,
        batch: Batch,
        places: Iterable[int] | None,
        outcome: Outcome,
        began: float,
    ) -> None:
        ask = self._asks[number]
        for count, at in enumerate(range(batch.count) if places is None else places):
            if ask(batch.prepared(at)):
                outcome.hits.append(at)
            is_time = count % WATCHLIST_CLOCK_EVERY == 0
            if is_time and time.thread_time() - began > WATCHLIST_COST_S_A_BATCH:
                outcome.error = f"took longer than {WATCHLIST_COST_S_A_BATCH} s for one batch"
                return
