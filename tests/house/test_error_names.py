"""Errors of the API name members of the API, not columns and variables of the program."""

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from fastapi import FastAPI

from vedette.web.app import all_routes
from vedette.web.server.openapi_document import openapi_document

ROOT = Path(__file__).parents[2] / "vedette"

ANSWERING = ("alerting", "forwarder", "notify", "respond", "search", "state", "watchlists", "web")
"""Packages whose errors are answers."""


@cache
def public_names() -> frozenset[str]:
    app = FastAPI(title="t", version="1")
    app.router.routes.extend(all_routes())
    documents = [json.dumps(openapi_document(app))]
    documents += [one.read_text() for one in (ROOT.parent / "docs").rglob("*.md")]
    return frozenset(name for text in documents for name in re.findall(r"\w+", text))


def named_first() -> Iterator[tuple[str, str]]:
    """Each name before the first colon of an error's text, with its place."""
    for package in ANSWERING:
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call) and (name := _first_name(node)):
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", name


def _first_name(call: ast.Call) -> str:
    error = getattr(call.func, "id", "")
    if not error.endswith("Error") or not call.args:
        return ""
    text = call.args[0]
    if isinstance(text, ast.JoinedStr):
        text = text.values[0]
    if not (isinstance(text, ast.Constant) and isinstance(text.value, str)):
        return ""
    found = re.match(r"([a-z_.]+): ", text.value)
    return found[1].rpartition(".")[2] if found else ""


def test_an_error_names_a_member_of_the_api() -> None:
    named = list(named_first())
    assert len(named) > 50
    assert [(place, name) for place, name in named if name not in public_names()] == []
