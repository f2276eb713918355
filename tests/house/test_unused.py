"""Every function and class of the product is used: by name, somewhere besides its definition."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted(path for path in (ROOT / "vedette").rglob("*.py") if "versions" not in path.parts)
_WORD = re.compile(r"\w+")
_CALLED_BY_PYTHON = frozenset({"find_spec"})


def _words() -> Counter[str]:
    """Counts the words in code, templates and scripts of the project."""
    found: Counter[str] = Counter()
    for folder in ("vedette", "tests", "bench", "scripts"):
        for kind in ("*.py", "*.html", "*.toml"):
            for path in (ROOT / folder).rglob(kind):
                found.update(_WORD.findall(path.read_text()))
    found.update(_WORD.findall((ROOT / "pyproject.toml").read_text()))
    return found


def _defined(path: Path) -> list[str]:
    """Functions, classes and methods of a module that nothing registers and no base class calls."""
    tree = ast.parse(path.read_text())
    found = [one for one in tree.body if isinstance(one, ast.FunctionDef | ast.ClassDef)]
    for one in tree.body:
        if isinstance(one, ast.ClassDef) and not one.bases:
            found += [inner for inner in one.body if isinstance(inner, ast.FunctionDef)]
    used = _CALLED_BY_PYTHON | {one.name for one in found if one.decorator_list}
    return [one.name for one in found if one.name not in used and not one.name.startswith("__")]


WORDS = _words()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_is_defined_is_used(path: Path) -> None:
    assert [name for name in _defined(path) if WORDS[name] < 2] == []
