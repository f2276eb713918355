"""The rules of the house that a program can see."""

import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "vedette").rglob("*.py"))
STATEMENTS_MAX = 350
"""Logical lines of a module, docstrings included: the largest module has 318. A bound on physical
lines would reward literals and calls that are packed into few lines."""
MIGRATIONS = ROOT / "vedette" / "state" / "migrations" / "versions"
READ = [path for path in SOURCES if path.parent != MIGRATIONS]
"""A migration is one file and never changes: nobody has to hold the first one, which is a copy."""
NAMES_NOBODY_LEARNS_FROM = {"utils", "helpers", "common", "misc", "base", "manager", "service"}


def tracked_texts() -> list[Path]:
    """Every text file of the project that is not generated, vendored or somebody's output."""
    skipped = {".git", ".venv", "node_modules", "demo-data"}
    endings = {".py", ".md", ".toml", ".txt", ".in", ".js", ".css", ".html", ".mako", ""}
    return [
        path
        for path in ROOT.rglob("*")
        if path.is_file()
        and path.suffix in endings
        and not skipped.intersection(path.relative_to(ROOT).parts)
        and not any(part.startswith(".") and part != ".ci" for part in path.relative_to(ROOT).parts)
        and "egg-info" not in str(path)
        and "__pycache__" not in str(path)
    ]


@pytest.mark.parametrize("path", READ, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_can_be_held_by_one_reader(path: Path) -> None:
    assert statements(path) <= STATEMENTS_MAX


def statements(path: Path) -> int:
    with path.open("rb") as file:
        return sum(token.type == tokenize.NEWLINE for token in tokenize.tokenize(file.readline))


def test_the_layout_of_a_literal_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_text("A = (1, 2)\nB = A\n")
    counted = statements(path)
    path.write_text("A = (\n    1,\n    2,\n)\n\n# a remark\nB = A\n")
    assert counted == statements(path) == 2


def test_no_module_is_named_after_nothing() -> None:
    named = {path.stem for path in SOURCES} | {path.parent.name for path in SOURCES}
    assert not named & NAMES_NOBODY_LEARNS_FROM


def test_every_module_says_what_it_owns() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in SOURCES
        if path.read_text().strip() and not path.read_text().lstrip().startswith(('"""', 'r"""'))
    ]
    assert silent == []


def test_no_file_names_a_package_index() -> None:
    address = re.compile(r"--(extra-)?index" r"-url|--find" r"-links|https?://[^\s]*/sim" r"ple\b")
    for path in tracked_texts():
        assert not address.search(path.read_text(errors="replace")), path


def test_no_merge_was_left_half_done() -> None:
    mark = re.compile(r"^(<{7}|>{7}) ", re.M)
    assert [path for path in tracked_texts() if mark.search(path.read_text(errors="replace"))] == []


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_files_that_newcomers_are_sent_to_exist(page: str) -> None:
    named = re.findall(
        r"`((?:vedette|tests|docs|bench|scripts)/[\w/.-]*)", (ROOT / page).read_text()
    )
    made_up = re.compile(r"[A-Z]{4}")  # AREA, FORMAT, FAMILY: the reader's own
    missing = [one for one in named if not made_up.search(one) and not (ROOT / one).exists()]
    assert missing == []


def test_every_requirement_is_pinned_with_hashes() -> None:
    for name in ("runtime", "dev"):
        text = (ROOT / "requirements" / f"{name}.txt").read_text()
        wanted = [line for line in text.splitlines() if line and line[0].isalnum()]
        assert wanted
        assert all(re.match(r"[\w.\[\],-]+==\S+ ", line) for line in wanted)
        assert text.count("--hash=sha256:") >= len(wanted)


def test_nothing_is_left_for_later() -> None:
    marks = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b|NotImplemented" r"Error")
    left = [str(path.relative_to(ROOT)) for path in SOURCES if marks.search(path.read_text())]
    assert left == []


def test_nothing_is_unpickled() -> None:
    assert not [path for path in SOURCES if re.search(r"\bimport pickle\b", path.read_text())]


def test_a_folder_that_cannot_be_listed_is_never_taken_for_an_empty_folder() -> None:
    """`vedette/file_tree.py` lists folders for the server. The sensor and the simulation stand
    aside."""
    silent = re.compile(r"\.r?glob\(|\bos\.walk\(|\bglob\.i?glob\(")
    aside = {"sensor", "simulate"}
    found = [
        str(path.relative_to(ROOT))
        for path in SOURCES
        if silent.search(path.read_text())
        and path.relative_to(ROOT / "vedette").parts[0] not in aside
        and path.name != "file_tree.py"
    ]
    assert found == []
