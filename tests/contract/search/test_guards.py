"""Queries that a server rejects because of its settings (docs/query-language.md#wildcards)."""

import pytest

from vedette.errors import QueryError
from vedette.model.event import BinarySeen
from vedette.model.fields import PROCESS
from vedette.query import parse
from vedette.search.query_guards import guarded_check
from vedette.settings import Settings
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.write.commit import BinaryRow, Commit
from vedette.store.write.insert import write_commit

JOINING = "process_name:a -company_name_modload:microsoft"


def ask(engine: ClickHouseEngine, query: str, settings: Settings) -> None:
    guarded_check(engine, parse(query), PROCESS, settings, 0)


def two_binaries(engine: ClickHouseEngine) -> None:
    seen = [BinarySeen(5, digit * 32, "", "", "c:\\a.exe", {}) for digit in "12"]
    rows = [BinaryRow(1, "h", "G", "windows", one, 5, 1) for one in seen]
    write_commit(engine, Commit(binaries=rows))


def test_nothing_is_refused_by_default(engine: ClickHouseEngine) -> None:
    two_binaries(engine)
    ask(engine, f"path:*.exe {JOINING}", Settings())


def test_joins_are_refused_when_there_are_too_many_binaries(engine: ClickHouseEngine) -> None:
    two_binaries(engine)
    ask(engine, JOINING, Settings(block_large_joins=True, join_binaries_max=2))
    with pytest.raises(QueryError, match="too many binaries") as caught:
        ask(engine, JOINING, Settings(block_large_joins=True, join_binaries_max=1))
    assert JOINING[caught.value.start : caught.value.end] == "company_name_modload:microsoft"
    ask(engine, "original_filename:a", Settings(block_large_joins=True, join_binaries_max=1))


def test_leading_wildcards_are_refused_where_the_setting_says_so(engine: ClickHouseEngine) -> None:
    with pytest.raises(QueryError, match="wildcard"):
        ask(engine, "path:*.exe", Settings(block_leading_wildcards=True))
