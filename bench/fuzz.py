"""A hundred thousand random and damaged queries against a small store: each is answered or
refused, and in time.

The store is small because what is looked for lies in understanding a query, not in reading:
crashes, endless patterns, conditions that the engine takes for ever to plan. Runs the search in
this process, without HTTP; `VEDETTE_FUZZ_QUERIES` makes it shorter or longer.
"""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from bench.figure import Figure, Outcome, Part
from bench.fuzz_queries import queries
from bench.segments import BEGIN_MS, fill
from vedette.errors import QueryError
from vedette.model.scope import EVERYTHING
from vedette.search.processes.process_search import search_processes
from vedette.settings import Settings
from vedette.store.engine.client import Engine
from vedette.store.engine.open import open_engine
from vedette.web.processes.search_parameters_json import search_request

QUERIES = int(os.environ.get("VEDETTE_FUZZ_QUERIES", "100000"))
SEED = int(os.environ.get("VEDETTE_SEED", "5"))
SEGMENTS = 1_000
DEADLINE_S = 20
_THREADS = 2
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class _Ran:
    text: str
    seconds: float
    outcome: str
    """answered, refused, or what went wrong."""


def run(room: Path) -> Outcome:
    engine = open_engine(room / "telemetry")
    fill(engine, SEGMENTS)
    begin = time.monotonic()
    with ThreadPoolExecutor(_THREADS) as pool:
        ran = list(pool.map(lambda text: _run(engine, text), islice(queries(SEED), QUERIES)))
    seconds = time.monotonic() - begin
    engine.close()
    failed = [one for one in ran if one.outcome not in {"answered", "refused"}]
    answered = sum(one.outcome == "answered" for one in ran)
    slowest = sorted(ran, key=lambda one: -one.seconds)[:_SHOWN]
    return Outcome(
        f"{QUERIES:,} queries of seed {SEED} over {SEGMENTS:,} segments, two at a time",
        (
            Figure("neither answered nor refused", len(failed), "queries", at_most=0),
            Figure("slowest query", slowest[0].seconds, "s", at_most=DEADLINE_S),
            Figure("answered", answered / len(ran) * 100, "%", at_least=20),
            Figure("rate", len(ran) / seconds, "queries/s"),
        ),
        (
            *(f"FAILED {one.outcome}: {one.text!r}" for one in failed[:_SHOWN]),
            *(f"{one.seconds * 1000:,.0f} ms: {one.text[:90]!r}" for one in slowest),
        ),
    )


def _run(engine: Engine, text: str) -> _Ran:
    request = search_request([("q", text), ("rows", "10")])
    settings = Settings(search_deadline_s=DEADLINE_S)
    begin = time.perf_counter()
    try:
        found = search_processes(engine, EVERYTHING, request, settings, BEGIN_MS * 1_000)
    except QueryError:
        outcome = "refused"
    except Exception as error:  # noqa: BLE001 - what it is looking for
        outcome = f"{type(error).__name__}: {str(error)[:300]}"
    else:
        outcome = "out of time" if found.is_incomplete else "answered"
    return _Ran(text, time.perf_counter() - begin, outcome)


PART = Part("fuzz", run)
