"""The two forms of tests that are exhaustive by nature: `make test` runs the short one, which
proves each behaviour at least once; `make thorough` the long one (VEDETTE_TEST_THOROUGH)."""

import os
from collections.abc import Sequence
from typing import TypeVar

One = TypeVar("One")

IS_THOROUGH = bool(os.environ.get("VEDETTE_TEST_THOROUGH"))


def in_form(short: One, long: One) -> One:
    """What the form of this run takes."""
    return long if IS_THOROUGH else short


def one_of(every: int, cases: Sequence[One], first: int = 0) -> Sequence[One]:
    """All cases in the long form; in the short one each `every`th, from the `first` on."""
    return cases if IS_THOROUGH else cases[first::every]
