"""Markup that is a value of a message stays markup, and nothing else becomes markup."""

from functools import partial

from markupsafe import Markup

from vedette.web.page.catalogue import PSEUDO, translate
from vedette.web.page.html import message, untrusted

ENGLISH = partial(translate, "en")


def test_markup_in_a_message_is_not_escaped() -> None:
    assert message(ENGLISH, "No access: {1}", untrusted("a")) == Markup(
        'No access: <bdi dir="ltr">a</bdi>'
    )


def test_all_other_text_of_such_a_message_is_escaped() -> None:
    shown = message(ENGLISH, "<b> {1} {2}", untrusted("x<i>"), "y<i>")

    assert isinstance(shown, Markup)
    assert "<i>" not in shown
    assert shown.startswith("&lt;b&gt; ")
    assert shown.endswith(" y&lt;i&gt;")


def test_a_message_of_plain_text_is_no_markup() -> None:
    shown = message(partial(translate, PSEUDO), "{2} of {1}", "<b>", 3)

    assert not isinstance(shown, Markup)
    assert "3" in shown
    assert "<b>" in shown
