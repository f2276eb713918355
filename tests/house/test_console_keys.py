"""Keys of the console, as templates and scripts declare them: what orders or changes something by a
key does that on every page or does nothing there."""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from vedette.web.page import web_files
from vedette.web.page.order_keys import ORDER_KEYS
from vedette.web.page.web_files import WEB

TEMPLATES = list(web_files.templates().values())
SCRIPTS = list(web_files.scripts().values())
_FILLED = r"\{\{.*?\}\}|\{%.*?%\}"
_TAG = re.compile(
    rf"<(?:button|a|input|form|textarea)\b"
    rf"(?:{_FILLED}|\"(?:{_FILLED}|[^\"])*\"|'(?:{_FILLED}|[^'])*'|[^<>\"'])*>",
    re.S,
)
_BIND = re.compile(r"bind\(\"([^\"]+)\", (?:_\(\"([^\"]*)\"\)|\"\")")
_HOST = re.compile(r"data-call=\"[A-Z]+ /(?:api/v1/sensor|sus/v2/orgs/[^\"]*/jobs)")

MEANINGS = {
    "u": {"Ignore the report, or stop ignoring it"},
    "e": {
        "Enable or disable the selected row",
        "Enable or disable",
        "Enable or disable the address restriction",
        "Unban",
        "Unban or ban again",
    },
    "m": {"Unmount or mount the selected partition", "Mount the data"},
    "Y": {"Sync now"},
    "Q": {"Send a test message to the selected target"},
    "D": {
        "Delete the selected partition",
        "Delete watchlist",
        "Delete the selected watchlist",
        "Revoke the selected token",
        "Cancel job",
    },
    "n": {"New filter", "Ban hashes", "Add feed", "Add rules", "New", "New partition"},
    "b": {"Ban the program", "Ban hash", "Ban"},
    "N": {"Note", "Add note", "Edit reason"},
    "E": {"Set expiration", "Set expiration of the selected row"},
    "I": {"Ignore all matches"},
    "T": {"Backtest on stored data"},
    "S": {"Resolve the group and suppress similar alerts", "Saved and recent searches"},
    "s": {"Save search"},
    "r": {"Resolve"},
    "f": {"False positive"},
    "p": {"Assign to me, in progress"},
    "q": {"Reopen"},
    "a": {"Assign"},
    "K": {"Columns"},
    "O": {"Choose and order facets"},
}
"""Key → the labels of what it changes, or opens a dialog to change; each key has one meaning."""
AT_ONCE = ("u", "e", "m", "Y", "Q")
"""Keys that change something without a dialog. They are nothing else anywhere: a reader who presses
one by habit on another page changes nothing there."""


@dataclass(frozen=True)
class Bound:
    """A key of an element or of a script."""

    key: str
    label: str
    place: str
    is_change: bool
    is_at_once: bool


def tags() -> Iterator[tuple[Path, str]]:
    for path in TEMPLATES:
        for tag in _TAG.findall(path.read_text()):
            yield path, tag


def attribute(tag: str, name: str) -> str:
    found = re.search(rf"\b{name}=\"((?:\{{\{{.*?\}}\}}|[^\"])*)\"", tag)
    return found.group(1) if found else ""


def bound() -> Iterator[Bound]:
    for path, tag in tags():
        key = attribute(tag, "data-key")
        if not key:
            continue
        is_change = re.search(r"data-(?:call|dialog|triage|deed)=", tag) is not None
        is_at_once = "data-call=" in tag
        label = attribute(tag, "data-key-label")
        yield Bound(key, label, path.name, is_change, is_at_once)
    for path in SCRIPTS:
        for key, label in _BIND.findall(path.read_text()):
            yield Bound(key, label, path.name, is_change=False, is_at_once=False)


KEYS = list(bound())


def test_keys_are_found() -> None:
    assert len(KEYS) > 100
    assert sum(one.is_at_once for one in KEYS) >= 10


def test_each_order_to_a_host_has_a_key_of_its_own() -> None:
    assert len(set(ORDER_KEYS.values())) == len(ORDER_KEYS)
    written = re.findall(r"order_keys\.(\w+)", "".join(path.read_text() for path in TEMPLATES))
    assert set(written) == set(ORDER_KEYS)


def test_a_key_of_an_order_is_nothing_else_on_any_page() -> None:
    """Only `order_keys` writes it."""
    assert [one for one in KEYS if one.key in ORDER_KEYS.values()] == []
    macros = "".join(path.read_text() for path in TEMPLATES)
    literal = set(re.findall(r"deed\(\"\w+\", \"(\w)\"", macros))
    literal |= set(re.findall(r"\(\"\w+\", \"(\w)\", _\(", macros))
    assert literal & set(ORDER_KEYS.values()) == set()


def test_no_order_to_a_host_goes_without_a_dialog_and_a_reason() -> None:
    at_once = [
        (path.name, tag) for path, tag in tags() if tag.startswith("<button") and _HOST.search(tag)
    ]
    assert at_once == []
    forms = []
    for path in TEMPLATES:
        for form in re.findall(r"<form\b.*?</form>", path.read_text(), re.S):
            if not _HOST.search(form.split("\n")[0]):
                continue
            reasons = re.findall(r"<input name=\"(?:isolation_)?reason\"[^>]*>", form)
            is_note = 'name="notes"' in form
            forms.append((path.name, bool(reasons and " required" in reasons[0]) or is_note))
    assert len(forms) >= 7
    assert [name for name, is_good in forms if not is_good] == []


def test_a_key_that_changes_something_at_once_is_nothing_else() -> None:
    others = defaultdict(set)
    for one in KEYS:
        if one.key in AT_ONCE and one.label not in MEANINGS[one.key]:
            others[one.key].add((one.place, one.label))
    focus_bound = {("facets.js", "Show all values of the focused facet")}
    assert {key: found - focus_bound for key, found in others.items() if found - focus_bound} == {}
    assert {one.key for one in KEYS if one.is_at_once} <= set(AT_ONCE)


def test_a_key_changes_one_thing_only() -> None:
    written = {
        (one.key, one.label, one.place) for one in KEYS if one.is_change and "{{" not in one.key
    }
    assert [one for one in sorted(written) if one[1] not in MEANINGS.get(one[0], ())] == []


@pytest.mark.parametrize("key", ORDER_KEYS.values())
def test_the_docs_name_the_key_of_each_order(key: str) -> None:
    text = (WEB.parents[1] / "docs" / "console-hosts.md").read_text()
    assert f"`{key}`" in text
