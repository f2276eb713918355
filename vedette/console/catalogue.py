"""Words of the console in other languages.

`translations/LANGUAGE.po` is a catalogue in gettext's format, which every editor of translations
reads; a message is the English text. `template_text.py` and `script_text.py` find the messages of
templates and scripts and put the translations in their places when a template is compiled or a
script is served, so nothing is looked up while a page is made.

Placeholders are `{1}`, `{2}`, …: values of the page, in the order of the English text. A
translation may have them in another order.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Final

ENGLISH: Final = "en"
PSEUDO: Final = "qps-ploc"
"""English in brackets, with accents and longer by two fifths: what is not in brackets on a page has
missed the catalogue."""

LANGUAGES: Final[Mapping[str, str]] = {ENGLISH: "English", "de": "Deutsch"}
"""Those that readers may choose, by their own names."""

PLACEHOLDER: Final = re.compile(r"\{(\d)\}")
_WORDS: Final = re.compile(r"[^\W\d_]{2}")
_ACCENTS: Final = str.maketrans("aeiouAEIOU", "áéíóúÁÉÍÓÚ")
_LINE: Final = re.compile(r'(?:(msgctxt|msgid|msgstr) )?(".*")')


def is_text(text: str) -> bool:
    """Whether there is anything to translate: placeholders, marks and JSON are none."""
    return not text.startswith('{"') and bool(_WORDS.search(PLACEHOLDER.sub("", text)))


def translate(language: str, text: str, *values: object) -> str:
    """A message in a language, English where its catalogue has none; with its values."""
    found = _pseudo(text) if language == PSEUDO else catalogue(language).get(text, text)
    return PLACEHOLDER.sub(lambda at: str(values[int(at[1]) - 1]), found) if values else found


@cache
def catalogue(language: str) -> Mapping[str, str]:
    """Translations by English text; empty for English itself."""
    place = files("vedette.console") / "translations" / f"{language}.po"
    return dict(entries(place.read_text("utf-8"))) if place.is_file() else {}


def entries(text: str) -> Iterator[tuple[str, str]]:
    """Messages and translations of a catalogue's text, without its header and those that nobody has
    translated. Plural forms are messages of their own here."""
    for block in re.split(r"\n\s*\n", text):
        parts = {"msgid": "", "msgstr": ""}
        name = ""
        for line in block.splitlines():
            if found := _LINE.fullmatch(line.strip()):
                name = found[1] or name
                parts[name] += ast.literal_eval(found[2])
        if parts["msgid"] and parts["msgstr"]:
            yield parts["msgid"], parts["msgstr"]


def _pseudo(text: str) -> str:
    """Longer by two fifths, with accents, in brackets."""
    if not is_text(text):
        return text
    return f"[{text.translate(_ACCENTS)}{' ~' * (len(text) // 5)}]"
