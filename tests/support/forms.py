"""The two forms of tests that are exhaustive by nature: `make all` runs the short one, which proves
each behaviour at least once; `make thorough` the long one (VEDETTE_TEST_THOROUGH)."""

import os
import zlib
from collections.abc import Mapping, Sequence
from typing import TypeVar

import pytest

One = TypeVar("One")

IS_THOROUGH = bool(os.environ.get("VEDETTE_TEST_THOROUGH"))


def in_form(short: One, long: One) -> One:
    """Returns `long` in the long form of the tests, else `short`."""
    return long if IS_THOROUGH else short


def one_of(every: int, cases: Sequence[One], first: int = 0) -> Sequence[One]:
    """All cases in the long form; in the short one each `every`th, from the `first` on."""
    return cases if IS_THOROUGH else cases[first::every]


def one_by_name(name: str, cases: Sequence[One]) -> One:
    """The case that a test has in the short form: by its name, so that each case is that of its
    share of the tests, and a test's the same in each run."""
    return cases[zlib.crc32(name.encode()) % len(cases)]


def run_on(metafunc: pytest.Metafunc, fixture: str, values: Mapping[str, object]) -> None:
    """Gives a fixture of a test these values, by their ids; unless the test says itself which."""
    marks = metafunc.definition.iter_markers("parametrize")
    if fixture in metafunc.fixturenames and not any(fixture in mark.args[0] for mark in marks):
        mark = pytest.mark.parametrize(fixture, values.values(), ids=values, indirect=True)
        metafunc.definition.add_marker(mark)
