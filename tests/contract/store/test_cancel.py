"""Queries are cancelled by their caller, from another thread, and end at their deadline."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from clickhouse_connect.driver.exceptions import ClickHouseError

from vedette import limits
from vedette.errors import UnavailableError
from vedette.store.engine.cancel import CancelToken
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.plan.search_bounds import Reach

ENDLESS = "SELECT sum(cityHash64(number)) FROM numbers(1000000000000)"
ENDLESS_ROWS = "SELECT number FROM numbers(1000000000000)"
SOON_S = 5

Read = Callable[[ClickHouseEngine, dict[str, Any]], object]


def _query(engine: ClickHouseEngine, how: dict[str, Any]) -> object:
    return engine.query(ENDLESS, **how)


def _table(engine: ClickHouseEngine, how: dict[str, Any]) -> object:
    return engine.query_table(ENDLESS, pa.schema([("found", pa.uint64())]), **how)


def _stream(engine: ClickHouseEngine, how: dict[str, Any]) -> object:
    with engine.stream(ENDLESS_ROWS, **how) as blocks:
        return sum(len(block) for block in blocks)


FAILING = "SELECT number, throwIf(number = 5000) FROM numbers(10000)"
SLOW = "SELECT number, sleepEachRow(0.0001) FROM numbers(1000000)"
EARLY_ROWS = {"max_block_size": 10}
"""So that rows are written before a query ends."""

READS = pytest.mark.parametrize("read", [_query, _table, _stream])


def _running(engine: ClickHouseEngine) -> int:
    found = engine.query("SELECT count() FROM system.processes WHERE query LIKE '%000000000000%'")
    return int(found.rows[0][0]) - 1


@READS
def test_a_cancelled_query_ends_in_the_engine(
    contract_engine: ClickHouseEngine, read: Read
) -> None:
    token = CancelToken()
    threading.Timer(0.3, token.cancel).start()
    began = time.monotonic()
    with pytest.raises(UnavailableError) as refusal:
        read(contract_engine, {"cancel": token})
    assert refusal.value.reason == "cancelled"
    assert time.monotonic() - began < SOON_S
    assert _running(contract_engine) == 0


@READS
def test_a_query_ends_at_its_deadline(contract_engine: ClickHouseEngine, read: Read) -> None:
    began = time.monotonic()
    with pytest.raises(UnavailableError) as refusal:
        read(contract_engine, {"deadline_s": 0.3})
    assert refusal.value.reason == "deadline"
    assert time.monotonic() - began < SOON_S
    assert _running(contract_engine) == 0


@pytest.mark.parametrize("deadline_s", [0.0004, 0, -1])
def test_a_deadline_of_no_time_at_all_is_not_taken_for_none(
    engine: ClickHouseEngine, deadline_s: float
) -> None:
    with pytest.raises(UnavailableError) as refusal:
        engine.query(ENDLESS, deadline_s=deadline_s)
    assert refusal.value.reason == "deadline"


def test_one_token_cancels_all_queries_that_carry_it_and_no_other(
    engine: ClickHouseEngine,
) -> None:
    token, other = CancelToken(), CancelToken()
    reasons: list[str] = []

    def run(mine: CancelToken) -> None:
        with pytest.raises(UnavailableError) as refusal:
            engine.query(ENDLESS, cancel=mine)
        reasons.append(refusal.value.reason)

    threads = [threading.Thread(target=run, args=(mine,)) for mine in (token, token, other)]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    token.cancel()
    for thread in threads[:2]:
        thread.join(SOON_S)
    assert [thread.is_alive() for thread in threads] == [False, False, True]
    other.cancel()
    threads[2].join(SOON_S)
    assert reasons == ["cancelled"] * 3


def test_a_query_cancelled_beforehand_never_starts(engine: ClickHouseEngine) -> None:
    token = CancelToken()
    token.cancel()
    token.cancel()
    began = time.monotonic()
    with pytest.raises(UnavailableError) as refusal:
        engine.query(ENDLESS, cancel=token)
    assert refusal.value.reason == "cancelled"
    assert time.monotonic() - began < 1


def test_cancelling_works_while_all_readers_are_busy(engine: ClickHouseEngine) -> None:
    token = CancelToken()

    def run() -> None:
        with pytest.raises(UnavailableError):
            engine.query(ENDLESS, cancel=token)

    threads = [threading.Thread(target=run) for _ in range(limits.STORE_READERS + 2)]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    token.cancel()
    for thread in threads:
        thread.join(SOON_S)
    assert not any(thread.is_alive() for thread in threads)
    assert engine.query("SELECT 1").rows[0][0] == 1


def test_a_token_may_be_cancelled_after_its_queries_have_ended(engine: ClickHouseEngine) -> None:
    token = CancelToken()
    assert engine.query("SELECT 1", cancel=token).rows[0][0] == 1
    token.cancel()
    assert token.is_cancelled


def test_a_search_is_cancelled_by_the_token_of_its_bounds(engine: ClickHouseEngine) -> None:
    token = CancelToken()
    threading.Timer(0.3, token.cancel).start()
    with pytest.raises(UnavailableError) as refusal:
        Reach.within(60, cancel=token).ask(engine, ENDLESS, {}, indexes=None)
    assert refusal.value.reason == "cancelled"


def _fails(engine: ClickHouseEngine) -> None:
    with pytest.raises(ClickHouseError, match="throwIf"):
        engine.query(FAILING, settings=EARLY_ROWS)


def _is_late(engine: ClickHouseEngine) -> None:
    with pytest.raises(UnavailableError) as refusal:
        engine.query(SLOW, settings=EARLY_ROWS, deadline_s=0.2)
    assert refusal.value.reason == "deadline"


def _is_cancelled(engine: ClickHouseEngine) -> None:
    token = CancelToken()
    threading.Timer(0.2, token.cancel).start()
    with pytest.raises(UnavailableError) as refusal:
        engine.query(SLOW, settings=EARLY_ROWS, cancel=token)
    assert refusal.value.reason == "cancelled"


@pytest.mark.parametrize("end", [_fails, _is_late, _is_cancelled])
def test_the_rows_of_a_read_that_failed_are_in_no_other_answer(
    contract_engine: ClickHouseEngine, end: Callable[[ClickHouseEngine], None]
) -> None:
    for _ in range(3):
        end(contract_engine)
        assert contract_engine.query("SELECT toUInt64(7) AS number, 0").rows == [(7, 0)]
        end(contract_engine)
        schema = pa.schema([("number", pa.uint64())])
        found = contract_engine.query_table("SELECT toUInt64(7) AS number", schema)
        assert found.to_pylist() == [{"number": 7}]
        end(contract_engine)
        found = contract_engine.read_arrow("SELECT toUInt64(7) AS number")
        assert found.to_pylist() == [{"number": 7}]
        end(contract_engine)
        with contract_engine.stream("SELECT toUInt64(7) AS number") as blocks:
            assert [tuple(row) for block in blocks for row in block] == [(7,)]


MANY = 400_000
MANY_ROWS = f"SELECT number, repeat('x', 50) AS filled FROM numbers({MANY})"
READER_S = 0.005
"""Longer than the engine takes for a block."""
BLOCKS = {"max_block_size": 65_000}
ENDS_S = [0.0025 * step for step in range(2, 22)]
"""Times in the middle of such a stream."""


def _read_slowly(engine: ClickHouseEngine, how: dict[str, Any]) -> str:
    """Reads a stream of `MANY_ROWS` slowly, and returns its outcome."""
    rows = 0
    try:
        with engine.stream("SELECT number FROM many", settings=BLOCKS, **how) as blocks:
            for block in blocks:
                rows += len(block)
                time.sleep(READER_S)
    except UnavailableError as error:
        return error.reason
    return "whole" if rows == MANY else f"{rows} rows"


def _held_until(engine: ClickHouseEngine, late: Callable[[], None], how: dict[str, Any]) -> str:
    """Reads the rest of a stream after `late` returns, and returns the outcome."""
    try:
        with engine.stream("SELECT number, filled FROM many", **how) as blocks:
            next(blocks)
            late()
            rows = sum(len(block) for block in blocks)
    except UnavailableError as error:
        return error.reason
    return f"{rows} more rows"


@pytest.fixture
def filled_engine(engine: ClickHouseEngine) -> ClickHouseEngine:
    engine.command(f"CREATE TABLE many ENGINE = MergeTree ORDER BY number AS {MANY_ROWS}")
    return engine


def test_a_stream_that_was_cut_off_does_not_end_as_if_it_were_whole(
    filled_engine: ClickHouseEngine,
) -> None:
    for end_s in ENDS_S:
        token = CancelToken()
        timer = threading.Timer(end_s, token.cancel)
        timer.start()
        assert _read_slowly(filled_engine, {"cancel": token}) in {"whole", "cancelled"}
        timer.join()
        assert _read_slowly(filled_engine, {"deadline_s": end_s}) in {"whole", "deadline"}


def test_a_stream_that_is_read_to_its_end_too_late_is_no_answer(
    filled_engine: ClickHouseEngine,
) -> None:
    token = CancelToken()
    assert _held_until(filled_engine, token.cancel, {"cancel": token}) == "cancelled"
    assert _held_until(filled_engine, lambda: time.sleep(0.5), {"deadline_s": 0.4}) == "deadline"


def test_a_stream_that_is_left_early_reaches_no_other_answer(
    filled_engine: ClickHouseEngine,
) -> None:
    for number in range(20):
        with filled_engine.stream("SELECT number, filled FROM many") as blocks:
            next(blocks)
        assert filled_engine.query(f"SELECT {number}").rows == [(number,)]
