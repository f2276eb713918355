"""Hashes as senders write them."""

import pytest

from vedette.ingest.hashes import NO_HASHES, Hashes, hashes_of

_MD5, _SHA1, _SHA256 = "A" * 32, "B" * 40, "C" * 64


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"SHA1={_SHA1},MD5={_MD5},SHA256={_SHA256},IMPHASH={'0' * 32}",
            Hashes(md5="a" * 32, sha1="b" * 40, sha256="c" * 64),
        ),
        (f"MD5={_MD5}, IMPHASH={_MD5}", Hashes(md5="a" * 32, imphash="a" * 32)),
        (f"SHA1={_SHA1}", Hashes(sha1="b" * 40)),
        (_SHA256, Hashes(sha256="c" * 64)),
        (_MD5, Hashes(md5="a" * 32)),
        ("-", NO_HASHES),
        ("", NO_HASHES),
        ("Unknown", NO_HASHES),
        ("MD5=xyz,SHA256=", NO_HASHES),
        (f"MD5={'G' * 32}", NO_HASHES),
    ],
)
def test_hashes_are_lower_case_hex_or_unknown(text: str, expected: Hashes) -> None:
    assert hashes_of(text) == expected
