"""No regular expression of the product can be made to take more than linear time, or memory for
each byte of a text that one piece of it repeats over.

Every pattern is found in the source, so a new one is covered without a line here. It is run, the
way the product runs it, on hostile texts made from its own parts, of growing length. The time of
a linear pattern stays far below the floor at the greatest length; one that goes above it at n and
2n and grows by more than the length does fails.
"""

import re
import time
import tracemalloc
from typing import Any

import pytest

from tests.support.forms import in_form
from tests.support.patterns import Use, beginnings, pumps, uses

_SHORT = (16, 20, 24, 28, 32, 64)
"""Lengths at which a pattern that takes more than the floor is exponential."""

_LONG = (1_024, in_form(8_192, 16_384))
"""At the first length a cubic pattern takes many times the floor, at the second a quadratic one,
also on a fast machine."""

_FLOOR_S = 0.02
_GROWTH_MAX = 3.0
"""Maximum growth of the time when the length doubles: 2 for a linear pattern, 4 for a quadratic
one."""

_MEMORY_SIZE = in_form(8_192, 65_536)
_MEMORY_BYTES_MAX = 16
"""Maximum memory per byte of text. A repeated group with backtracking takes 100: the longest
accepted body, 256 MB of blanks, would exhaust the memory of the machine."""

_TRIES = 2
_ENDS = ("\x01", "x\n\x01")


def _took(use: Use, text: Any) -> float:
    """The least of several runs, seconds."""
    run = getattr(use.pattern, use.method)
    arguments = ("", text) if use.method in {"sub", "subn"} else (text,)
    if isinstance(text, bytes) and use.method in {"sub", "subn"}:
        arguments = (b"", text)
    best = float("inf")
    for _ in range(_TRIES):
        begin = time.thread_time()
        found = run(*arguments)
        if use.method == "finditer":
            for _one in found:
                pass
        best = min(best, time.thread_time() - begin)
        if best < _FLOOR_S:
            break
    return best


def _text(use: Use, beginning: str, pump: str, size: int, end: str) -> Any:
    text = beginning + (pump * (size // max(len(pump), 1) + 1))[:size] + end
    return text.encode("latin-1", "replace") if isinstance(use.pattern.pattern, bytes) else text


def _super_linear(use: Use) -> str:
    """A description of the text on which a pattern grows faster than its length; "" if none."""
    starts, repeated = beginnings(use.pattern), pumps(use.pattern)
    tried = {(start, pump) for pump in repeated for start in ("", starts[-1])}
    tried |= {(start, pump) for start in starts for pump in repeated if len(pump) == 1}
    for start, pump in sorted(tried):
        for end in _ENDS:
            shown = f"{start!r} + {pump!r} * n + {end!r}"
            for size in _SHORT:
                if _took(use, _text(use, start, pump, size, end)) > _FLOOR_S:
                    return f"{shown}: exponential at {size}"
            for size in _LONG:
                once = _took(use, _text(use, start, pump, size, end))
                if once < _FLOOR_S / 4:
                    continue
                grown = min(_growth(use, start, pump, size, end) for _ in range(3))
                if grown > _GROWTH_MAX:
                    return f"{shown}: {grown:.1f} times at {2 * size}"
                break
    return ""


def _growth(use: Use, start: str, pump: str, size: int, end: str) -> float:
    once = _took(use, _text(use, start, pump, size, end))
    return _took(use, _text(use, start, pump, size * 2, end)) / once


def _hungry(use: Use) -> str:
    """A description of the text for whose bytes a pattern takes memory; "" if none."""
    starts = beginnings(use.pattern)
    for start, pump in sorted({(s, p) for p in pumps(use.pattern) for s in ("", starts[-1])}):
        text = _text(use, start, pump, _MEMORY_SIZE, _ENDS[0])
        tracemalloc.start()
        try:
            getattr(use.pattern, use.method)(text)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        if peak > _MEMORY_BYTES_MAX * _MEMORY_SIZE:
            return f"{start!r} + {pump!r} * n: {peak / _MEMORY_SIZE:.0f} bytes each"
    return ""


USES = uses()
SINGLE_USES = [use for use in USES if use.method in {"match", "fullmatch", "search", "finditer"}]


@pytest.mark.parametrize("use", USES, ids=lambda use: f"{use.where}-{use.method}")
def test_a_pattern_takes_time_in_proportion_to_the_text(use: Use) -> None:
    assert _super_linear(use) == ""


@pytest.mark.parametrize("use", SINGLE_USES, ids=lambda use: f"{use.where}-{use.method}")
def test_a_pattern_takes_no_memory_for_each_repetition(use: Use) -> None:
    assert _hungry(use) == ""


def test_the_search_finds_patterns_that_take_memory() -> None:
    greedy = re.compile(rb"(?:[\s,]|\xef\xbb\xbf)*")
    assert _hungry(Use("here", greedy, "match")) != ""


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"(?:a|a)*b", "match"),
        (r"(\w+\s?)*$", "fullmatch"),
        (r"[a-z]+=", "search"),
        (r'cmdline="(.*?)" redactors=', "search"),
        (r"node=(\S+) ", "search"),
        (r"\s+$", "sub"),
    ],
)
def test_the_search_finds_patterns_that_are_not_linear(pattern: str, method: str) -> None:
    assert _super_linear(Use("here", re.compile(pattern, re.DOTALL), method)) != ""


def test_patterns_of_all_kinds_of_modules_are_found() -> None:
    folders = {use.where.split("/")[1] for use in USES}
    assert folders >= {"web", "ingest", "query", "search", "importer", "model", "settings"}
    assert {use.method for use in USES} >= {"search", "match", "fullmatch", "sub", "findall"}
