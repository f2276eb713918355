"""A limit that several modules share is a constant of `vedette.limits`, another one is marked as
`Limit` in the module that uses it. No other number has a name that says that it is a limit."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.reference.limits import documented
from vedette.settings.catalogue import catalogue

ROOT = Path(__file__).parents[2]
PRODUCT = ROOT / "vedette"
PLACES = (PRODUCT / "limits", PRODUCT / "sensor" / "limits.py")
OTHERS = (
    PRODUCT / "simulate",  # a fleet that is played: its numbers are the story
    PRODUCT / "settings",  # its ranges are part of a setting's definition
    PRODUCT / "state" / "migrations",  # a migration never changes
)
MODULES = sorted(
    path
    for path in PRODUCT.rglob("*.py")
    if not any(path.is_relative_to(place) for place in (*PLACES, *OTHERS))
)
LIMIT = re.compile(
    r"_(MAX|MIN|BYTES|CHARS|US|MS|S|SECONDS|MINUTES|HOURS|DAYS|DEFAULT|TIMEOUT|DEADLINE|INTERVAL"
    r"|RETRIES|ATTEMPTS|THREADS|WORKERS|BATCH|BUFFER|CHUNK|PIECE|CACHED|QUEUED|AHEAD|LEAST|ENOUGH"
    r"|WITHIN|SIZE)(_|$)"
)
UNIT = re.compile(r"_?(SECOND|MINUTE|HOUR|DAY)_(US|MS|S)$")
"""A unit in another one, like DAY_US."""

EXCEPTIONS = (
    ("alerting/rule_messages.py", "LENGTH_BYTES", "field of a message"),
    ("web/fleet/sensor_changes_json.py", "_LAST_US", "the last time that a date can have"),
    ("importer/sources/text_spool.py", "PARTS_MAX", "bits of a number that has flags above them"),
    ("binaries/reader_messages.py", "LENGTH_BYTES", "field of a message"),
    (
        "ingest/decode/laurel.py",
        "_ID_CHARS_MAX",
        "length of an id that the expression above matches",
    ),
    ("ingest/decode/native.py", "_LAST_US", "the last time that a date can have"),
    ("ingest/decode/nxlog.py", "_QUARTER_US", "a quarter of an hour: time zones differ by those"),
    ("ingest/framing/record_boundaries.py", "_LOG_LINE_BYTES", "length of `[2026-01-01`"),
    ("ingest/times.py", "_LAST_US", "the last time that a date can have"),
    ("model/ids.py", "FILETIME_EPOCH_US", "from 1601 to 1970"),
    ("pipeline/batch/deduplicate.py", "_GENERATION_US", "a limit in another unit"),
    ("pipeline/workers/progress.py", "_SLOT_BYTES", "a cache line of the processor"),
    ("pipeline/workers/socket_channel.py", "_LENGTH_BYTES", "field of a message"),
    ("query/check/time.py", "TIME_MAX_US", "the last time that the language can write"),
    ("query/compile/suffix_tokens.py", "_LABELS_MAX", "what a token of the index has"),
    ("sensor/ed25519.py", "KEY_BYTES", "defined by the algorithm"),
    ("sensor/ed25519.py", "SIGNATURE_BYTES", "defined by the algorithm"),
    ("sensor/kernel/boot.py", "TICK_US", "the kernel's unit of time"),
    ("sensor/kernel/netlink.py", "HEADER_BYTES", "defined by the protocol"),
    ("sensor/kernel/sockets.py", "_ID_BYTES", "field of a message of the kernel"),
)
"""Module, name, and why the number is no limit."""

UNNAMED = {
    "bootstrap/certificate.py": ["0 < len(name) < 254"],
}
"""Bounds that a standard sets: the length of a DNS name."""


def is_number(value: ast.expr) -> bool:
    """Whether it is written as a number, or as a calculation with one."""
    match value:
        case ast.Constant(value=number):
            return isinstance(number, int | float) and not isinstance(number, bool)
        case ast.UnaryOp(operand=operand):
            return is_number(operand)
        case ast.BinOp(left=left, right=right):
            return is_number(left) or is_number(right)
    return False


def is_bound_of_a_type(value: ast.expr) -> bool:
    """Whether it is what a field of 31 and more bits holds: 1 << 53, (1 << 31) - 1,
    (1 << ID_BITS) - 1."""
    match value:
        case ast.BinOp(left=left, op=ast.Sub(), right=ast.Constant(value=1)):
            return is_bound_of_a_type(left)
        case ast.BinOp(
            left=ast.Constant(value=1 | 2), op=ast.LShift() | ast.Pow(), right=ast.Constant(value=n)
        ):
            return isinstance(n, int) and n >= 31
        case ast.BinOp(left=ast.Constant(value=1), op=ast.LShift(), right=ast.Name(id=bits)):
            return bits.endswith("_BITS")
    return False


def marked_in(source: str) -> Iterator[str]:
    """Names of the constants that a module marks as limits."""
    for statement in ast.parse(source).body:
        match statement:
            case ast.AnnAssign(
                target=ast.Name(id=name), annotation=ast.Subscript(value=ast.Name(id="Limit"))
            ):
                yield name


def limits_in(source: str) -> Iterator[str]:
    """Names of the limits that a module defines and does not mark: at its top level and in its
    classes."""
    tree = ast.parse(source)
    bodies = [tree.body, *(one.body for one in ast.walk(tree) if isinstance(one, ast.ClassDef))]
    for statement in (one for body in bodies for one in body):
        match statement:
            case ast.AnnAssign(annotation=ast.Subscript(value=ast.Name(id="Limit"))):
                continue
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                pass
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                pass
            case _:
                continue
        if (
            name.isupper()
            and LIMIT.search(name)
            and not UNIT.match(name)
            and is_number(value)
            and not is_bound_of_a_type(value)
        ):
            yield name


BOUNDING = re.compile(r"timeout|maxsize|maxlen|max_workers|_max$")
"""Keyword arguments that bound something."""


def bounds_in(source: str) -> Iterator[str]:
    """Expressions that are bounded by a number which has no name: a cut or a length of 100 and
    more, the size of a cache, a timeout. What a message quotes is cut as its sentence needs it."""
    tree = ast.parse(source)
    quoted = {
        id(one)
        for node in ast.walk(tree)
        if isinstance(node, ast.FormattedValue)
        for one in ast.walk(node)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Slice(lower=None, upper=ast.Constant(value=int(number))):
                is_bound = number >= 100 and id(node) not in quoted
            case ast.Compare(left=left, comparators=[*middle, ast.Constant(value=int(number))]):
                counted = middle[-1] if middle else left
                is_bound = number >= 100 and ast.unparse(counted).startswith("len(")
            case ast.Call(func=ast.Name(id="lru_cache"), args=[ast.Constant(), *_]):
                is_bound = True
            case ast.keyword(arg=str(name), value=ast.Constant(value=int(number) | float(number))):
                is_bound = number > 1 and BOUNDING.search(name) is not None
            case _:
                continue
        if is_bound:
            yield ast.unparse(node)


def found() -> set[tuple[str, str]]:
    return {
        (str(path.relative_to(PRODUCT)), name)
        for path in MODULES
        for name in limits_in(path.read_text())
    }


def marked() -> set[str]:
    return {name for path in MODULES for name in marked_in(path.read_text())}


def test_every_limit_is_marked_or_stands_in_the_package_of_limits() -> None:
    assert found() - {(module, name) for module, name, _ in EXCEPTIONS} == set()


def test_every_limit_has_a_name_of_its_own() -> None:
    """The page of limits and the settings name limits without their modules."""
    names = Counter(name for name, _, _ in documented())
    assert [name for name, times in names.items() if times > 1] == []


def test_a_limit_that_several_modules_use_stands_in_the_package_of_limits() -> None:
    names = marked()
    shared = [
        (str(path.relative_to(PRODUCT)), alias.name)
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and not node.level  # the sensor has limits of its own
        for alias in node.names
        if alias.name in names
    ]
    assert shared == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PRODUCT)))
def test_what_bounds_has_a_name(path: Path) -> None:
    known = UNNAMED.get(str(path.relative_to(PRODUCT)), ())
    assert set(bounds_in(path.read_text())) == set(known)


@pytest.mark.parametrize(
    ("source", "is_bound"),
    [
        ("text[:200]", True),
        ("f'{text[:200]!r} is not a name'", False),
        ("raise Error(text[:60])", False),
        ("len(text) > 1_000", True),
        ("0 < len(text) <= 300", True),
        ("number > 1_000", False),
        ("lru_cache(8)", True),
        ("lru_cache(maxsize=8)", True),
        ("lru_cache(maxsize=ROWS_MAX)", False),
        ("run(timeout=2.5)", True),
        ("run(timeout=WAIT_S)", False),
    ],
)
def test_a_number_without_a_name_bounds_by_its_place(source: str, is_bound: bool) -> None:
    assert bool([*bounds_in(source)]) is is_bound


def test_every_limit_is_used() -> None:
    """The product, or the default of a setting, uses every limit; an unused limit is documented but
    has no effect."""
    texts = [path.read_text() for path in PRODUCT.rglob("*.py")]
    words = Counter(word for text in texts for word in re.findall(r"\b[A-Z][A-Z0-9_]+\b", text))
    defined = [name for path in PLACES[0].glob("*.py") for name in limits_in(path.read_text())]
    defined += marked()
    assert len(defined) > 500
    assert [one for one in defined if words[one] < 2 and one.lower() not in catalogue()] == []


def test_every_exception_is_needed() -> None:
    assert {(module, name) for module, name, _ in EXCEPTIONS} - found() == set()
    assert all(reason for *_, reason in EXCEPTIONS)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("ROWS_MAX = 10", ["ROWS_MAX"]),
        ("_WAIT_S: Final = 0.5", ["_WAIT_S"]),
        ("_CHUNK_BYTES = 64 * 1024", ["_CHUNK_BYTES"]),
        ("class Reader:\n    BUFFER_BYTES = 1 << 20", ["BUFFER_BYTES"]),
        ("_HALF_MAX = ROWS_MAX // 2", ["_HALF_MAX"]),
        ("ID_MAX = (1 << 31) - 1", []),
        ("_DAY_US = 24 * 3600 * 1_000_000", []),
        ("NAMES_MAX = other.NAMES_MAX", []),
        ("_FORMAT = 1", []),
        ("ROWS_MAX: Limit[int] = 10", []),
    ],
)
def test_a_number_is_a_limit_by_its_name(source: str, names: list[str]) -> None:
    assert list(limits_in(source)) == names


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ('ROWS_MAX: Limit[int] = 10\n"""Rows."""', ["ROWS_MAX"]),
        ("A_S: Limit[float] = 0.5\nSTEPS: Limit[int] = 1", ["A_S", "STEPS"]),
        ("ROWS_MAX = 10\nWAIT_S: Final = 1", []),
    ],
)
def test_a_limit_is_marked_by_its_type(source: str, names: list[str]) -> None:
    assert list(marked_in(source)) == names
