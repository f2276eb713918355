"""Index lookups of end tokens agree with the matcher, with and without the index."""

import random

import pytest

from tests.property.lives import NOW_US
from tests.property.test_query_sql import (
    BATCH,
    PROCESSES,
    SEED,
    WINDOW_MS,
    answers,
    partial,
    whole,
)
from tests.support.indexed import chosen, computing
from vedette.model.address import pack_address
from vedette.model.event import Dnsquery, Filemod, Modload, Netconn, ProcessEvent, Regmod
from vedette.model.scope import EVERYTHING
from vedette.model.suffix_columns import (
    END,
    MERGED_SUFFIX_COLUMNS,
    SUFFIX_COLUMNS,
    suffix_index_name,
    suffix_tokens_sql,
)
from vedette.query import Condition, check, compile_match, compile_segments, parse
from vedette.query.compile.suffix_index import SuffixIndexes
from vedette.query.compile.suffix_tokens import deciding_tokens
from vedette.query.match import Prepared
from vedette.query.typed import Match
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.sql.scope_filter import scope_params
from vedette.store.write.commit import segment_table

PATHS = (
    r"C:\Windows\System32\ntdll.dll",
    r"c:/windows//system32\\NTDLL.DLL",
    r"\\?\C:\Windows\System32\ntdll.dll",
    r"C:\Old\C:\Windows\System32\ntdll.dll",
    r"C:\Windows\System32\ntdll.dll\notes.txt",
    r"abc:\windows\system32\ntdll.dll",
    r"C:\Temp\a.tar.gz",
    r"C:\Temp\.tar",
    "C:\\Temp\\",
    "/etc/.bashrc",
    "/home/it's/a','b.exe",
    "/home/x']",
    "C:\\x\new\\line.exe",
    "C:\\x\new\nntdll.dll",
    "C:\\x\x1fntdll.dll",
    "C:\\x\x1f\\b.exe",
    "c:\\Stra\u00dfe\\\u212aernel.EXE",
    "ntdll.dll",
    ".dll",
    ".",
    "",
    r"\registry\machine\system\ControlSet001\Services\run",
    r"\registry\machine\system\ControlSet002",
    r"\registry\machine\ControlSet001x.dll",
)
NAMES = (
    "www.Example.com",
    "example.com.",
    "example.com..",
    "com",
    "a.b.c.example.com",
    "com.example",
    "a..com",
    ".com",
    "...",
    "",
    "x'.com",
    "x\\.com",
    "x/b.com",
    "\u212aelvin.com",
)
ADDRESSES = (
    "192.0.2.0",
    "192.0.2.9",
    "192.0.2.255",
    "192.0.3.7",
    "192.168.1.1",
    "19.2.0.2",
    "2.9.0.1",
    "0.0.0.0",
    "255.255.255.255",
    "2001:db8::9",
    "::192.0.2.9",
    "::ffff:0:192.0.2.9",
    "::1",
)
ASKED = (
    *(f"ipaddr:192.0.2.{one}" for one in ("9", "0/24", "0/25", "0/28", "8/29", "255", "9/0", "*")),
    *(f"ipaddr:192.{one}" for one in ("0.0.0/16", "0.2.0/23", "0.0.0/9", "0.0.0/8", "*")),
    *(
        f"ipaddr:{one}"
        for one in ("0.0.0.0/1", "2001:db8::/32", "::/0", "128.0.0.0/1", "2.9.0.0/15")
    ),
    *(f"ipaddr:[{one}]" for one in ("192.0.2.1 TO 192.0.3.7", "0.0.0.1 TO *", "* TO 192.0.2.9")),
    "ipaddr:[1.2.3.4 TO 254.4.3.2]",
    "ipaddr:192.0.2.0/24 ipaddr:19.2.0.2",
    "-ipaddr:192.0.0.0/16",
    *(f"filemod:{one}" for one in ("ntdll.dll", ".dll", ".gz", ".tar.gz", ".tar", ".bashrc")),
    *(f"filemod:{one}" for one in ("kernel.exe", "b.exe", "line.exe", ".", "*.exe", "*dll.dll")),
    *(f"modload:{one}" for one in (r"c:\windows\system32\ntdll.dll", r"system32\ntdll.dll")),
    r"modload:c:\windows",
    r"modload:c:\windows\*",
    r"modload:windows\system32\*",
    *(
        f"regmod:{one}"
        for one in ("run", "currentcontrolset", "controlset001", ".dll", "notes.txt")
    ),
    *(
        f"domain:{one}"
        for one in ("com", ".com", ".com.", "com.", "example.com", "www.example.com")
    ),
    *(f"domain:{one}" for one in ("c.example.com", "a.b.c.example.com", "kelvin.com", "*.com")),
    "ntdll.dll",
    "com -filemod:ntdll.dll",
)


def odd_life(draw: random.Random, process: str) -> list[ProcessEvent]:
    """Events with few texts, all of them odd."""
    found: list[ProcessEvent] = []
    for _ in range(draw.randrange(4)):
        path = draw.choice(PATHS)
        found.append(
            draw.choice(
                [
                    Filemod(process, NOW_US, 1, path),
                    Modload(process, NOW_US, path),
                    Regmod(process, NOW_US, 2, path),
                    Dnsquery(process, NOW_US, draw.choice(NAMES)),
                    Netconn(
                        process,
                        NOW_US,
                        1,
                        6,
                        pack_address("10.0.0.1"),
                        50_000,
                        pack_address(draw.choice(ADDRESSES)),
                        443,
                        draw.choice(NAMES),
                    ),
                ]
            )
        )
    return found


BELIEFS = {
    "merged parts have some": SuffixIndexes(indexed=(1,), merging=(WINDOW_MS,)),
    "some are everywhere": SuffixIndexes(indexed=(WINDOW_MS,), everywhere=MERGED_SUFFIX_COLUMNS),
}
"""Assumptions of a search about the indexes, correct or not."""


def believing(indexes: SuffixIndexes, text: str, number: int) -> Condition:
    """The condition that is asked by whom thinks that the indexes are there."""
    checked = check(parse(text), now_us=NOW_US)
    return compile_segments(checked, prefix=f"q{number}_", indexes=indexes)


def has_index(store: ClickHouseEngine, column: str) -> bool:
    sql = (
        "SELECT sum(data_compressed_bytes) > 0 FROM system.data_skipping_indices WHERE "
        "database = {database:String} AND name = {name:String}"
    )
    found = store.query(sql, {"database": store.database, "name": suffix_index_name(column)})
    return bool(found.rows[0][0])


def merges(store: ClickHouseEngine, statement: str) -> None:
    """A statement that merges parts, of a table whose parts are not merged by themselves."""
    storage = store.capabilities.storage("segment")
    store.command(f"SYSTEM START MERGES `{storage}`")
    store.command(statement.format(f"`{storage}`"))
    store.command(f"SYSTEM STOP MERGES `{storage}`")


@pytest.fixture(scope="module", params=["merged parts have some", "all parts have all"])
def odd(store: ClickHouseEngine, request: pytest.FixtureRequest) -> list[Prepared]:
    """A part that was merged, and one that was not, with events of the same processes."""
    store.command(f"TRUNCATE TABLE `{store.capabilities.storage('segment')}`")
    draw = random.Random(SEED)
    lives = [odd_life(draw, f"{1:08x}-0000-0000-0000-{n:012x}") for n in range(PROCESSES)]
    for half in (0, 1):
        rows = [partial(n, {}, events[half::2]) for n, events in enumerate(lives)]
        store.insert_arrow("segment", segment_table(rows))
        if not half:
            merges(store, "OPTIMIZE TABLE {} FINAL")
    if request.param == "all parts have all":
        each = ", ".join(
            f"MATERIALIZE INDEX {suffix_index_name(column)}" for column in SUFFIX_COLUMNS
        )
        merges(store, f"ALTER TABLE {{}} {each} SETTINGS mutations_sync = 2")
    assert has_index(store, "filemod_path")
    assert has_index(store, "modload_path") == (request.param == "all parts have all")
    return [Prepared(whole(n, {}, events)) for n, events in enumerate(lives)]


@computing
@pytest.mark.parametrize("indexes", BELIEFS.values(), ids=BELIEFS)
def test_end_tokens_and_matcher_agree(
    store: ClickHouseEngine, odd: list[Prepared], indexes: SuffixIndexes
) -> None:
    asked = chosen(store, ASKED)
    for first in range(0, len(asked), BATCH):
        texts = asked[first : first + BATCH]
        conditions = [believing(indexes, text, number) for number, text in enumerate(texts)]
        for text, found in zip(texts, answers(store, conditions), strict=True):
            ask = compile_match(check(parse(text), now_us=NOW_US))
            expected = {one.segment["process_id"] for one in odd if ask(one)}
            assert found == expected, (SEED, text)


def test_every_answer_has_a_row_of_each_narrowing(
    store: ClickHouseEngine, odd: list[Prepared]
) -> None:
    indexes = SuffixIndexes(everywhere=frozenset(SUFFIX_COLUMNS))
    for text in chosen(store, ASKED):
        ask = compile_match(check(parse(text), now_us=NOW_US))
        expected = {one.segment["process_id"] for one in odd if ask(one)}
        condition = believing(indexes, text, 0)
        for narrowing in condition.narrowings:
            sql = f"SELECT DISTINCT process_id FROM segment WHERE {' OR '.join(narrowing.rows)}"
            found = store.query(sql, {**condition.params, **scope_params(EVERYTHING)}).rows
            assert expected <= {row[0] for row in found}, (SEED, text)


def test_parts_are_distinguished_by_their_names(
    store: ClickHouseEngine, odd: list[Prepared]
) -> None:
    ends = BELIEFS["merged parts have some"]
    sql = f"SELECT count(), countIf({ends.where('filemod_path')}) FROM segment"
    assert store.query(sql, ends.params).rows == [(2 * len(odd), len(odd))]


def test_the_tokens_of_a_row_are_those_of_its_values(
    store: ClickHouseEngine, odd: list[Prepared]
) -> None:
    assert odd
    tokens = suffix_tokens_sql("filemod_path")
    sql = f"SELECT {tokens} FROM segment WHERE has(filemod_path, {{path:String}})"
    found = store.query(f"{sql} LIMIT 1", {"path": r"C:\Temp\a.tar.gz"}).rows[0][0]
    assert {"c:", "temp", f"a.tar.gz{END}", f"*.gz{END}"} <= set(found)


def test_every_network_is_decided_by_tokens() -> None:
    for bits in range(1, 33):
        checked = check(parse(f"ipaddr:203.0.113.77/{bits}"), now_us=NOW_US)
        assert isinstance(checked, Match)
        tokens, others = deciding_tokens(checked.tests)
        assert (bool(tokens), others) == (True, [])
