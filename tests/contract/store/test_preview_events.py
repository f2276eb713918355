"""Some events of a process: those that match first."""

from tests.contract.store.rows import (
    HOUR_MS,
    NEXT_MS,
    connection,
    file,
    partial,
    process_id,
    store,
)
from vedette.model.columns import EVENT_KINDS
from vedette.model.event import Filemod, ProcessEvent
from vedette.model.scope import EVERYTHING, Scope
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.plan.search_bounds import EVERYWHERE
from vedette.store.read.event_preview import some_events

P1 = process_id(1)
FILEMOD = next(kind for kind in EVENT_KINDS if kind.name == "filemod")
NETCONN = next(kind for kind in EVENT_KINDS if kind.name == "netconn")


def found(engine: ClickHouseEngine, *patterns: str, segment: int | None = None) -> list[str]:
    events = some_events(
        engine,
        P1,
        EVERYTHING,
        FILEMOD,
        {"filemod_path": patterns},
        segment_id=segment,
        count=3,
        reach=EVERYWHERE,
    )
    return [event.path for event in events if isinstance(event, Filemod)]


def seeded(engine: ClickHouseEngine) -> None:
    store(engine, partial(1, file("a", 30), file("b", 20), connection("x.test")))
    store(engine, partial(1, file("c", 10), file("needle", 40), window_ms=NEXT_MS))


def test_what_matches_comes_first_and_the_rest_in_order(contract_engine: ClickHouseEngine) -> None:
    seeded(contract_engine)
    assert found(contract_engine) == ["b", "a", "c"]
    assert found(contract_engine, "(need)", "(zzz)") == ["needle", "b", "a"]
    assert found(contract_engine, "(need)", segment=HOUR_MS) == ["b", "a"]


def test_an_event_comes_whole(contract_engine: ClickHouseEngine) -> None:
    seeded(contract_engine)
    (event,) = some_events(
        contract_engine, P1, EVERYTHING, NETCONN, {}, segment_id=None, count=9, reach=EVERYWHERE
    )
    wanted: ProcessEvent = connection("x.test")
    assert event == wanted


def test_a_scope_hides_them(contract_engine: ClickHouseEngine) -> None:
    seeded(contract_engine)
    others = Scope(frozenset({2}))
    assert not some_events(
        contract_engine, P1, others, FILEMOD, {}, segment_id=None, count=9, reach=EVERYWHERE
    )
