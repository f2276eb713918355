"""Docstrings of the product are written in plain English (docs/style.md). A program recognizes only
the openings that make a reader stop; the rest is for a reviewer."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT = Path(__file__).parents[2] / "vedette"

PLAIN: Final = {
    "Of": "name the thing, then what it belongs to",
    "By": "'Maps X to Y', or 'Returns Y by X'",
    "What": "name the thing that the clause describes",
    "Those": "name the things",
    "How": "'Number of', 'Time (s) for which', or a verb",
    "As": "start with a verb, or name the thing",
    "From": "name the thing that begins there",
}
"""First words of texts that need a second reading, and the plain form."""

WORDS_MIN: Final = 4
"""Words of the docstring of a public function or class; fewer repeat its name."""

MODULES = sorted(ROOT.rglob("*.py"))


def texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yields the line and the text of every docstring, also of those below a constant or field."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(ast.Constant(str(text))):
                yield node.lineno, text.strip()


def short_docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yields the docstrings of public functions and classes that have too few words."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            text = ast.get_docstring(node)
            if text and not node.name.startswith("_") and len(text.split()) < WORDS_MIN:
                yield node.lineno, text


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_docstrings_open_with_the_thing_or_a_verb(path: Path) -> None:
    odd = [
        f"{line}: {text.splitlines()[0]!r}: {PLAIN[text.split()[0]]}"
        for line, text in texts(ast.parse(path.read_text()))
        if text and text.split()[0] in PLAIN
    ]
    assert odd == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_docstrings_of_public_names_say_more_than_the_name(path: Path) -> None:
    assert list(short_docstrings(ast.parse(path.read_text()))) == []
