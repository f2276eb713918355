"""Differences between texts, computed within the time limit."""

import time

from vedette.web.page.text_changes import DIFF_LINES_MAX, differences


def test_lines_that_differ_are_named_with_what_is_around_them() -> None:
    before = "title: a\nlevel: low\nid: 1\n"
    assert differences(before, before.replace("low", "high")) == [
        ("place", "@@ -1,3 +1,3 @@"),
        ("same", "title: a"),
        ("removed", "level: low"),
        ("added", "level: high"),
        ("same", "id: 1"),
    ]
    assert differences(before, before) == []


def test_a_line_that_looks_like_a_mark_is_text() -> None:
    assert differences("--- a\n", "+++ b\n") == [
        ("place", "@@ -1 +1 @@"),
        ("removed", "--- a"),
        ("added", "+++ b"),
    ]


def test_texts_that_are_made_to_be_slow_take_no_long_time() -> None:
    """Lines that often recur, each of them below what the comparison leaves out as too common."""
    half = DIFF_LINES_MAX // 2
    before = "\n".join(f"{(at * 7) % 101}" for at in range(half))
    after = "\n".join(f"{(at * 13) % 101}" for at in range(half))
    began = time.process_time()
    assert differences(before, after)
    assert time.process_time() - began < 5
    assert differences(before + "\nx", after) is None
