"""Every promise of the console has an existing test."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted((ROOT / "docs").glob("console-tests-*.md"))
ROW = re.compile(
    r"^\| (?P<behaviour>[^|]+) \| `(?P<file>[a-z_/]+\.py)` \| (?P<tests>[^|]+) \|$", re.M
)


def rows() -> list[tuple[str, str, str]]:
    text = "\n".join(page.read_text() for page in DOCUMENTS)
    return [(one["behaviour"], one["file"], one["tests"]) for one in ROW.finditer(text)]


def test_promises_are_listed() -> None:
    assert len(rows()) >= 25


@pytest.mark.parametrize(("behaviour", "file", "tests"), rows(), ids=lambda text: text[:40])
def test_a_promise_names_tests_that_exist(behaviour: str, file: str, tests: str) -> None:
    there = set(re.findall(r"^def (test_\w+)", (ROOT / "tests" / file).read_text(), re.M))
    named = re.findall(r"`(test_\w+)`", tests)
    assert named, behaviour
    assert set(named) <= there
