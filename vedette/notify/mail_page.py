"""Subject and HTML of a mail, from templates that an operator may replace.

A template is text with `$NAME` for a fact (docs/notifications.md#mail-templates). In HTML every
fact is escaped in any template, except parts that other templates produced.
"""

import html
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from string import Template
from typing import Final

from vedette.limits import TEMPLATE_BYTES_MAX, Limit
from vedette.notify.delivery import TargetError

MAIL_SUBJECT_CHARS_MAX: Limit[int] = 150
"""Characters of a subject before the digest's suffix; mail programs truncate longer ones."""


TEMPLATES: Final = "templates"
"""Folder in the data directory with the operator's templates."""

_FOLDER: Final = Path(__file__).parent / "templates"

Facts = Sequence[tuple[str, str]]
"""(label, text) pairs."""


class MailPage:
    """Fills in the templates; those of `folder` take precedence."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def subject(self, values: Mapping[str, str]) -> str:
        """Returns the subject, in one line. Raises TargetError for a template that cannot be filled
        in."""
        text = one_line(self._filled("mail_subject.txt", values)).strip()
        return text[:MAIL_SUBJECT_CHARS_MAX]

    def page(self, title: str, sections: Sequence[str]) -> str:
        """Returns the whole document. `sections` are HTML. Raises TargetError."""
        parts = {"title": html.escape(title), "sections": "\n".join(sections)}
        return self._filled("mail.html", parts)

    def section(self, values: Mapping[str, str], rows: Facts, link: str) -> str:
        """Returns the HTML of one detection. Raises TargetError."""
        parts = {name: html.escape(one_line(text)) for name, text in values.items()}
        parts["rows"] = "".join(
            self._filled(
                "mail_row.html",
                {"label": html.escape(one_line(label)), "text": html.escape(one_line(text))},
            )
            for label, text in rows
        )
        parts["link"] = f'<p><a href="{html.escape(link)}">Open alert</a></p>' if link else ""
        return self._filled("mail_section.html", parts)

    def _filled(self, name: str, values: Mapping[str, str]) -> str:
        try:
            return self._template(name).substitute(values)
        except KeyError as error:
            raise TargetError(f"{name}: unknown placeholder {error}") from None
        except ValueError as error:
            raise TargetError(f"{name}: {error}") from None

    def _template(self, name: str) -> Template:
        own = self._folder / name if self._folder is not None else None
        if own is None or not own.is_file():
            return _built_in(name)
        try:
            data = own.read_bytes()
            if len(data) > TEMPLATE_BYTES_MAX:
                raise TargetError(f"{name}: more than {TEMPLATE_BYTES_MAX} bytes")
            return Template(data.decode())
        except (OSError, UnicodeDecodeError) as error:
            raise TargetError(f"{name}: {error}") from None


def one_line(text: str) -> str:
    """Replaces characters that affect the display of other text (line ends, controls, text
    direction)."""
    return "".join(one if one.isprintable() else " " for one in text)


@cache
def _built_in(name: str) -> Template:
    return Template((_FOLDER / name).read_text("utf-8"))
