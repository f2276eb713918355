"""Names of modules are words of the glossary, names of classes stand for one thing in their
package, and packages are small enough to survey."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "vedette"
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text()
WORDS = [
    block.split()
    for block in re.findall(
        r"^```\n(.*?)^```", (ROOT / "docs" / "module-words.md").read_text(), re.M | re.S
    )
]
"""The standard words, and the systems and formats."""
MODULES_MAX = 25
MODULES = sorted(
    path for path in PACKAGE.rglob("*.py") if "versions" not in path.parts and path.stem[0] != "_"
)
PACKAGES = sorted({path.parent for path in PACKAGE.rglob("*.py")})
FOLDERS = [
    *PACKAGES,
    *sorted({path.parent for name in ("tests", "bench") for path in (ROOT / name).rglob("*.py")}),
]

ENDINGS = (
    ("ies", "y"),
    ("ases", "as"),
    ("sses", "ss"),
    ("shes", "sh"),
    ("ches", "ch"),
    ("xes", "x"),
    ("s", ""),
)
"""Endings of plurals, and what the singular has in their place."""

NO_PLURALS = ("macos", "auoms", "procfs")


def singular(word: str) -> str:
    """The form in which the glossary lists a noun."""
    if word.endswith(("ss", "us", "is")) or word in NO_PLURALS:
        return word
    for ending, other in ENDINGS:
        if word.endswith(ending):
            return word.removesuffix(ending) + other
    return word


def listed() -> frozenset[str]:
    """All words that names may use: the terms of the glossary and the module words."""
    found = {word for words in WORDS for word in words}
    for line in GLOSSARY.splitlines():
        if line.startswith("| ") and not line.startswith("| --"):
            found |= set(re.findall(r"[a-z0-9]+", line.split("|")[1].lower()))
    return frozenset(found | {singular(word) for word in found})


LISTED = listed()


def words_of(path: Path) -> list[str]:
    """The words in the name of a module and of its package."""
    names = [path.stem] if path.parent == PACKAGE else [path.parent.name, path.stem]
    return [word for name in names for word in name.split("_")]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_is_named_in_words_of_the_glossary(path: Path) -> None:
    assert [word for word in words_of(path) if not {word, singular(word)} & LISTED] == []


def test_module_words_are_listed_once_in_order_and_because_a_module_has_them() -> None:
    used = {form for path in MODULES for word in words_of(path) for form in (word, singular(word))}
    assert len(WORDS) == 2
    for words in WORDS:
        assert words == sorted(set(words))
        assert [word for word in words if word not in used] == []


@pytest.mark.parametrize("folder", PACKAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_package_can_be_surveyed(folder: Path) -> None:
    if folder.name == "versions":
        return  # a chain of numbered steps, of which only the last is read
    assert len([path for path in folder.glob("*.py") if path.stem != "__init__"]) <= MODULES_MAX


@pytest.mark.parametrize("folder", PACKAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_package_says_what_question_it_answers(folder: Path) -> None:
    text = (folder / "__init__.py").read_text()
    assert text.startswith(('"""', 'r"""'))


PRIVATE_WORDS = frozenset(
    {"told", "untold", "tell", "untell", "heard", "beside", "patience", "patient", "sieve"}
    | {"remember", "remembered", "deaf", "promise"}
)
"""Words that once stood for cached, known, deadline, prefilter and the like, which are the words
that an engineer searches for."""

PROTOCOLS = frozenset({"tell"})
"""Methods of Python's own protocols."""


def named(tree: ast.Module) -> Iterator[str]:
    """Yields the names that a module defines."""
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.arg(arg=name):
                yield name
            case ast.AsyncFunctionDef(name=name) | ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_names_are_made_of_the_fields_words(folder: Path) -> None:
    """A test's own name is a sentence, and may have any word."""
    found = {
        f"{path.name}: {name}"
        for path in folder.glob("*.py")
        for name in named(ast.parse(path.read_text()))
        if name not in PROTOCOLS and not name.startswith("test_")
        if not PRIVATE_WORDS.isdisjoint(name.lower().split("_"))
    }
    assert found == set()


TOP_PACKAGES = sorted(path for path in PACKAGES if path.parent == PACKAGE)


@pytest.mark.parametrize("folder", TOP_PACKAGES, ids=lambda path: path.name)
def test_a_class_of_a_package_has_a_name_of_its_own(folder: Path) -> None:
    found = Counter(
        node.name
        for path in folder.rglob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, count in found.items() if count > 1] == []
