"""The catalogue has all texts of the console, and each language translates all of them."""

import re
from pathlib import Path

import pytest
from jinja2 import Environment, nodes

from scripts import catalogue as writer
from vedette.web.page import catalogue, web_files
from vedette.web.page.catalogue import ENGLISH, LANGUAGES, PLACEHOLDER
from vedette.web.page.static_files import static_files

TRANSLATIONS = Path(catalogue.__file__).parent / "translations"
TRANSLATED = [one for one in LANGUAGES if one != ENGLISH]
TEMPLATES = list(web_files.templates().values())
SCRIPTS = list(web_files.scripts().values())

SENTENCE = re.compile(r"^[A-Z][a-z]+$|^[A-Z]?[a-z,;]+ [a-z]|[a-z] [a-z]+\.$")
"""Looks like words for people: capitalised, or several in a row."""

NO_WORDS = {
    "load, moved from:document throttle:30s",  # when htmx asks
    "Signed",
    "Online",
    "Linux",
    "Windows, exe",
    "Windows, msi",
    "outerHTML show:top",
    "toggle once",
    "find div",
    "next .values",
}
"""Values of the API and of htmx."""

PLURAL = re.compile(
    r"(?<!of )\{\d\} (alerts|hosts|runs|reports|indicators|rules|queries|entries|parts|sensors"
    r"|groups)\b"
)
"""A count and a word that is wrong of one: the word is a placeholder, which says both."""

SCRIPT_WORDS = re.compile(r"""(?<!_\()(?<![\w(]")["]([A-Z][a-z]+(?: [a-z(,]+)+[^"]*)["]""")
SCRIPT_TEMPLATES = re.compile(r"(?<!_)`((?:[A-Z][a-z]+ |\$\{[^}]*\} )[a-z]{2,}[^`$.]* [^`]*)`")
NO_SCRIPT_WORDS = {"From the alert queue"}
"""Values for the API: the name of a suppression."""


def test_catalogues_are_of_the_texts_that_are_there() -> None:
    """`python -m scripts.catalogue` brings them up to date."""
    found = writer.messages()
    for language in TRANSLATED:
        text = (TRANSLATIONS / f"{language}.po").read_text()
        assert text == writer.text_of(language, found, catalogue.catalogue(language)), language


@pytest.mark.parametrize("language", TRANSLATED)
def test_each_message_is_translated(language: str) -> None:
    assert set(catalogue.catalogue(language)) == set(writer.messages())


@pytest.mark.parametrize("language", TRANSLATED)
def test_a_translation_has_the_values_and_the_edges_of_its_message(language: str) -> None:
    def shape(text: str) -> tuple[list[str], bool, bool]:
        return sorted(PLACEHOLDER.findall(text)), text[:1] == " ", text[-1:] == " "

    known = catalogue.catalogue(language)
    assert [one for one, text in known.items() if shape(one) != shape(text)] == []


def test_words_in_expressions_of_templates_are_given_to_the_catalogue() -> None:
    environment = Environment(autoescape=True, extensions=["jinja2.ext.do"])
    found: list[str] = []
    for path in TEMPLATES:
        tree = environment.parse(path.read_text())
        marked = {
            id(const)
            for call in tree.find_all(nodes.Call)
            if isinstance(call.node, nodes.Name) and call.node.name == "_"
            for argument in call.args
            for const in (argument, *argument.find_all(nodes.Const))
        }
        for const in tree.find_all(nodes.Const):
            words = isinstance(const.value, str) and SENTENCE.search(const.value)
            if words and id(const) not in marked and const.value not in NO_WORDS:
                found.append(f"{path.name}: {const.value}")
    assert found == []


def test_nothing_is_compared_with_a_translation() -> None:
    environment = Environment(autoescape=True, extensions=["jinja2.ext.do"])
    found = [
        path.name
        for path in TEMPLATES
        for compared in environment.parse(path.read_text()).find_all(nodes.Compare)
        for call in compared.find_all(nodes.Call)
        if isinstance(call.node, nodes.Name) and call.node.name == "_"
    ]
    assert found == []


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_words_in_scripts_are_given_to_the_catalogue(path: Path) -> None:
    lines = [line for line in path.read_text().split("\n") if not line.lstrip().startswith("//")]
    text = "\n".join(re.sub(r" // [^\"'`]*$", "", line) for line in lines)
    found = {*SCRIPT_WORDS.findall(text), *SCRIPT_TEMPLATES.findall(text)}
    assert found - NO_SCRIPT_WORDS == set()


def test_served_scripts_have_no_marks() -> None:
    for language in LANGUAGES:
        ours = [name for name in static_files(language) if name.endswith(".js") and "/" not in name]
        marked = [
            one
            for one in ours
            if re.search(rb"(?<![\w$.])_[(`]", static_files(language)[one].content)
        ]
        assert marked == []


def test_a_word_after_a_count_is_right_of_one() -> None:
    said = {"Show all {1} alerts", "All {1} alerts in {2}"}  # of one these say something else
    assert [one for one in writer.messages() if PLURAL.search(one) and one not in said] == []
