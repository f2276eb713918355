"""Searching a million segments of 30 events each, and five million: published queries, a huge
converted rule, facets, groups, and the matcher.

The published queries and rules are read from the shared folder; without it, figures of the
generated store alone are left. What detection will do with a query, matching a segment in memory,
is measured in this process; everything else over HTTPS, one question at a time.
"""

import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import httpx

from bench.figure import Figure, Outcome, Part
from bench.segments import ACCEPT, BEGIN_MS, EVENTS_A_SEGMENT, generate, template
from vedette.cli.server_process import ServerProcess, api_client
from vedette.errors import QueryError
from vedette.model.columns import EVENT_KINDS
from vedette.model.segment import PartialSegment
from vedette.query import Checked, check, compile_match, compile_segments, parse
from vedette.query.match import Prepared
from vedette.query.nodes import And, Everything, Not, Or
from vedette.store.read.segment_facets import FACETS

SEGMENTS = int(os.environ.get("VEDETTE_BENCH_SEGMENTS", "1000000"))
LARGE_SEGMENTS = 5_000_000
MATCHED_SEGMENTS = 200
_RUNS = 5
_LEAVES_MIN = 1_000
_REST_S = 30
"""A pause after the start, so that searches do not compete with merges."""
_NOW_US = BEGIN_MS * 1_000
_QUERIES = (
    Path(os.environ.get("VEDETTE_SHARED", Path(__file__).resolve().parents[2] / "shared"))
    / "data/queries"
)
_THREE_LEAVES = "filemod:item-0001.tmp modload:c:\\windows\\system32\\ntdll.dll domain:example.net"


def run(segments: int, slack: float, room: Path) -> Outcome:
    """`slack` is how much longer than at a million it may take."""
    begin = time.monotonic()
    generate(room / "server" / "telemetry", segments)
    load_s = time.monotonic() - begin
    server = ServerProcess(room / "server", 0, [ACCEPT])
    try:
        access = server.wait_until_ready(300)
        time.sleep(_REST_S)
        with api_client(access, timeout_s=120) as client:
            figures, notes = _public(client, slack)
            figures += _whole(client, slack)
            figures += _huge(client, slack)
    finally:
        server.stop()
    return Outcome(
        f"{segments:,} segments of {EVENTS_A_SEGMENT} events",
        (*figures, *_in_process()),
        (f"generated in {load_s:.0f} s; one question at a time over HTTPS", *notes),
    )


def _public(client: httpx.Client, slack: float) -> tuple[list[Figure], list[str]]:
    """The published queries one after another, newest ten each."""
    took: list[tuple[float, str]] = []
    refused = 0
    for query in _lines("public.txt"):
        began = time.perf_counter()
        answer = client.get("/api/v1/process", params={"q": query, "rows": 10})
        seconds = time.perf_counter() - began
        if answer.status_code == 400:
            refused += 1
        else:
            answer.raise_for_status()
            took.append((seconds * 1000, query))
    if not took:
        return [], ["published queries are left out: no shared folder"]
    times = sorted(ms for ms, _ in took)
    figures = [
        Figure("published queries, median", median(times), "ms", at_most=25 * _twice(slack)),
        Figure("published queries, p95", times[int(len(times) * 0.95)], "ms", at_most=120 * slack),
    ]
    slowest = [f"{ms:,.0f} ms: {query[:90]}" for ms, query in sorted(took, reverse=True)[:10]]
    return figures, [f"{len(took)} published queries answered, {refused} refused", *slowest]


def _twice(slack: float) -> float:
    """The median may grow less than the rest: most of it does not depend on the size."""
    return 1 if slack == 1 else 2


def _whole(client: httpx.Client, slack: float) -> list[Figure]:
    """Questions about everything."""
    at_most = 200 if slack == 1 else 700
    comprehensive = {"q": _THREE_LEAVES, "svc.comprehensive_search": "true"}
    questions: dict[str, dict[str, Any]] = {
        "all process facets": {"facet": "true", "facet.field": list(FACETS), "rows": 0},
        "svc.group=id": {"svc.group": "id"},
        "comprehensive search, three event leaves": comprehensive,
        "three event leaves": {"q": _THREE_LEAVES},
    }
    return [
        Figure(name, _median_ms(partial(_ask, client, asked)), "ms", at_most=at_most)
        for name, asked in questions.items()
    ]


def _huge(client: httpx.Client, slack: float) -> list[Figure]:
    """The converted rule with the most leaves."""
    rule = _largest_rule()
    if not rule:
        return []
    at_most = 1_000 if slack == 1 else 3_000
    asked = {"q": rule}
    name = "a rule with over 1,000 leaves"
    return [Figure(name, _median_ms(partial(_ask, client, asked)), "ms", at_most=at_most)]


def _ask(client: httpx.Client, asked: dict[str, Any]) -> None:
    client.get("/api/v1/process", params=asked).raise_for_status()


def _in_process() -> list[Figure]:
    rule = _largest_rule()
    figures = []
    if rule:
        compiled = _median_ms(lambda: compile_segments(check(parse(rule), now_us=_NOW_US)))
        figures.append(Figure("parse and compile that rule", compiled, "ms", at_most=50))
    figures.append(Figure("matcher", _leaves_per_s(), "leaves/s", at_least=50_000))
    return figures


def _leaves_per_s() -> float:
    """Leaves of published queries asked of segments, each segment prepared once."""
    asked = [tree for query in _lines("public.txt") if (tree := _understood(query)) is not None]
    asked = asked or [check(parse(_THREE_LEAVES), now_us=_NOW_US)]
    predicates = [compile_match(tree) for tree in asked]
    draw = Random(31)
    segments = [_columns(template(draw, number)) for number in range(MATCHED_SEGMENTS)]
    began = time.perf_counter()
    for segment in map(Prepared, segments):
        for ask in predicates:
            ask(segment)
    return len(segments) * sum(map(_leaves, asked)) / (time.perf_counter() - began)


def _columns(segment: PartialSegment) -> dict[str, Any]:
    """A segment as the matcher takes it."""
    found: dict[str, Any] = {"process_id": segment.process_id, "sensor_id": 1, **segment.metadata}
    for kind in EVENT_KINDS:
        events = segment.events.get(kind.name, [])
        found[f"{kind.name}_count"] = len(events)
        for column, (attribute, _) in zip(kind.columns, kind.fields, strict=True):
            name = "time_us" if attribute == "time" else attribute
            found[column.name] = [getattr(event, name) for event in events]
    return found


def _largest_rule() -> str:
    """The converted rule with the most leaves; "" when none has over a thousand."""
    rules = (line.split("\t", 2)[-1] for line in _lines("sigma_fixed.txt"))
    longest = sorted(rules, key=len, reverse=True)
    known = ((tree, rule) for rule in islice(longest, 10) if (tree := _understood(rule)))
    count, rule = max(((_leaves(tree), rule) for tree, rule in known), default=(0, ""))
    return rule if count > _LEAVES_MIN else ""


def _understood(query: str) -> Checked | None:
    try:
        return check(parse(query), now_us=_NOW_US)
    except QueryError:
        return None


def _leaves(tree: Checked) -> int:
    match tree:
        case And(children) | Or(children):
            return sum(map(_leaves, children))
        case Not(child):
            return _leaves(child)
        case Everything():
            return 0
        case _:
            return 1


def _lines(name: str) -> Iterator[str]:
    path = _QUERIES / name
    if path.exists():
        yield from path.read_text(encoding="utf-8").splitlines()


def _median_ms(once: Callable[[], object]) -> float:
    """The median of a few runs, after one that warms up."""
    once()
    took = []
    for _ in range(_RUNS):
        began = time.perf_counter()
        once()
        took.append((time.perf_counter() - began) * 1000)
    return median(took)


PART = Part("query", partial(run, SEGMENTS, 1.0))
LARGE = Part("query-5m", partial(run, LARGE_SEGMENTS, 2.5))
