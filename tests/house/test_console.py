"""Rules that keep data from becoming markup or script in the pages."""

import hashlib
import json
import re
import subprocess
from pathlib import Path

import pytest
from playwright._impl._driver import compute_driver_executable

from tests.support.page_budget import SCRIPTS_GZIP_BYTES_MAX
from vedette.web.http.static_file import StaticFile
from vedette.web.page import web_files
from vedette.web.page.catalogue import LANGUAGES, PSEUDO
from vedette.web.page.static_files import static_files
from vedette.web.page.web_files import STATIC, WEB

ROOT = Path(__file__).parents[2]
VENDOR = STATIC / "vendor"
TEMPLATES = list(web_files.templates().values())
SCRIPTS = list(web_files.scripts().values())
STYLES = sorted(STATIC.glob("*.css"))
MODULES = [*sorted((WEB / "page").rglob("*.py")), *sorted(WEB.glob("*/*screen.py"))]
PARSE = """
const { SourceTextModule } = require("node:vm");
const scripts = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
console.log(scripts.map((script) => new SourceTextModule(script)).length);
"""
"""Parses modules without running them, and prints how many."""

LINE_CHARS_MAX = 120
"""Characters of a line of templates and styles, as of Markdown: reviews cut longer lines."""

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


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(WEB)))
def test_a_template_writes_no_live_markup(path: Path) -> None:
    assert found(IN_TEMPLATES, path) == []


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_a_script_makes_elements_and_no_markup(path: Path) -> None:
    assert found(IN_SCRIPTS, path) == []


@pytest.mark.parametrize("path", [*TEMPLATES, *STYLES], ids=lambda path: str(path.relative_to(WEB)))
def test_a_line_of_markup_fits_a_review(path: Path) -> None:
    assert long_lines(path) == []


def long_lines(path: Path) -> list[int]:
    """Numbers of the lines that are too long."""
    lines = path.read_text().splitlines()
    return [number for number, line in enumerate(lines, 1) if len(line) > LINE_CHARS_MAX]


def test_a_long_line_would_be_found(tmp_path: Path) -> None:
    path = tmp_path / "x.html"
    path.write_text(f"{'ü' * LINE_CHARS_MAX}\n{'b' * (LINE_CHARS_MAX + 1)}\n")
    assert long_lines(path) == [2]


def test_a_fragment_holds_no_script() -> None:
    texts = {path: path.read_text() for path in TEMPLATES}
    pages = {
        path for path, text in texts.items() if re.search(r"^(?:\{% extends|<!doctype)", text, re.M)
    }
    assert [path for path in texts if path not in pages and "<script" in texts[path]] == []


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


def scripts(language: str) -> dict[str, StaticFile]:
    return {name: file for name, file in static_files(language).items() if name.endswith(".js")}


@pytest.mark.parametrize("language", LANGUAGES)
def test_scripts_stay_small(language: str) -> None:
    sent = [file.compressed or file.content for file in scripts(language).values()]
    assert sum(map(len, sent)) <= SCRIPTS_GZIP_BYTES_MAX


@pytest.mark.parametrize("language", [*LANGUAGES, PSEUDO])
def test_a_script_in_each_language_is_a_script(language: str) -> None:
    served = [file.content.decode() for name, file in scripts(language).items() if "/" not in name]
    node, _ = compute_driver_executable()
    checked = subprocess.run(
        [node, "--no-warnings", "--experimental-vm-modules", "-e", PARSE],
        input=json.dumps(served),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (checked.returncode, checked.stderr) == (0, "")
    assert int(checked.stdout) == len(SCRIPTS)


def test_a_script_without_texts_is_served_as_it_is_written() -> None:
    written = {path.name: path.read_bytes() for path in SCRIPTS}
    same = [name for name, script in written.items() if not re.search(rb"\b_[(`]", script)]
    assert {"dom.js", "map.js"} <= set(same)
    assert [name for name in same if static_files()[name].content != written[name]] == []


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
