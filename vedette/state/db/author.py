"""Who changes the state: a context variable that the doors set, and the audit log reads.

The API sets it when it has authenticated a caller, a command when it opens the state, the scheduler
before a job. What nobody set is the server itself.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Literal

AuthorKind = Literal["user", "token", "sensor", "command", "job", "server"]
"""`token` is an ingest token, `command` a person at the server's command line."""


@dataclass(frozen=True, slots=True)
class Author:
    """Who changes something, and from where."""

    kind: AuthorKind
    name: str
    address: str = ""
    """Network address of the request, "" for what does not come over the network."""
    request_id: str = ""


SERVER: Final = Author("server", "")

_AUTHOR: ContextVar[Author] = ContextVar("author", default=SERVER)


def current_author() -> Author:
    return _AUTHOR.get()


def set_author(author: Author) -> None:
    """For the rest of the current context: a request, or a thread."""
    _AUTHOR.set(author)


@contextmanager
def acting_as(author: Author) -> Iterator[None]:
    """Within the block."""
    token = _AUTHOR.set(author)
    try:
        yield
    finally:
        _AUTHOR.reset(token)
