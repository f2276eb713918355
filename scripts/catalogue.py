"""`python -m scripts.catalogue`: brings the catalogues of the console up to date with its texts.

Translations stay; messages that nobody says any more go; new ones come with an empty translation,
which `make check` refuses until somebody fills it in.
"""

import json
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from jinja2 import Environment, nodes

from vedette.console import catalogue, html, navigation, rule_facets, severity, time_range
from vedette.console.catalogue import LANGUAGES, is_text
from vedette.console.group_options import SECTIONS
from vedette.console.screens import (
    accounts,
    alerts,
    binaries,
    data,
    identity_sign_in,
    process_search,
    reports,
    sensors,
)
from vedette.console.script_text import with_text
from vedette.console.template_text import TemplateText
from vedette.model.findings.alert import STATUSES
from vedette.model.group import BINARY_ORDERS
from vedette.model.principal import ROLE_NAMES

CONSOLE: Final = Path(catalogue.__file__).parent
HEADER: Final = (
    'msgid ""\nmsgstr ""\n"Project-Id-Version: Vedette\\n"\n"Language: {}\\n"\n'
    '"MIME-Version: 1.0\\n"\n"Content-Type: text/plain; charset=UTF-8\\n"\n'
    '"Content-Transfer-Encoding: 8bit\\n"\n'
)

Messages = dict[str, list[str]]
"""The files that say a message, by message."""


def messages() -> Messages:
    """All texts of the console, in the order of the files."""
    found: Messages = {}
    for path in sorted((CONSOLE / "templates").rglob("*.html")):
        for text in of_template(path.read_text()):
            found.setdefault(text, []).append(path.relative_to(CONSOLE).as_posix())
    for path in sorted((CONSOLE / "static").glob("*.js")):
        for text in of_script(path.read_text()):
            found.setdefault(text, []).append(path.relative_to(CONSOLE).as_posix())
    for source, texts in named().items():
        for text in texts:
            if is_text(text):
                found.setdefault(text, []).append(source)
    return found


def of_template(source: str) -> list[str]:
    """What one template says: its text, and what it gives to `_()`."""
    said: list[str] = []
    environment = Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.do", TemplateText],
    )
    environment.translate = partial(_note, said)  # type: ignore[attr-defined]
    tree = environment.parse(source)
    for one in tree.find_all(nodes.Call):
        if isinstance(one.node, nodes.Name) and one.node.name == "_":
            said += _literals(one.args[0])
    return said


def of_script(source: str) -> list[str]:
    said: list[str] = []
    with_text(source, partial(_note, said))
    return [text for text in said if is_text(text)]


def named() -> Mapping[str, list[str]]:
    """What Python says and templates translate, by the module."""
    options = [one for section in SECTIONS.values() for one in section]
    entries = navigation.ENTRIES
    return {
        "navigation.py": [*(one.section for one in entries), *(one.label for one in entries)],
        "html.py": [html.MORE, *html.WHO.values()],
        "severity.py": list(severity.LEVELS),
        "time_range.py": [
            "all time",
            "{1} to {2}",
            *time_range.LAST_ONE.values(),
            time_range.SINCE,
            *time_range.LAST.values(),
        ],
        "group_options.py": [
            *SECTIONS,
            *(one.heading for one in options),
            *(one.meaning for one in options if one.meaning),
        ],
        "screens/process_search.py": [
            *(heading for heading, _ in process_search.FACETS.values()),
            *(label for _, _, label in process_search.COUNTS),
            *process_search.WEEKDAYS,
            *(one.replace("_", " ") for one in process_search.TIME_FIELDS),
        ],
        "screens/alerts.py": [*alerts.GROUPS, *STATUSES, "assigned to"],
        "screens/binaries.py": [heading for heading, _ in binaries.FACETS.values()],
        "rule_facets.py": list(rule_facets.FACETS.values()),
        "screens/reports.py": list(reports.SORTS),
        "screens/sigma.py": [
            *("in force", "pending", "disabled", "stopped", "unsupported", "informational")
        ],
        "screens/groups.py": list(BINARY_ORDERS),
        "screens/data.py": ["hot", "warm", "cold"],
        "screens/jobs.py": ["created", "pending", "in progress", "completed", "cancelled"],
        "screens/sensors.py": [
            *("Online", "Offline", "Uninstalled", "Uninstall Pending"),
            *(*sensors.PHASES, *sensors.WHY_NO_ORDERS),
        ],
        "screens/identity_sign_in.py": [*identity_sign_in.WORDS.values(), identity_sign_in.FAILED],
        "screens/accounts.py": [
            *(one.capitalize() for one in (*accounts.TABS, *data.TABS)),
            *(f"New {one[:-1]}" for one in accounts.TABS),
            *ROLE_NAMES.values(),
        ],
        "fragments": ["never seen", "suppressed", "unmounted", "expired", "not permitted"],
    }


def text_of(language: str, found: Messages, known: Mapping[str, str]) -> str:
    """A catalogue's text."""
    blocks = [HEADER.format(language)]
    for text, places in found.items():
        where = " ".join(dict.fromkeys(places))
        blocks.append(f"#: {where}\nmsgid {_quoted(text)}\nmsgstr {_quoted(known.get(text, ''))}\n")
    return "\n".join(blocks)


def main() -> None:
    found = messages()
    for language in LANGUAGES:
        if language == catalogue.ENGLISH:
            continue
        path = CONSOLE / "translations" / f"{language}.po"
        known = dict(catalogue.entries(path.read_text())) if path.exists() else {}
        path.write_text(text_of(language, found, known))
        print(f"{path.name}: {len(found)} messages, {len(set(found) - set(known))} to translate")


def _note(said: list[str], text: str) -> str:
    said.append(text)
    return text


def _literals(expression: nodes.Expr) -> Iterator[str]:
    if isinstance(expression, nodes.Const):
        yield str(expression.value)
    elif isinstance(expression, nodes.CondExpr) and expression.expr2 is not None:
        yield from _literals(expression.expr1)
        yield from _literals(expression.expr2)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


if __name__ == "__main__":
    main()
