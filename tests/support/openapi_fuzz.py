"""Requests that schemathesis makes of `/openapi.json`, valid and invalid ones, sent to a server
from several threads; every answer is held against the document.

Cases are made in batches, each of all operations and shuffled: a route meets what others have left
behind, and a long run needs no more memory than a short one. Places in paths are filled with ids
that earlier answers told of, as often as with made ones.
"""

import json
import random
import threading
import traceback
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

CHECKS: Final = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
MODES: Final = tuple(schemathesis.GenerationMode)
KNOWN_SHARE: Final = 0.6
"""Share of path parameters that get an existing id."""

KEPT: Final = 40
"""Ids of each kind that are remembered."""

FORBIDDEN: Final = 403

ANSWER_S: Final = 60.0

BATCH_EACH: Final = 5
"""Requests of an operation and mode that are made at once: some thousands in all."""


@schemathesis.serializer("application/x-ndjson")  # type: ignore[untyped-decorator]
def _lines(_context: schemathesis.SerializationContext, value: Any) -> bytes:
    """Texts as they are, all else as JSON."""
    return value.encode(errors="replace") if isinstance(value, str) else json.dumps(value).encode()


class Callers(Protocol):
    """Credentials of requests."""

    def headers(self, path: str, dice: random.Random) -> Mapping[str, str]: ...

    def answered(self, headers: Mapping[str, str]) -> None:
        """Is told the headers of every answer: one may have shut everybody out."""


@dataclass
class Found:
    """Statistics and errors of the answers."""

    statuses: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    refused: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """Number of 403 answers by operation."""
    reached: set[str] = field(default_factory=set)
    """Operations that succeeded at least once."""
    wrong: dict[tuple[str, str, int], str] = field(default_factory=dict)
    """Maps (operation, failed check, status) to an example."""

    @property
    def sent(self) -> int:
        return sum(self.statuses.values())


class KnownIds:
    """Ids by the name that places in paths have for them."""

    def __init__(self, first: Mapping[str, Sequence[str]], never: Sequence[str]) -> None:
        self._ids = {name: list(values) for name, values in first.items()}
        self._never = set(never)
        self._lock = threading.Lock()

    def learn(self, names: Collection[str], value: Any, dice: random.Random) -> None:
        """Remembers members of an answer that are called as a place; `names` are places whose ids
        are called `id` there."""
        with self._lock:
            self._learn(names, value, dice, 0)

    def _learn(self, names: Collection[str], value: Any, dice: random.Random, depth: int) -> None:
        if isinstance(value, list):
            for one in value[:5]:
                self._learn(names, one, dice, depth)
        elif isinstance(value, dict) and depth < 4:
            for member, part in value.items():
                if isinstance(part, str | int) and not isinstance(part, bool):
                    for name in (member, *(names if member in ("id", "unique_id") else ())):
                        self._record(name, str(part), dice)
                else:
                    self._learn(names, part, dice, depth + 1)

    def _record(self, name: str, value: str, dice: random.Random) -> None:
        known = self._ids.setdefault(name, [])
        if not value or value in self._never or value in known:
            return
        if len(known) < KEPT:
            known.append(value)
        else:
            known[dice.randrange(KEPT)] = value

    def one_of(self, name: str, dice: random.Random) -> str | None:
        with self._lock:
            known = self._ids.get(name)
            return dice.choice(known) if known else None


def batches(
    document: dict[str, Any], wanted: int, seed_: int, leave_out: frozenset[str]
) -> Iterator[list[schemathesis.Case]]:
    """Batches of cases, each of a seed of its own, until there are at least `wanted`."""
    made = 0
    while made < wanted:
        cases = made_cases(document, BATCH_EACH, seed_, leave_out)
        yield cases
        made += len(cases)
        seed_ += 1


def made_cases(
    document: dict[str, Any],
    each: int,
    seed_: int,
    leave_out: frozenset[str],
    invalid_every: int = 1,
) -> list[schemathesis.Case]:
    """`each` requests of every operation and mode, in an order of the seed; invalid ones of every
    `invalid_every`th operation: making them takes longer than sending them."""
    schema = schemathesis.openapi.from_dict(document)
    cases: list[schemathesis.Case] = []
    for number, result in enumerate(schema.get_all_operations()):
        operation = result.ok()
        if operation is None:
            raise AssertionError(f"the document has a fault: {result.err()}")
        if operation.label in leave_out:
            continue
        for mode in MODES:
            is_invalid = mode is schemathesis.GenerationMode.NEGATIVE
            if is_invalid and number % invalid_every != seed_ % invalid_every:
                continue
            cases.extend(_of_operation(operation, mode, each, seed_))
    random.Random(seed_).shuffle(cases)
    return cases


def _of_operation(operation: Any, mode: Any, each: int, seed_: int) -> Iterator[schemathesis.Case]:
    made: list[schemathesis.Case] = []

    @seed(seed_)
    @settings(
        max_examples=each,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def collect(case: schemathesis.Case) -> None:
        made.append(case)

    try:
        collect()
    except Exception as error:
        if mode is schemathesis.GenerationMode.NEGATIVE and _has_nothing_to_break(error):
            return
        raise
    yield from made


def _has_nothing_to_break(error: Exception) -> bool:
    """Operations that take nothing have no invalid requests."""
    return type(error).__name__ in ("Unsatisfiable", "SkipTest")


class Sending:
    """Sends cases from several threads; what is found adds up over the runs."""

    def __init__(self, url: str, certificate: str, callers: Callers, ids: KnownIds) -> None:
        self._url = url
        self._certificate = certificate
        self._callers = callers
        self._ids = ids
        self._children: dict[str, set[str]] = {}
        self._lock = threading.Lock()
        self.found = Found()

    def run(self, cases: Sequence[schemathesis.Case], seed_: int, threads: int = 4) -> Found:
        for path in {case.operation.path for case in cases}:
            base, _, rest = path.partition("/{")
            if rest:
                self._children.setdefault(base, set()).add(rest.partition("}")[0])
        waiting = iter(cases)
        started = [
            threading.Thread(target=self._work, args=(waiting, random.Random(f"{seed_}-{number}")))
            for number in range(threads)
        ]
        for one in started:
            one.start()
        for one in started:
            one.join()
        return self.found

    def _work(self, waiting: Iterator[schemathesis.Case], dice: random.Random) -> None:
        with requests.Session() as session:
            while True:
                with self._lock:
                    case = next(waiting, None)
                if case is None:
                    return
                try:
                    self._send(session, case, dice)
                except Exception:  # noqa: BLE001 - a thread must not end unseen
                    self._blame(case, "sending", 0, traceback.format_exc())

    def _send(self, session: requests.Session, case: Any, dice: random.Random) -> None:
        filled = {
            name: self._ids.one_of(name, dice) or value if dice.random() < KNOWN_SHARE else value
            for name, value in case.path_parameters.items()
        }
        if filled != case.path_parameters:
            case.path_parameters = filled
        session.cookies.clear()
        operation = case.operation
        answer = case.call(
            base_url=self._url,
            session=session,
            headers=dict(self._callers.headers(operation.path, dice)),
            verify=self._certificate,
            timeout=ANSWER_S,
            allow_redirects=False,
        )
        status = answer.status_code
        with self._lock:
            self.found.statuses[status] += 1
            if status == FORBIDDEN:
                self.found.refused[operation.label] += 1
            if status < 400:
                self.found.reached.add(operation.label)
        self._callers.answered({name: values[0] for name, values in answer.headers.items()})
        try:
            case.validate_response(answer, checks=CHECKS)
        except FailureGroup as group:
            for failure in group.exceptions:
                assert isinstance(failure, Failure)
                text = f"{failure.message}\n{_shown(case, answer)}"
                self._blame(case, failure.title, status, text)
        media_type = answer.headers.get("content-type", [""])[0]
        if status < 300 and answer.content and media_type.startswith("application/json"):
            self._ids.learn(self._children.get(operation.path, ()), answer.json(), dice)

    def _blame(self, case: Any, title: str, status: int, text: str) -> None:
        with self._lock:
            self.found.wrong.setdefault((case.operation.label, title, status), text)


def _shown(case: Any, answer: Any) -> str:
    request = answer.request
    body = request.body if isinstance(request.body, str | bytes) else b""
    return f"{request.method} {request.url[:600]} {body[:600]!r} -> {answer.content[:600]!r}"
