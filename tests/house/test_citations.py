"""Documents that code, tests and pages cite are in the repository, down to the heading."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("vedette", "tests", "bench", "scripts", "docs")
SOURCES = [
    *(
        path
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in {".py", ".md"}
    ),
    *(ROOT / f"{name}.md" for name in ("README", "ARCHITECTURE", "CONTRIBUTING")),
]

CITED = re.compile(r"\b((?:docs/[\w/-]+|ARCHITECTURE|CONTRIBUTING|README)\.md)(?:#([\w-]+))?")
ELSEWHERE = re.compile(
    r"(?<![\w-])(?:design|api)\.md\b|(?<![\w-])(?:query-language|console(?:\.md)?) [0-9]"
)
"""Documents that only the authors had."""


def anchors(page: Path) -> set[str]:
    """Returns the valid fragments (`#...`) of a page."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def text_of(path: Path) -> str:
    """The text, with comments joined over line ends: a citation may be wrapped."""
    return re.sub(r"\n\s*#? ?(?=[a-z])", " ", path.read_text())


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_is_cited_exists(path: Path) -> None:
    for name, heading in CITED.findall(path.read_text()):
        page = ROOT / name
        assert page.exists(), name
        assert not heading or heading in anchors(page), f"{name}#{heading}"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_document_is_cited_that_a_reader_lacks(path: Path) -> None:
    if path != Path(__file__):
        assert ELSEWHERE.findall(text_of(path)) == []
