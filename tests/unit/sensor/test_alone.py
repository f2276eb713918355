"""The sensor runs where only Python is: an older one too, and without the server."""

import ast
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[3] / "vedette" / "sensor"
SOURCES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_it_reads_as_python_3_9(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 9))
    names = {
        keyword.arg
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for keyword in node.keywords
    }
    assert not names & {"slots", "strict", "kw_only"}
    assert not any(isinstance(node, ast.Match) for node in ast.walk(tree))
    annotated = any(isinstance(node, ast.FunctionDef) for node in ast.walk(tree))
    assert not annotated or "from __future__ import annotations" in path.read_text()


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_it_imports_only_itself_and_the_standard_library(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            roots = {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            roots = {str(node.module).partition(".")[0]}
        else:
            continue
        assert roots <= sys.stdlib_module_names
