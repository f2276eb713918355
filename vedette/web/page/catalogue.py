"""Translations of the console.

`translations/LANGUAGE.po` is a catalog in gettext format, which every translation editor supports.
The English text is the message id. `template_text.py` and `script_text.py` extract the messages of
templates and scripts, and insert the translations when a template is compiled or a script is
loaded, so rendering a page needs no lookup.

Placeholders are `{1}`, `{2}`, …: values of the page, in the order of the English text. A
translation may reorder them.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Final

ENGLISH: Final = "en"
PSEUDO: Final = "qps-ploc"
"""Pseudo-language: English with accents in brackets, longer by two fifths. Text on a page that is
not in brackets is missing from the catalog."""

LANGUAGES: Final[Mapping[str, str]] = {ENGLISH: "English", "de": "Deutsch"}
"""Languages that readers may choose, with their native names."""

PLACEHOLDER: Final = re.compile(r"\{(\d)\}")
_WORDS: Final = re.compile(r"[^\W\d_]{2}")
_ACCENTS: Final = str.maketrans("aeiouAEIOU", "áéíóúÁÉÍÓÚ")
_LINE: Final = re.compile(r'(?:(msgctxt|msgid|msgstr) )?(".*")')


def is_text(text: str) -> bool:
    """Returns whether a text needs translation. Placeholders, symbols and JSON do not."""
    return not text.startswith('{"') and bool(_WORDS.search(PLACEHOLDER.sub("", text)))


def translate(language: str, text: str, *values: object) -> str:
    """Returns a message in a language with its values inserted; English if the catalog has no
    translation."""
    found = _pseudo(text) if language == PSEUDO else catalogue(language).get(text, text)
    return PLACEHOLDER.sub(lambda at: str(values[int(at[1]) - 1]), found) if values else found


@cache
def catalogue(language: str) -> Mapping[str, str]:
    """Maps English texts to translations; empty for English."""
    place = files("vedette.web.page") / "translations" / f"{language}.po"
    return dict(entries(place.read_text("utf-8"))) if place.is_file() else {}


def entries(text: str) -> Iterator[tuple[str, str]]:
    """Yields (message, translation) of a catalog's text, without its header and untranslated
    messages. Plural forms are separate messages here."""
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
    """Converts a text to the pseudo-language."""
    if not is_text(text):
        return text
    return f"[{text.translate(_ACCENTS)}{' ~' * (len(text) // 5)}]"
