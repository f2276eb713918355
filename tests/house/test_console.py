"""What keeps data from becoming markup or script in the pages."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest
import tree_sitter_javascript
from tree_sitter import Language, Parser

from vedette.console.catalogue import LANGUAGES
from vedette.console.short_script import short_names, shortened
from vedette.console.static_files import static_files

ROOT = Path(__file__).parents[2]
CONSOLE = ROOT / "vedette" / "console"
VENDOR = CONSOLE / "static" / "vendor"
TEMPLATES = sorted((CONSOLE / "templates").rglob("*.html"))
SCRIPTS = sorted(path for path in (CONSOLE / "static").rglob("*.js") if VENDOR not in path.parents)
MODULES = sorted(CONSOLE.rglob("*.py"))
SCRIPT_BYTES_MAX = 180_000
"""Of all that are served in one language: ours as they are served, and those that are vendored."""

UNIMPORTANT = (
    *("comment", "(", ")", ",", "formal_parameters", "pair", "pair_pattern"),
    *("assignment_pattern", "object_assignment_pattern"),
)
"""Parts of scripts that may be left out, or stand around a name that is written at length."""

IN_TEMPLATES = {
    "escaping is never turned off": r"\|\s*safe\b|autoescape\s+false|Markup\(",
    "no handler is written inline": r"\son[a-z]+\s*=(?!=)",
    "no style is written inline": r"\sstyle\s*=|<style\b",
    "htmx attributes come from hx(), which adds the nonce": r"\shx-[a-z-]+\s*=",
    "an attribute is no text, whose quotes would be escaped": r"\{\{ '[a-z-]+=\"",
    "no address runs a script": r"javascript:",
    "every script has the nonce": r"<script(?![^>]*nonce=\"\{\{ nonce \}\}\")",
    "other sites get no reference": r"target=\"_blank\"(?![^>]*rel=\"noopener noreferrer\")",
    "nothing comes from elsewhere": r"(?:src|href)=\"(?:https?:)?//",
}
IN_SCRIPTS = {
    "no text becomes markup": r"\b(?:inner|outer)HTML\b(?!\")|insertAdjacentHTML|document\.write|"
    r"createContextualFragment|DOMParser|setHTMLUnsafe|parseHTMLUnsafe",
    "no text becomes script": r"\beval\(|new Function|setTimeout\(\s*[\"']|\.text\s*=|"
    r"trustedTypes|importScripts",
    "no style is written as text": r"setAttribute\(\s*[\"'](?:style|on)",
    "nothing is asked of another server": r"https?://(?!www\.w3\.org/)",
}


def found(rules: dict[str, str], path: Path) -> list[str]:
    text = path.read_text()
    return [rule for rule, pattern in rules.items() if re.search(pattern, text)]


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(CONSOLE)))
def test_a_template_writes_no_live_markup(path: Path) -> None:
    assert found(IN_TEMPLATES, path) == []


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_a_script_makes_elements_and_no_markup(path: Path) -> None:
    assert found(IN_SCRIPTS, path) == []


def test_a_fragment_holds_no_script() -> None:
    pages = {path for path in TEMPLATES if path.parent.name == "screens" or path.stem == "base"}
    assert [path for path in TEMPLATES if path not in pages and "<script" in path.read_text()] == []


def test_markup_is_made_in_one_module() -> None:
    users = {path.name for path in MODULES if "Markup" in path.read_text()}
    assert users == {"html.py"}


def test_pages_change_nothing() -> None:
    """Changes go through the API: it alone has writing routes."""
    writing = re.compile(r"router\.(post|put|patch|delete)\(|\.writing\(")
    assert [path.name for path in MODULES if writing.search(path.read_text())] == []


def test_vendored_files_are_those_that_their_list_names() -> None:
    listed = json.loads((VENDOR / "MANIFEST.json").read_text())
    digests = {name: digest for part in listed for name, digest in part["files"].items()}
    licences = {part["licence_file"] for part in listed}
    there = {path.name for path in VENDOR.iterdir()} - {"MANIFEST.json"}
    assert there == set(digests) | licences
    for name, digest in digests.items():
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == digest


@pytest.mark.parametrize("language", LANGUAGES)
def test_scripts_stay_small(language: str) -> None:
    served = [content for name, content in static_files(language).items() if name.endswith(".js")]
    assert sum(map(len, served)) <= SCRIPT_BYTES_MAX


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_a_script_is_served_as_it_is_written_but_for_names(path: Path) -> None:
    script = path.read_text()
    assert list(parts(shortened(script))) == list(parts(script, short_names(script)))


def parts(script: str, names: Mapping[str, str] = MappingProxyType({})) -> Iterator[str]:
    """Nodes of a script and their texts, as they are with other names."""
    tree = Parser(Language(tree_sitter_javascript.language())).parse(script.encode())
    ahead = [tree.root_node]
    while ahead:
        node = ahead.pop()
        text = (node.text or b"").decode()
        if node.type in UNIMPORTANT:
            ahead += reversed(node.named_children)
        elif node.child_count and node.type not in ("string", "regex"):
            yield node.type
            ahead += reversed(node.children)
        elif node.type.startswith("shorthand") and text in names:
            yield from (text, names[text])
        else:
            yield names.get(text, text) if node.type == "identifier" else text


@pytest.mark.parametrize(
    ("rules", "text"),
    [
        (IN_TEMPLATES, "{{ name|safe }}"),
        (IN_TEMPLATES, '<a onclick="x">'),
        (IN_TEMPLATES, '<i style="x">'),
        (IN_TEMPLATES, '<a hx-get="/x">'),
        (IN_TEMPLATES, """<a {{ 'aria-current="page"' if here }}>"""),
        (IN_TEMPLATES, "<script>"),
        (IN_SCRIPTS, "a.innerHTML = b"),
        (IN_SCRIPTS, "eval(a)"),
    ],
)
def test_a_breach_would_be_found(rules: dict[str, str], text: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text(text)
    assert found(rules, path) != []


def test_comments_of_scripts_are_not_served() -> None:
    served = b"\n".join(static_files()[name] for name in ("keys.js", "tree.js"))
    assert b"// a tree of at most" not in served
    assert b'"< >","Previous, next page"' in served  # what is quoted is as it was
