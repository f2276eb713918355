"""Continuation tokens: what comes out goes in, and nothing else does."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.errors import BadRequestError
from vedette.search.tree.cursor import Cursor
from vedette.web.processes.analysis.tree_token import cursor_of, token_of

ROOT = "00000001-0000-0e48-01d2-c2a397f4cfe0"
OTHER = "00000001-0000-0e48-01d2-c2a397f4cfe1"


@given(st.integers(1, 64), st.integers(0, 2**62), st.integers(0, 2**48 - 1))
def test_a_token_comes_back_as_its_cursor(depth: int, began_us: int, tail: int) -> None:
    cursor = Cursor(depth, began_us, f"{ROOT[:24]}{tail:012x}")
    token = token_of(cursor, ROOT, 64)
    assert cursor_of(token, ROOT, 64) == cursor
    assert token.replace("-", "").replace("_", "").isalnum()


def encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "token",
    [
        "x",
        "%%%%",
        "é",
        "A" * 501,
        encoded("not json"),
        encoded("{}"),
        encoded("[1]"),
        encoded(f'[2,"{ROOT}",8,1,1,"{OTHER}"]'),
        encoded(f'[1,"{ROOT}",8,9,1,"{OTHER}"]'),
        encoded(f'[1,"{ROOT}",8,0,1,"{OTHER}"]'),
        encoded(f'[1,"{ROOT}",8,1,-1,"{OTHER}"]'),
        encoded(f'[1,"{ROOT}",8,1,1.5,"{OTHER}"]'),
        encoded(f'[1,"{ROOT}",8,1,{1 << 63},"{OTHER}"]'),
        encoded(f'[1,"{ROOT}",8,1,1,"x"]'),
        encoded(f'[1,"{OTHER}",8,1,1,"{OTHER}"]'),
        encoded(f'[1,"{ROOT}",7,1,1,"{OTHER}"]'),
    ],
)
def test_anything_else_is_refused_by_name(token: str) -> None:
    with pytest.raises(BadRequestError, match="continue"):
        cursor_of(token, ROOT, 8)


@given(st.text(max_size=60))
def test_no_text_breaks_the_reader(token: str) -> None:
    with pytest.raises(BadRequestError, match="continue"):
        cursor_of(token, ROOT, 8)
