"""Decompression is bounded and says what is wrong."""

import gzip
import zlib
from collections.abc import Callable

import pytest
import zstandard

from vedette.errors import BadRequestError, CallerError, TooLargeError
from vedette.ingest.framing.inflate import INFLATE_STEP_BYTES, check_inflated_size, inflate

TEXT = b'{"a":1}\n' * 1_000
GZIP = gzip.compress(TEXT, mtime=0)
ZSTD = zstandard.ZstdCompressor().compress(TEXT)


@pytest.mark.parametrize(
    ("body", "encoding", "wanted"),
    [
        (TEXT, "", TEXT),
        (TEXT, "identity", TEXT),
        (GZIP, "gzip", TEXT),
        (GZIP, " GZip", TEXT),
        (GZIP + GZIP, "gzip", TEXT * 2),
        (GZIP + bytes(100), "gzip", TEXT),
        (zlib.compress(TEXT), "deflate", TEXT),
        (ZSTD, "zstd", TEXT),
        (ZSTD + ZSTD, "zstd", TEXT * 2),
    ],
)
def test_bodies_inflate(body: bytes, encoding: str, wanted: bytes) -> None:
    assert inflate(body, encoding) == wanted


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (GZIP[:-9], "gzip"),
        (b"no gzip", "gzip"),
        (GZIP + b"rubbish", "gzip"),
        (b"", "gzip"),
        (ZSTD[:-3], "zstd"),
        (b"no zstd", "zstd"),
        (TEXT, "br"),
    ],
)
def test_damaged_bodies_are_refused(body: bytes, encoding: str) -> None:
    with pytest.raises(BadRequestError):
        inflate(body, encoding)


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (gzip.compress(bytes(50_000_000), mtime=0), "gzip"),
        (zstandard.ZstdCompressor().compress(bytes(50_000_000)), "zstd"),
        (bytes(2_000_000), ""),
    ],
)
def test_bombs_end_at_the_limit(body: bytes, encoding: str) -> None:
    with pytest.raises(TooLargeError, match="1000000 bytes"):
        inflate(body, encoding, 1_000_000)


def test_a_body_of_exactly_the_limit_is_taken() -> None:
    assert len(inflate(GZIP, "gzip", len(TEXT))) == len(TEXT)
    assert len(inflate(ZSTD, "zstd", len(TEXT))) == len(TEXT)


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (GZIP, "gzip"),
        (GZIP + GZIP[:-9], "gzip"),
        (b"no gzip", "deflate"),
        (ZSTD, "zstd"),
        (ZSTD + ZSTD[:-3], "zstd"),
        (b"no zstd", "zstd"),
    ],
)
@pytest.mark.parametrize("limit", [len(TEXT) - 1, len(TEXT), 2 * len(TEXT)])
def test_a_body_that_is_only_measured_has_the_same_errors(
    body: bytes, encoding: str, limit: int
) -> None:
    def error_of(work: Callable[[bytes, str, int], object]) -> str:
        try:
            work(body, encoding, limit)
        except CallerError as error:
            return error.message
        return ""

    assert error_of(check_inflated_size) == error_of(inflate)


@pytest.mark.parametrize("more", [-1, 0, 1])
@pytest.mark.parametrize("steps", [1, 2])
def test_output_of_whole_steps_is_complete(steps: int, more: int) -> None:
    text = bytes(steps * INFLATE_STEP_BYTES + more)
    assert inflate(gzip.compress(text, mtime=0) + GZIP, "gzip") == text + TEXT


def test_endless_members_are_refused() -> None:
    with pytest.raises(BadRequestError, match="members"):
        inflate(gzip.compress(b"", mtime=0) * 10_001, "gzip")
