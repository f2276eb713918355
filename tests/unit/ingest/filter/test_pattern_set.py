"""PatternSet of ingress filters: globs, expressions, and what RE2 refuses."""

import pytest

from vedette.ingest.filter.pattern import PatternError, check_patterns, path_expression
from vedette.ingest.filter.pattern_set import PatternSet
from vedette.record.objects.ingress_filter import IngressFilter


def fits(path_filter: str, path: str) -> bool:
    return PatternSet([(path_expression(path_filter), 1)]).bits(path) == 1


@pytest.mark.parametrize(
    ("path_filter", "path"),
    [
        (r"c:\windows\*", r"C:\Windows\System32\svchost.exe"),
        (r"*\chrome.exe", r"C:\Program Files\Google\Chrome.exe"),
        (r"c:\a?c.exe", r"c:\abc.exe"),
        ("/usr/bin/[", "/usr/bin/["),
        (r"^c:\\win.*\.exe$", r"C:\windows\x.exe"),
        (r"regex:svchost", r"C:\Windows\svchost.exe"),
        (r"\.exe$", "a.exe"),
    ],
)
def test_a_path_filter_fits(path_filter: str, path: str) -> None:
    assert fits(path_filter, path)


@pytest.mark.parametrize(
    ("path_filter", "path"),
    [
        (r"c:\windows\*", r"D:\c:\windows\x"),
        (r"*\chrome.exe", r"C:\chrome.exe.bak"),
        (r"c:\a.c", r"c:\abc"),
        (r"price\$", r"c:\price\x"),
        ("(?-i)^/usr", "/USR"),
    ],
)
def test_a_path_filter_does_not_fit(path_filter: str, path: str) -> None:
    assert not fits(path_filter, path)


@pytest.mark.parametrize("field", ["cmdline_filters", "netconn_filters", "path_filters"])
def test_an_expression_that_re2_refuses_is_reported_with_its_own_words(field: str) -> None:
    with pytest.raises(PatternError) as caught:
        check_patterns(
            IngressFilter("x", **{field: ("fine", "regex:(a" if "path" in field else "(a")})
        )
    assert (caught.value.field, caught.value.index) == (field, 1)
    assert "missing )" in caught.value.why


def test_an_expression_that_needs_too_much_memory_is_refused() -> None:
    with pytest.raises(PatternError, match=r"cmdline_filters\[0\]"):
        check_patterns(IngressFilter("x", cmdline_filters=("((a{100}){10}){100}",)))


def test_every_one_of_thousands_of_patterns_is_found() -> None:
    patterns = PatternSet([(path_expression(rf"*\p{n:05}\*.exe"), 1 << n) for n in range(3_000)])
    for n in (0, 1, 999, 1_000, 2_999):
        assert patterns.bits(rf"C:\x\P{n:05}\a.exe") == 1 << n
    assert patterns.bits(r"C:\x\q\a.exe") == 0


def test_a_set_too_large_for_one_automaton_is_divided() -> None:
    long = [("x".join(f"{n:04}{m:04}" for m in range(60)), 1 << n) for n in range(900)]
    patterns = PatternSet([(f"{text}.*{text}", bit) for text, bit in long])
    text, bit = long[-1]
    assert patterns.bits(f"{text} {text}") == bit


def test_a_text_that_is_no_unicode_is_looked_at_all_the_same() -> None:
    assert PatternSet([("evil", 1)]).bits("\ud800 evil") == 1
