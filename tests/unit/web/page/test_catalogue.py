"""Messages, their translations, and how both stand in templates and scripts."""

import pytest
from jinja2 import Environment

from vedette.web.page import catalogue
from vedette.web.page.language import preferred
from vedette.web.page.script_text import with_text
from vedette.web.page.template_text import TemplateText

GERMAN = {
    "Skip to content": "Zum Inhalt",
    "{1} of {2} hosts": "von {2} Hosts {1}",
    "Close": 'Zu "sehr" <zu>',
    "Undo": "Rück`gängig ${x}",
    "Searching for {1} s": "Seit {1} s",
    "{1} changed": "geändert: {1}",
    "one": "eins",
}


def german(text: str) -> str:
    return GERMAN.get(text, text)


def rendered(source: str, **values: object) -> str:
    environment = Environment(autoescape=True, extensions=[TemplateText])
    environment.translate = german  # type: ignore[attr-defined]
    return environment.from_string(source).render(**values)


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("<a>\n  Skip to\n content </a>", "<a>\n  Zum Inhalt </a>"),
        ("<b>{{ n }} of {{ m }} hosts</b>", "<b>von 9 Hosts &lt;1&gt;</b>"),
        ('<i aria-label="Close">x</i>', '<i aria-label="Zu &quot;sehr&quot; &lt;zu&gt;">x</i>'),
        ('<i class="Close" data-x="Close"></i>', '<i class="Close" data-x="Close"></i>'),
        ("<code>Close</code>", "<code>Close</code>"),
        ("<textarea>Close</textarea>", "<textarea>Close</textarea>"),
        ("{% if n %}Close{% endif %}", "Zu &quot;sehr&quot; &lt;zu&gt;"),
        ('<a {% if n %}title="Skip to content"{% endif %}>', '<a title="Zum Inhalt">'),
        ('{"ids": [{{ m }}]}', '{"ids": [9]}'),
    ],
)
def test_text_and_read_attributes_are_translated_and_nothing_else(source: str, shown: str) -> None:
    assert rendered(source, n="<1>", m=9) == shown


def test_a_translation_is_text_and_no_template() -> None:
    GERMAN["Run"] = "{{ n }} {% raw %}"
    assert rendered("<b>Run</b>", n=1) == "<b>{{ n }} {% raw %}</b>"


@pytest.mark.parametrize(
    ("script", "served"),
    [
        ('say(_("Close"));', 'say("Zu \\"sehr\\" <zu>");'),
        ('say(_("Undo"));', 'say("Rück`gängig ${x}");'),
        ("say(_`Undo`);", "say(`Rück\\`gängig \\${x}`);"),
        ("say(_`Searching for ${f({ a: `}` })} s`);", "say(`Seit ${f({ a: `}` })} s`);"),
        ('say(_`${many(n, _("one"))} changed`);', 'say(`geändert: ${many(n, "eins")}`);'),
        ("`${_`${n} changed`}${a ? `: ${b}` : ''}`", "`${`geändert: ${n}`}${a ? `: ${b}` : ''}`"),
        ('map((_, at) => at); x_("a"); a._("b")', 'map((_, at) => at); x_("a"); a._("b")'),
    ],
)
def test_marks_of_scripts_give_way_to_translations(script: str, served: str) -> None:
    assert with_text(script, german) == served


def test_a_catalogue_is_read_as_gettext_writes_it() -> None:
    header = 'msgid ""\nmsgstr "Language: de\\n"\n\n'
    text = header + '#: a b\nmsgid ""\n"Go "\n"\\"on\\""\nmsgstr "Weiter"\n'
    untranslated = '\nmsgid "Stop"\nmsgstr ""\n'
    assert dict(catalogue.entries(text + untranslated)) == {'Go "on"': "Weiter"}


def test_values_stand_where_the_language_has_them() -> None:
    assert catalogue.translate("de", "{1} to {2}", "<a>", "b") == "<a> bis b"
    assert catalogue.translate("en", "{1} to {2}", "{2}", "b") == "{2} to b"
    assert catalogue.translate("de", "not in it") == "not in it"


@pytest.mark.parametrize(
    ("wish", "language"),
    [
        ("", "en"),
        ("de", "de"),
        ("de-AT,de;q=0.9,en;q=0.8", "de"),
        ("fr,en;q=0.5,de;q=0.7", "de"),
        ("en-US,de", "en"),
        ("de;q=0", "en"),
        ("de;q=x, ;;,=", "en"),
        ("x," * 10_000 + "de", "en"),
    ],
)
def test_the_best_known_language_of_a_browser_is_taken(wish: str, language: str) -> None:
    assert preferred(wish) == language
