"""Which answers are compressed."""

from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.route_access import ACCESS, ACCESSES, READING_POSTS
from vedette.web.http.bodies.compression import COMPRESSED_ANSWER_BYTES_MIN, is_accepted, vary
from vedette.web.http.responses import JSON
from vedette.web.http.rights.right import Access, Right

SECRET = {
    ("POST", "/api/v1/token"),
    ("POST", "/api/v1/session"),
    ("GET", "/api/v1/session"),
    ("POST", "/sensor/v1/enrol"),
    ("POST", "/osquery/enroll"),
    ("POST", "/csp/gateway/am/api/auth/token"),
}


@dataclass
class Route:
    path: str
    access: Access | None


def is_compressed(method: str, path: str, size: int, media_type: str = JSON) -> bool:
    scope = {"method": method, "route": Route(path, ACCESSES.get((method, path)))}
    start: dict[str, Any] = {
        "headers": [
            (b"content-length", str(size).encode()),
            (b"content-type", media_type.encode()),
        ]
    }
    return vary(scope, start)


def compressed() -> set[tuple[str, str]]:
    return {key for key in ACCESS if is_compressed(*key, COMPRESSED_ANSWER_BYTES_MIN)}


def test_an_answer_with_a_secret_is_never_compressed() -> None:
    assert {*SECRET} - {*ACCESS} == set()
    assert compressed() & SECRET == set()
    holding = {Right.ADMINISTER_GROUP, Right.IN_BODY, Right.HANDSHAKE, Right.SEND, Right.SENSOR}
    assert {ACCESS[key] for key in compressed()} & holding == set()


def test_what_only_reads_is_compressed() -> None:
    assert {("GET", "/api/v1/process"), ("GET", "/openapi.json"), *READING_POSTS} <= compressed()
    assert {method for method, _ in compressed() - READING_POSTS} <= {"GET", "POST", "PATCH"}


def test_small_answers_other_types_and_unknown_routes_are_not_compressed() -> None:
    size = COMPRESSED_ANSWER_BYTES_MIN
    assert not is_compressed("GET", "/api/v1/process", size - 1)
    assert not is_compressed("GET", "/api/v1/process", size, "application/json")
    assert not is_compressed("GET", "/nowhere", size)


@pytest.mark.parametrize(
    ("headers", "accepted"),
    [
        ([], False),
        ([(b"accept-encoding", b"gzip")], True),
        ([(b"accept-encoding", b"br;q=1, gzip ; q=0.2")], True),
        ([(b"accept-encoding", b"gzip;q=0")], False),
        ([(b"accept-encoding", b"gzip"), (b"cookie", b"a=b")], False),
        (
            [
                (b"accept-encoding", b"gzip"),
                (b"cookie", b"a=b"),
                (b"sec-fetch-site", b"same-origin"),
            ],
            True,
        ),
        (
            [
                (b"accept-encoding", b"gzip"),
                (b"cookie", b"a=b"),
                (b"sec-fetch-site", b"none"),
            ],
            True,
        ),
        (
            [
                (b"accept-encoding", b"gzip"),
                (b"cookie", b"a=b"),
                (b"sec-fetch-site", b"cross-site"),
            ],
            False,
        ),
    ],
)
def test_a_client_accepts_by_its_headers(
    headers: list[tuple[bytes, bytes]], accepted: bool
) -> None:
    assert is_accepted({"headers": headers}) is accepted
