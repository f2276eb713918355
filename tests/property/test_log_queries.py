"""The SQL of a query for event records and the matcher answer alike, and so do the columns that the
store reads from a record's data and those computed in Python."""

import os
import random
from typing import Any

import pytest

from tests.support.indexed import drawn
from tests.support.log_records import NOW_US, columns_of, query, record
from tests.unit.query.test_trust import HOSTILE
from vedette.model.log_fields import LOG, READINGS, data_name
from vedette.model.scope import EVERYTHING
from vedette.query import SETTINGS, check, compile_match, parse
from vedette.query.compile.document import LOG as LOG_DOCUMENT
from vedette.query.compile.logs_sql import compile_logs
from vedette.query.compile.predicate_sql import DATA_NAME_SQL
from vedette.query.match import Prepared
from vedette.query.nodes import Exact, Leaf
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.read.logs.log_rows import count_logs, log_page
from vedette.store.write.commit import RecordRow, record_table

RECORDS = 400
QUERIES = 120
SEED = int(os.environ.get("VEDETTE_SEED", "20231114"))
"""Printed with a failure; set the variable to see it again or to look elsewhere."""


@pytest.fixture(scope="module")
def rows(store: ClickHouseEngine) -> list[RecordRow]:
    draw = random.Random(SEED)
    found = [record(draw, number) for number in range(1, RECORDS + 1)]
    for first in range(0, RECORDS, 100):
        store.insert_arrow("record", record_table(found[first : first + 100]))
    return found


def matched(rows: list[RecordRow], text: str) -> set[int]:
    ask = compile_match(check(parse(text, LOG), LOG, now_us=NOW_US))
    return {row.seq for row in rows if ask(Prepared(columns_of(row), document=LOG_DOCUMENT))}


def found_by(engine: ClickHouseEngine, text: str) -> set[int]:
    where = compile_logs(check(parse(text, LOG), LOG, now_us=NOW_US))
    sql = f"SELECT seq FROM record {where.clause}"
    return {row[0] for row in engine.query(sql, where.params, settings=SETTINGS).rows}


def test_sql_and_matcher_agree_on_every_record(
    store: ClickHouseEngine, rows: list[RecordRow]
) -> None:
    draw = random.Random(SEED + 1)
    met, count = 0, drawn(store, QUERIES)
    for _ in range(count):
        text = query(draw)
        expected = matched(rows, text)
        assert found_by(store, text) == expected, (SEED, text)
        met += 0 < len(expected) < RECORDS
    assert met >= count / 8


def test_columns_are_read_from_the_data_as_described(
    store: ClickHouseEngine, rows: list[RecordRow]
) -> None:
    everything = compile_logs(check(parse("", LOG), LOG, now_us=NOW_US))
    order = [("time", True)]
    found = log_page(store, everything, EVERYTHING, order, start=0, rows=RECORDS)
    assert len(found) == count_logs(store, everything, EVERYTHING) == RECORDS
    names = [reading.name for reading in READINGS] + ["level", "hostname", "fields", "time"]

    def key(values: dict[str, Any]) -> str:
        return repr([values["sensor_id"], *(values[name] for name in names)])

    assert sorted(map(key, found)) == sorted(key(columns_of(row)) for row in rows)


@pytest.mark.parametrize("value", HOSTILE)
def test_a_hostile_value_of_a_member_finds_itself_and_nothing_else(
    store: ClickHouseEngine, rows: list[RecordRow], value: str
) -> None:
    where = compile_logs(check(Leaf("data.status", Exact(value)), LOG, now_us=NOW_US))
    assert value not in where.sql
    found = store.query(
        f"SELECT count() FROM (SELECT map('Status', {{value:String}}) AS fields, 'h' AS hostname) "
        f"{where.clause.replace('PREWHERE', 'WHERE')}",
        {**where.params, "value": value},
        settings=SETTINGS,
    )
    assert found.rows == [(1,)]


@pytest.mark.parametrize("name", ["Threat Name", "Größe ×", "İ", "a.b-c", "ABC_z0", "'", "`\\"])
def test_names_of_members_have_one_spelling(
    store: ClickHouseEngine, rows: list[RecordRow], name: str
) -> None:
    sql = f"SELECT {DATA_NAME_SQL.format('{name:String}')}"
    assert store.query(sql, {"name": name}).rows == [(data_name(name),)]
