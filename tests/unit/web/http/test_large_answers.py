"""Large answers are sent in pieces, between which the event loop does other work."""

import asyncio

import pytest
from prometheus_client import CollectorRegistry
from starlette.responses import Response
from starlette.types import Message

from vedette.web.http.middleware import ANSWER_PIECE_BYTES, HttpMetrics, RequestMiddleware


async def messages_of(size: int) -> tuple[list[Message], list[int]]:
    """Returns the messages of an answer, and the bytes sent at each turn of another task of the
    loop."""
    sent: list[Message] = []
    turns: list[int] = []
    app = RequestMiddleware(Response(bytes(range(256)) * (size // 256)), _metrics())

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        raise AssertionError("nothing reads the request")

    async def other() -> None:
        while True:
            turns.append(len(sent))
            await asyncio.sleep(0)

    scope = {"type": "http", "method": "GET", "path": "/", "headers": []}
    alongside = asyncio.create_task(other())
    await app(scope, receive, send)
    alongside.cancel()
    return sent, turns


def _metrics() -> HttpMetrics:
    return HttpMetrics(CollectorRegistry())


@pytest.mark.parametrize("pieces", [0, 1, 2, 5])
def test_an_answer_is_the_same_in_pieces(pieces: int) -> None:
    size = pieces * ANSWER_PIECE_BYTES
    (start, *bodies), _ = asyncio.run(messages_of(size))
    assert dict(start["headers"])[b"content-length"] == str(size).encode()
    assert b"".join(one["body"] for one in bodies) == bytes(range(256)) * (size // 256)
    assert [one.get("more_body", False) for one in bodies] == [True] * (len(bodies) - 1) + [False]
    assert max(len(one["body"]) for one in bodies) <= ANSWER_PIECE_BYTES


def test_other_work_is_done_between_pieces() -> None:
    sent, turns = asyncio.run(messages_of(5 * ANSWER_PIECE_BYTES))
    assert len({turn for turn in turns if 1 < turn < len(sent)}) >= 3
