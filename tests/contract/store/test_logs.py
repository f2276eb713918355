"""Event records in the store: what an index narrows, what an older store answers, and the order of
pages."""

import random
from typing import Any

from tests.support.log_records import NOW_US, columns_of, record
from vedette.model.log_fields import LOG, READINGS
from vedette.model.scope import EVERYTHING, Scope
from vedette.query import SETTINGS, Condition, check, parse
from vedette.query.compile.logs_sql import compile_logs
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.read.logs.log_facets import count_log_facets, count_logs_over_time, log_span
from vedette.store.read.logs.log_rows import count_logs, log_page
from vedette.store.schema.log_columns import LOG_COLUMNS, LOG_INDEXES, log_statements
from vedette.store.write.commit import RecordRow, record_table

RECORDS = 60
SEED = 11
NEWEST = [("time", True)]
MINUTE_US = 60 * 1_000_000
QUERIES = ("", "user:bob", "data.Status:mimikatz OR emotet", "src_ip:*", "-task:*")


def rows(count: int = RECORDS) -> list[RecordRow]:
    draw = random.Random(SEED)
    return [record(draw, number) for number in range(1, count + 1)]


def condition(text: str) -> Condition:
    return compile_logs(check(parse(text, LOG), LOG, now_us=NOW_US))


def names_of(definitions: tuple[str, ...], at: int) -> list[str]:
    return [one.split()[at].strip("`") for one in definitions]


def made_old(engine: ClickHouseEngine) -> None:
    """Gives `record` the definition of schema 9."""
    stored = engine.capabilities.storage("record")
    for name in names_of(LOG_INDEXES, 1):
        engine.command(f"ALTER TABLE `{stored}`{engine.capabilities.on_cluster} DROP INDEX {name}")
    dropped = ", ".join(f"DROP COLUMN `{name}`" for name in names_of(LOG_COLUMNS, 0))
    for table in dict.fromkeys(("record", stored)):
        engine.command(f"ALTER TABLE `{table}`{engine.capabilities.on_cluster} {dropped}")


def shown(values: dict[str, Any]) -> list[Any]:
    names = ("sensor_id", "time", "event_id", *(reading.name for reading in READINGS))
    return [values[name] for name in names]


def test_records_of_an_older_store_are_searched_like_new_ones(
    contract_engine: ClickHouseEngine,
) -> None:
    engine = contract_engine
    made_old(engine)
    old = rows()
    engine.insert_arrow("record", record_table(old).drop_columns(["level"]))
    for statement in log_statements(engine.capabilities) * 2:  # each can be repeated
        engine.command(statement)
    before = {query: answer(engine, query) for query in QUERIES}
    assert before[""] == sorted(repr(shown(columns_of(row))) for row in old)
    engine.insert_arrow("record", record_table(old))
    assert {query: answer(engine, query) for query in QUERIES} == {
        query: sorted(found * 2) for query, found in before.items()
    }


def answer(engine: ClickHouseEngine, query: str) -> list[str]:
    where = condition(query)
    page = log_page(engine, where, EVERYTHING, NEWEST, start=0, rows=2 * RECORDS)
    assert len(page) == count_logs(engine, where, EVERYTHING)
    return sorted(repr(shown(row)) for row in page)


def test_words_are_looked_up_in_the_index(plain_engine: ClickHouseEngine) -> None:
    engine = plain_engine
    engine.insert_arrow("record", record_table(rows()))
    for query in ("mimikatz", "data.Status:emotet", "user:bob hostname:ws-7"):
        where = condition(query)
        plan = engine.query(
            f"EXPLAIN indexes = 1 SELECT count() FROM record {where.clause}",
            where.params,
            settings=SETTINGS,
        ).rows
        assert any("ix_words" in row[0] for row in plan), query
    assert condition("-mimikatz").before == condition("user:b* OR mimikatz").before == ""


def test_pages_have_each_record_once_and_a_scope_only_its_own(
    contract_engine: ClickHouseEngine,
) -> None:
    engine = contract_engine
    engine.insert_arrow("record", record_table(rows()))
    where, scope = condition(""), Scope(frozenset({1, 2}))
    found: list[Any] = []
    for start in range(0, RECORDS, 7):
        page = log_page(engine, where, scope, NEWEST, start=start, rows=7)
        found += [(row["sensor_id"], row["time"], row["content_hash"]) for row in page]
    mine = [row for row in rows() if row.sensor_id in (1, 2)]
    assert len(set(found)) == len(found) == len(mine) == count_logs(engine, where, scope)
    assert [one[1] for one in found] == sorted((one[1] for one in found), reverse=True)
    counts = count_log_facets(engine, where, scope, ("sensor_id", "time"))
    assert {name for name, _ in counts["sensor_id"]} == {"1", "2"}
    low_us, high_us = log_span(engine, where, scope, "time")
    assert (low_us, high_us) == (found[-1][1], found[0][1])
    steps = count_logs_over_time(engine, where, scope, "time", 24 * 60 * MINUTE_US)
    assert sum(count for _, count in steps) == len(mine)
    assert sum(count for _, count in counts["time"]) == len(mine)
