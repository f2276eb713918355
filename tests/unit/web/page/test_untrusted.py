"""Text from telemetry, as pages show it; `tests/browser` holds the twin in JavaScript to the same
corpus."""

import json
from pathlib import Path
from typing import Any

import pytest

from vedette.web.page.html import SHOWN_VALUE_CHARS_MAX, marked, untrusted
from vedette.web.page.untrusted import SHOWN_HEAD_CHARS, SHOWN_TAIL_CHARS, mixes_scripts, parts

CORPUS = json.loads((Path(__file__).parents[3] / "corpus" / "untrusted.json").read_text())


@pytest.mark.parametrize("case", CORPUS, ids=lambda case: repr(case["text"]))
def test_a_hidden_character_is_named_and_nothing_is_dropped(case: dict[str, Any]) -> None:
    assert [list(part) for part in parts(case["text"])] == case["parts"]
    assert mixes_scripts(case["text"]) is case["mixed"]


def test_a_lone_surrogate_is_named() -> None:
    assert list(parts("a\udc80")) == [(False, "a"), (True, "U+DC80")]


def test_markup_is_text() -> None:
    shown = str(untrusted("<b onclick='x'>&amp;</b>"))
    assert "&lt;b onclick=&#39;x&#39;&gt;&amp;amp;&lt;/b&gt;" in shown


def test_a_long_value_keeps_its_end_and_its_title_has_the_middle() -> None:
    text = "C:\\" + "x" * 5_000 + "\\evil.exe"
    shown = str(untrusted(text, short=True))
    assert "evil.exe</bdi>" in shown
    assert f'title="{text[:SHOWN_VALUE_CHARS_MAX]}"' in shown
    short = "y" * (SHOWN_HEAD_CHARS + SHOWN_TAIL_CHARS)
    assert "title" not in str(untrusted(short, short=True))


def test_marks_surround_text_only() -> None:
    assert "&lt;<mark>img</mark>&gt;" in str(marked("<img>", [(1, 4)]))
    assert '<mark><span class="box">U+202E</span></mark>' in str(marked("a\u202e", [(1, 2)]))
