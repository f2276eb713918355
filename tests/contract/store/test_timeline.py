"""When events of a process happened."""

from collections import Counter
from itertools import count

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.contract.store.rows import NEXT_MS, connection, file, partial, process_id, query, store
from tests.support.forms import in_form
from vedette.model.scope import EVERYTHING, Scope
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.read.event_timeline import Span, count_events, span_of_events

P1 = process_id(1)
_NUMBERS = count(100)
ALWAYS = Span(0, 1 << 62)


def counts(
    engine: ClickHouseEngine, name: str, scope: Scope, within: Span, step_us: int
) -> list[tuple[int, str, int]]:
    found = count_events(engine, name, scope, within, step_us, limit=1_000)
    assert all(one.span.first_us // step_us == one.step for one in found)
    assert all(one.span.last_us // step_us == one.step for one in found)
    assert count_events(engine, name, scope, within, step_us, limit=1) == found[:1]
    return [(one.step, one.kind, one.count) for one in found]


def seeded(engine: ClickHouseEngine) -> None:
    store(engine, partial(1, file("a", 10), file("b", 25), connection("d", time_us=12)))
    store(engine, partial(1, file("c", 29), query("q", 31), window_ms=NEXT_MS))
    store(engine, partial(1, file("d", 29)), partial(2, file("e", 29, number=2)))


def test_events_are_counted_by_step_and_kind_over_all_segments(
    contract_engine: ClickHouseEngine,
) -> None:
    seeded(contract_engine)
    assert counts(contract_engine, P1, EVERYTHING, ALWAYS, 10) == [
        (1, "filemod", 1),
        (1, "netconn", 1),
        (2, "filemod", 3),
        (3, "dnsquery", 1),
    ]
    assert span_of_events(contract_engine, P1, EVERYTHING, ALWAYS) == Span(10, 31)


def test_both_ends_of_a_span_belong_to_it(contract_engine: ClickHouseEngine) -> None:
    seeded(contract_engine)
    within = Span(12, 29)
    counted = counts(contract_engine, P1, EVERYTHING, within, 1_000)
    assert counted == [(0, "filemod", 3), (0, "netconn", 1)]
    assert span_of_events(contract_engine, P1, EVERYTHING, within) == Span(12, 29)
    assert span_of_events(contract_engine, P1, EVERYTHING, Span(13, 14)) is None


def test_a_scope_hides_the_times(contract_engine: ClickHouseEngine) -> None:
    seeded(contract_engine)
    nobody = Scope(frozenset())
    assert span_of_events(contract_engine, P1, nobody, ALWAYS) is None
    assert counts(contract_engine, P1, nobody, ALWAYS, 10) == []


@settings(
    max_examples=in_form(6, 15),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    times=st.lists(st.integers(1, 10**15), min_size=1, max_size=30),
    step=st.integers(1, 86_400_000_000),
)
def test_counts_are_those_of_a_plain_list(
    engine: ClickHouseEngine, times: list[int], step: int
) -> None:
    number = next(_NUMBERS)
    store(engine, partial(number, *(file("x", one, number) for one in times)))
    found = counts(engine, process_id(number), EVERYTHING, ALWAYS, step)
    plain = Counter(one // step for one in times)
    assert found == [(at, "filemod", plain[at]) for at in sorted(plain)]
