"""The automaton of on-sensor expressions: finds what Python's engine finds, in linear time."""

import random
import re
import time
from collections.abc import Callable

import pytest

from vedette.sensor.events import pattern
from vedette.sensor.events.linear_match import Automaton, UnsupportedError
from vedette.sensor.kernel.audit_records import _CALL
from vedette.sensor.limits import PATTERN_CACHE_MAX


def automaton(text: str) -> Automaton:
    return Automaton(pattern._parser().parse(text))


@pytest.mark.parametrize(
    "expression",
    [
        "a",
        "",
        "abc",
        "a.c",
        "^a",
        "c$",
        "^$",
        "a|bc|",
        "(a|b)+c",
        "(ab)*c",
        "a{2,3}b",
        "a{2}$",
        "[a-c]x",
        "[^a-c]x",
        r"\bab\b",
        r"\Bb",
        r"\w+\s\d",
        r"\W",
        r"[\w.]+@",
        "a??b",
        "(?:a(b|c))*$",
        "((a*)*)*b",
        "(a|aa)+$",
        "x*",
        "^(a|b)*$",
        r"\Aab",
        r"b\Z",
        "[^\n]b",
        "(?i)aB",
        "a+b+c+",
    ],
)
def test_it_finds_what_pythons_engine_finds(expression: str) -> None:
    ours, theirs = automaton(expression), re.compile(expression, re.I | re.S | re.A)
    drawn = random.Random(7)
    for _ in range(300):
        text = "".join(drawn.choices("aAbBcCx 1@._-", k=drawn.randrange(12)))
        assert ours.found_in(text) == (theirs.search(text) is not None), text


@pytest.mark.parametrize("expression", ["a{5000}", "(a{100}){100}", "(?m)^a", "(?-i:a)", r"(a)\1"])
def test_what_is_too_large_or_means_something_else_is_refused(expression: str) -> None:
    with pytest.raises(UnsupportedError):
        automaton(expression)


def test_the_end_is_the_end_of_the_text_as_on_the_server() -> None:
    assert not automaton("a$").found_in("a\n")


def test_the_cache_stays_bounded_on_a_text_that_never_repeats() -> None:
    made = automaton("(a|b|c){0,200}[^d]{0,200}x")
    drawn = random.Random(3)
    assert not made.found_in("".join(chr(drawn.randrange(0x100, 0xD000)) for _ in range(3_000)))
    assert made._cached <= PATTERN_CACHE_MAX + 1_000


def seconds(run: Callable[[], object]) -> float:
    """The least of three runs, in seconds of this process."""
    found = []
    for _ in range(3):
        began = time.process_time()
        run()
        found.append(time.process_time() - began)
    return min(found)


@pytest.mark.parametrize(
    ("expression", "unit"),
    [
        ("a.*b", "a"),
        ("a.*b.*c", "ab"),
        ("(a+)+b", "a"),
        ("(a|aa)+$", "a"),
        ("[ab]*c", "ab"),
        (r"\w+\s+\d+x", "a 1 "),
        ("(a*)*b", "a"),
        ("a{0,8}a{0,8}a{0,8}c", "a"),
        ("(.*)x(.*)y", "x"),
    ],
)
def test_twice_the_text_takes_twice_the_time(expression: str, unit: str) -> None:
    made, text = automaton(expression), unit * 40_000
    once, twice = seconds(lambda: made.found_in(text)), seconds(lambda: made.found_in(2 * text))
    assert twice < 3 * once + 0.02


@pytest.mark.parametrize("glob", ["*a*b", "*a?a?a*b", "a*a*a*a*b", "*" * 200 + "b", "*?b"])
def test_globs_take_linear_time(glob: str) -> None:
    match, text = pattern.glob(glob), "a" * 100_000
    once, twice = seconds(lambda: match(text)), seconds(lambda: match(2 * text))
    assert twice < 3 * once + 0.02


@pytest.mark.parametrize(
    "text",
    [
        b"arch=%s",
        b"arch=c000003e syscall=%s",
        b"arch=c000003e syscall=59 per=%s",
        b"arch=c000003e syscall=59 success=%s",
        b"arch=c000003e syscall=59 a0=%s",
        b"arch=c000003e syscall=59 success=yes exit=0 a0=0 a1=0 a2=0 a3=0 items=%s",
    ],
)
def test_the_audit_pattern_takes_linear_time(text: bytes) -> None:
    hostile = text % (b"1" * 200_000)
    once = seconds(lambda: _CALL.match(hostile))
    twice = seconds(lambda: _CALL.match(hostile + hostile))
    assert _CALL.match(hostile) is None
    assert twice < 3 * once + 0.02
