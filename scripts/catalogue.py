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

from vedette.model.findings.alert import STATUSES
from vedette.model.group import BINARY_ORDERS
from vedette.model.principal import ROLE_NAMES
from vedette.web.accounts import identity_sign_in_screen
from vedette.web.accounts import screen as accounts_screen
from vedette.web.alerts import screen as alerts_screen
from vedette.web.feeds import threat_reports_screen
from vedette.web.fleet import groups_screen
from vedette.web.fleet import screen as fleet_screen
from vedette.web.logs import screen as logs_screen
from vedette.web.page import catalogue, html, navigation, severity, time_range, web_files
from vedette.web.page.catalogue import LANGUAGES, is_text
from vedette.web.page.group_options import SECTIONS
from vedette.web.page.script_text import with_text
from vedette.web.page.template_text import TemplateText
from vedette.web.page.web_files import WEB
from vedette.web.processes import search_screen
from vedette.web.programs import screen as programs_screen
from vedette.web.rules import rule_facets
from vedette.web.server import data_screen

TRANSLATIONS: Final = Path(catalogue.__file__).parent / "translations"
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
    for path in web_files.templates().values():
        for text in of_template(path.read_text()):
            found.setdefault(text, []).append(path.relative_to(WEB).as_posix())
    for path in web_files.scripts().values():
        for text in of_script(path.read_text()):
            found.setdefault(text, []).append(path.relative_to(WEB).as_posix())
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
        "html.py": [html.MORE, *html.WHO],
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
        "processes/search_screen.py": [
            *(heading for heading, _ in search_screen.FACETS.values()),
            *(label for _, _, label in search_screen.COUNTS),
            *search_screen.WEEKDAYS,
            *(one.replace("_", " ") for one in search_screen.TIME_FIELDS),
        ],
        "alerts/screen.py": [*alerts_screen.GROUP_LABELS.values(), *STATUSES, "assigned to"],
        "logs/screen.py": [heading for heading, _ in logs_screen.FACETS.values()],
        "programs/screen.py": [heading for heading, _ in programs_screen.FACETS.values()],
        "rules/rule_facets.py": list(rule_facets.FACETS.values()),
        "feeds/threat_reports_screen.py": list(threat_reports_screen.SORTS),
        "rules/screen.py": [
            "pending",
            "disabled",
            "stopped",
            "unsupported",
            "informational",
        ],
        "fleet/groups_screen.py": [*BINARY_ORDERS, *groups_screen.NO_INSTALLER],
        "server/data_screen.py": ["hot", "warm", "cold"],
        "fleet/jobs_screen.py": ["created", "pending", "in progress", "completed", "cancelled"],
        "fleet/screen.py": [
            "Online",
            "Offline",
            "Uninstalled",
            "Uninstall Pending",
            *fleet_screen.PHASES,
            *fleet_screen.WHY_NO_ORDERS,
        ],
        "accounts/identity_sign_in_screen.py": [
            *identity_sign_in_screen.WORDS.values(),
            identity_sign_in_screen.FAILED,
        ],
        "accounts/screen.py": [
            *(one.capitalize() for one in (*accounts_screen.TABS, *data_screen.TABS)),
            *(f"New {one[:-1]}" for one in accounts_screen.TABS),
            *ROLE_NAMES.values(),
        ],
        "page/fragments": ["never seen", "suppressed", "unmounted", "expired", "not permitted"],
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
        path = TRANSLATIONS / f"{language}.po"
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
