"""Patterns of on-sensor filters: what is run here, and what is refused."""

import time

import pytest

from vedette.sensor.events import pattern
from vedette.sensor.events.pattern import PatternError


@pytest.mark.parametrize(
    ("text", "fits", "fails"),
    [
        ("/usr/bin/cron", "/usr/bin/CRON", "/usr/bin/crond"),
        ("*/cron", "/usr/sbin/cron", "/usr/sbin/cron/x"),
        ("/opt/*/bin/*.sh", "/opt/a/b/bin/x.sh", "/opt/bin/x.sh"),
        ("/opt/a?c", "/opt/abc", "/opt/ac"),
        ("*a?c*d", "xaac-abcd", "xacd"),
        ("*.s?", "x.so", "x.so.1"),
        ("a*a", "aa", "a"),
        ("/x[1].(2)+*", "/x[1].(2)+/y", "/x1.2"),
        ("regex:/tmp/.*", "/var/tmp/x", "/tm"),
        ("^/tmp/[a-z]+$", "/tmp/abc", "/tmp/a1"),
        ("/tmp/x$", "/a/TMP/x", "/tmp/xy"),
    ],
)
def test_path_filters_are_globs_or_expressions(text: str, fits: str, fails: str) -> None:
    match = pattern.path(text)
    assert match(fits)
    assert not match(fails)


@pytest.mark.parametrize("text", ["--beacon", ".*beacon.*", r"be\w+n", "(bea|foo)con", "bea.?con"])
def test_an_expression_may_stand_anywhere(text: str) -> None:
    assert pattern.regex(text)("/tmp/x --BEACON now")


@pytest.mark.parametrize(
    "text",
    [
        "(a+)+b",
        "(a|a)*b",
        "(a|ab){3}",
        "a*a*b",
        "(a?){50}",
        r"(a)\1",
        "(?=a)b",
        "(?<!a)b",
        "(",
        "a{1000}{1000}",
        "x" * 600,
        "a?" * 20 + "b",
    ],
)
def test_what_may_run_away_is_refused(text: str) -> None:
    with pytest.raises(PatternError):
        pattern.regex(text)


@pytest.mark.parametrize("text", ["a.*b.*", ".*[ab]*c", "a{0,8}a{0,8}a{0,8}c", "(a|b)x.*y"])
def test_what_is_run_is_bounded_on_the_worst_input(text: str) -> None:
    match = pattern.regex(text)
    began = time.process_time()
    match("a" * 100_000)
    assert time.process_time() - began < 20


def test_a_glob_is_bounded_on_the_worst_input() -> None:
    match = pattern.glob("*a" * 100 + "*b")
    assert not match("a" * 4096)
