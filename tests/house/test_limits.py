"""Limits stand in one place: no other module of the product defines a number whose name says
that it is one."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

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
    ("model/ids.py", "FILETIME_EPOCH_US", "the distance of two calendars' beginnings"),
)
"""Module, name, and why the number is no limit."""


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
    """Whether it is what a field of 31 and more bits holds: 1 << 53, (1 << 31) - 1, 2**128 - 1."""
    match value:
        case ast.BinOp(left=left, op=ast.Sub(), right=ast.Constant(value=1)):
            return is_bound_of_a_type(left)
        case ast.BinOp(
            left=ast.Constant(value=base), op=ast.LShift() | ast.Pow(), right=ast.Constant(value=n)
        ):
            return base in {1, 2} and isinstance(n, int) and n >= 31
    return False


def limits_in(source: str) -> Iterator[str]:
    """Names of the limits that a module defines: at its top level and in its classes."""
    tree = ast.parse(source)
    bodies = [tree.body, *(one.body for one in ast.walk(tree) if isinstance(one, ast.ClassDef))]
    for statement in (one for body in bodies for one in body):
        match statement:
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


def found() -> set[tuple[str, str]]:
    return {
        (str(path.relative_to(PRODUCT)), name)
        for path in MODULES
        for name in limits_in(path.read_text())
    }


def test_every_limit_stands_in_the_package_of_limits() -> None:
    assert found() - {(module, name) for module, name, _ in EXCEPTIONS} == set()


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
    ],
)
def test_a_number_is_a_limit_by_its_name(source: str, names: list[str]) -> None:
    assert list(limits_in(source)) == names
