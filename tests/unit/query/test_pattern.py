r"""Patterns of words are searched as if their classes were `\p{L}` and `\p{N}`, and cost little."""

import random
from itertools import product

import re2

from tests.support.forms import in_form
from vedette.model.binary_fields import BINARY
from vedette.query import parse
from vedette.query.highlight import markers
from vedette.query.pattern import GAP, LETTER, compile_pattern

CHARACTERS = (
    "aB9_ .-\x00\x7f\u00a0é߀\u0301\u2019\u3000中\u0660Ⅷ😀\ud7ff\ue000\uffff\U0010ffffﬀİ\u212a"
)
PROGRAM_SIZE_MAX = 2_000
"""Maximum program size of a pattern of 100 words. With classes of all letters it would be 109,000,
which takes 50 ms."""


def test_words_are_found_as_with_classes_of_all_letters() -> None:
    bodies = ["a", "b9", f"a{LETTER}*", f"{LETTER}b", f"a{GAP}+b", f"é{LETTER}+", f"{LETTER}", "中"]
    patterns = [f"(?is)(?:^|{GAP})({body})(?:$|{GAP})" for body in bodies]
    drawn = random.Random(4)
    texts = ["".join(one) for one in product(CHARACTERS, repeat=2)]
    texts += [
        "".join(drawn.choices(CHARACTERS, k=drawn.randint(3, 12)))
        for _ in range(in_form(2_000, 50_000))
    ]
    for pattern in patterns:
        plain, compiled = re2.compile(pattern), compile_pattern(pattern)
        assert compiled.has_words
        for text in texts:
            encoded = text.encode()
            found = compiled.regex.search(compiled.text(encoded))
            expected = plain.search(encoded)
            assert (found and found.span(1)) == (expected and expected.span(1)), (pattern, text)
            assert compiled.is_in(text) is (expected is not None)


def test_a_text_keeps_its_length_and_its_letters() -> None:
    compiled = compile_pattern(f"({LETTER}+)")
    encoded = "é\u3000中–x\ud800".encode("utf-8", "surrogatepass")
    assert len(compiled.text(encoded)) == len(encoded)
    assert compiled.text(b"a-b") == b"a-b"
    assert compile_pattern("(a)").text(encoded) == encoded  # only where words are searched


def test_a_query_of_many_words_compiles_to_small_programs() -> None:
    found = markers(
        parse('file_desc:"' + " ".join(f"w{number}*" for number in range(40)) + '"', BINARY), BINARY
    )
    assert found
    for marker in found:
        assert compile_pattern(marker.pattern).regex.programsize < PROGRAM_SIZE_MAX
