"""What an index of end tokens decides is what the matcher says, with the index and without."""

import random
from dataclasses import replace

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
from vedette.model.ends import END, ENDS, ends_index, ends_sql
from vedette.model.event import Dnsquery, Filemod, Modload, ProcessEvent, Regmod
from vedette.query import Condition, check, compile_match, compile_segments, parse
from vedette.query.compile_sql import SETTLED
from vedette.query.match import Prepared
from vedette.store.commit import segment_table
from vedette.store.engine import ClickHouseEngine

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
ASKED = (
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
                ]
            )
        )
    return found


def settled(text: str, number: int) -> Condition:
    """The condition for a store in which the partition has the indexes, or is thought to."""
    where = compile_segments(check(parse(text), now_us=NOW_US), prefix=f"q{number}_").settled
    assert where is not None
    condition = where()
    return replace(condition, params={**condition.params, SETTLED: [WINDOW_MS]})


@pytest.fixture(scope="module")
def odd(store: ClickHouseEngine) -> list[Prepared]:
    draw = random.Random(SEED)
    lives = [odd_life(draw, f"{1:08x}-0000-0000-0000-{n:012x}") for n in range(PROCESSES)]
    for half in (0, 1):
        rows = [partial(n, {}, events[half::2]) for n, events in enumerate(lives)]
        store.insert_arrow("segment", segment_table(rows))
    return [Prepared(whole(n, {}, events)) for n, events in enumerate(lives)]


@pytest.fixture(scope="module", params=["no index", "an index"])
def indexed(store: ClickHouseEngine, odd: list[Prepared], request: pytest.FixtureRequest) -> None:
    if request.param == "an index":
        storage = store.capabilities.storage("segment")
        each = ", ".join(f"MATERIALIZE INDEX {ends_index(column)}" for column in ENDS)
        store.command(f"SYSTEM START MERGES `{storage}`")
        store.command(f"ALTER TABLE `{storage}` {each} SETTINGS mutations_sync = 2")
        store.command(f"SYSTEM STOP MERGES `{storage}`")
        assert store.query(
            "SELECT sum(data_compressed_bytes) > 0 FROM system.data_skipping_indices WHERE "
            "database = {database:String} AND name = 'ends_filemod_path'",
            {"database": store.database},
        ).rows == [(1,)]


@pytest.mark.usefixtures("indexed")
def test_end_tokens_and_matcher_agree(store: ClickHouseEngine, odd: list[Prepared]) -> None:
    for first in range(0, len(ASKED), BATCH):
        texts = ASKED[first : first + BATCH]
        conditions = [settled(text, number) for number, text in enumerate(texts)]
        for text, found in zip(texts, answers(store, conditions), strict=True):
            ask = compile_match(check(parse(text), now_us=NOW_US))
            expected = {one.segment["process_id"] for one in odd if ask(one)}
            assert found == expected, (SEED, text)


@pytest.mark.usefixtures("indexed")
def test_the_tokens_of_a_row_are_those_of_its_values(
    store: ClickHouseEngine, odd: list[Prepared]
) -> None:
    sql = f"SELECT {ends_sql('filemod_path')} FROM segment WHERE has(filemod_path, {{path:String}})"
    found = store.query(f"{sql} LIMIT 1", {"path": r"C:\Temp\a.tar.gz"}).rows[0][0]
    assert {"c:", "temp", f"a.tar.gz{END}", f"*.gz{END}"} <= set(found)
