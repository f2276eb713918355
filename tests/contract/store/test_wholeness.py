"""Every predicate sees the whole segment at every moment: partial rows and merged alike."""

import pytest

from tests.contract.store.rows import (
    NEXT_MS,
    child,
    connection,
    file,
    module,
    partial,
    process_id,
    query,
    store,
)
from vedette.model.scope import EVERYTHING
from vedette.query.compile.condition import Condition
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.read.segment_search import Found, count_segments, search_segments
from vedette.store.sql.scope_filter import ALL, SEGMENT_KEY

EVIL_FILE = "hasAllTokens(filemod_path, ['evil'])"
EVIL_DOMAIN = "hasAllTokens(netconn_domain, ['evil'])"
POWERSHELL = "hasAllTokens(cmdline_tokens, ['powershell'])"
HASH = "has(modload_md5, 'aa')"


def somewhere(predicate: str) -> str:
    """Returns the condition that an index evaluates for the compiler: in single partial rows,
    without FINAL."""
    return f"({SEGMENT_KEY}) IN (SELECT {SEGMENT_KEY} FROM segment WHERE {predicate})"


QUESTIONS = {
    "one word": (EVIL_FILE, 1),
    "one word by its index": (somewhere(EVIL_FILE), 1),
    "two kinds of events": (f"{EVIL_FILE} AND {EVIL_DOMAIN}", 1),
    "two kinds by their indexes": (f"{somewhere(EVIL_FILE)} AND {somewhere(EVIL_DOMAIN)}", 1),
    "metadata and an event": (f"{POWERSHELL} AND {somewhere(EVIL_DOMAIN)}", 1),
    "an event and not another": (f"{EVIL_FILE} AND NOT {EVIL_DOMAIN}", 0),
    "an event and not another by index": (f"{somewhere(EVIL_FILE)} AND NOT {somewhere(HASH)}", 1),
    "one or the other": (f"{EVIL_FILE} OR {HASH}", 2),
    "none of it": (f"NOT {EVIL_FILE}", 1),
    "a sum of counts": ("filemod_count = 3 AND netconn_count = 1", 1),
    "an exact address": ("has(netconn_remote_ip, toIPv6('::ffff:10.0.0.9'))", 1),
    "late metadata": ("username = 'bob' AND cmdline_tokens != ''", 1),
}


def in_parts(engine: ClickHouseEngine) -> None:
    """Process 1 in five commits, process 2 in one; nothing is merged until a test says so."""
    engine.command(f"SYSTEM STOP MERGES `{engine.capabilities.storage('segment')}`")
    store(engine, partial(1, hostname="a", cmdline_tokens="\x1fpowershell\x1f", last_update=5))
    store(engine, partial(1, file("c:\\evil.exe"), file("c:\\a.txt"), last_update=6))
    store(engine, partial(1, connection("www.evil.com"), last_update=7))
    store(engine, partial(1, file("c:\\b.txt"), last_update=4))
    store(engine, partial(1, username="bob"))
    store(engine, partial(2, module("c:\\b.dll", "aa"), query("evil.com"), child(3), last_update=9))


def ask(engine: ClickHouseEngine, sql: str) -> Found:
    return search_segments(engine, Condition(sql), EVERYTHING)


def merge(engine: ClickHouseEngine) -> None:
    storage = engine.capabilities.storage("segment")
    engine.command(f"SYSTEM START MERGES `{storage}`")
    engine.command(f"OPTIMIZE TABLE `{storage}` FINAL")


def test_every_question_has_the_same_answer_before_and_after_merging(
    contract_engine: ClickHouseEngine,
) -> None:
    in_parts(contract_engine)
    before = {name: ask(contract_engine, sql) for name, (sql, _) in QUESTIONS.items()}
    merge(contract_engine)
    after = {name: ask(contract_engine, sql) for name, (sql, _) in QUESTIONS.items()}
    assert {name: found.total for name, found in before.items()} == {
        name: expected for name, (_, expected) in QUESTIONS.items()
    }
    assert before == after


def test_known_metadata_wins_over_unknown_in_any_order(contract_engine: ClickHouseEngine) -> None:
    known = partial(1, path="c:\\x.exe", process_pid=7, last_update=5)
    store(contract_engine, known)
    store(contract_engine, partial(1, path="", process_pid=0, last_update=3))
    row = search_segments(contract_engine, ALL, EVERYTHING).rows[0]
    assert (row["path"], row["process_pid"], row["last_update"]) == ("c:\\x.exe", 7, 5)


def test_windows_of_a_process_are_segments_of_their_own(contract_engine: ClickHouseEngine) -> None:
    store(contract_engine, partial(1, file("c:\\evil.exe"), last_update=1))
    store(contract_engine, partial(1, connection("evil.com"), window_ms=NEXT_MS, last_update=2))
    both = Condition(f"{somewhere(EVIL_FILE)} AND {EVIL_DOMAIN}")
    assert count_segments(contract_engine, both, EVERYTHING) == 0
    found = search_segments(contract_engine, ALL, EVERYTHING)
    assert [row["window_ms"] for row in found.rows] == [NEXT_MS, found.rows[1]["window_ms"]]


def test_an_event_is_counted_once_while_parts_merge(engine: ClickHouseEngine) -> None:
    for number in range(30):
        store(engine, partial(1, file(f"c:\\{number}.txt"), last_update=number + 1))
        row = search_segments(engine, ALL, EVERYTHING).rows[0]
        assert row["filemod_count"] == number + 1
        if number % 7 == 0:
            engine.command(f"OPTIMIZE TABLE {engine.capabilities.storage('segment')}")


def test_a_doubled_cluster_answers_twice(doubled_engine: ClickHouseEngine) -> None:
    """One shard, named twice: proof that a question reaches every shard."""
    in_parts(doubled_engine)
    where = Condition(QUESTIONS["metadata and an event"][0])
    rows = doubled_engine.query("SELECT count() FROM segment").rows[0][0]
    stored = doubled_engine.query("SELECT count() FROM segment_local").rows[0][0]
    assert rows == 2 * stored
    assert count_segments(doubled_engine, where, EVERYTHING) == 2


def test_a_distributed_subquery_is_refused(doubled_engine: ClickHouseEngine) -> None:
    """Same behavior as a real cluster, so queries of the store must avoid it."""
    with pytest.raises(Exception, match="Double-distributed"):
        doubled_engine.query(
            "SELECT count() FROM segment WHERE process_id IN (SELECT process_id FROM segment)"
        )


def test_the_page_is_ordered_and_cut_where_asked(contract_engine: ClickHouseEngine) -> None:
    rows = [
        partial(number, last_update=number * 10, cmdline=f"c{9 - number}") for number in (1, 2, 3)
    ]
    store(contract_engine, *rows)
    newest = search_segments(contract_engine, ALL, EVERYTHING, start=1, rows=1)
    assert (newest.total, [row["process_id"] for row in newest.rows]) == (3, [process_id(2)])
    by_name = search_segments(contract_engine, ALL, EVERYTHING, [("cmdline", False)])
    assert [row["cmdline"] for row in by_name.rows] == ["c6", "c7", "c8"]
    assert search_segments(contract_engine, ALL, EVERYTHING, start=9).total == 3
    assert search_segments(contract_engine, ALL, EVERYTHING, rows=0).total == 3
