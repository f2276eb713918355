"""Who changes the state: a context variable that the doors set, and the audit log reads.

The API sets it when it has authenticated a caller, a command when it opens the state, the scheduler
before a job. What nobody set is the server itself.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import quote, unquote

from vedette.errors import BadRequestError
from vedette.limits import OPERATOR_NAME_CHARS_MAX

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

OPERATOR_HEADER: Final = "x-vedette-operator"
"""Who typed the command that makes a request: a name as `operator_header` writes it. It is believed
of the tokens of `server.json` alone (`api/http/access.py`)."""

_AUTHOR: ContextVar[Author] = ContextVar("author", default=SERVER)


def current_author() -> Author:
    return _AUTHOR.get()


def set_author(author: Author) -> None:
    """For the rest of the current context: a request, or a thread."""
    _AUTHOR.set(author)


def operator_name(account: str) -> str:
    """The name of an account as it may stand in the audit log: printable, one line, bounded."""
    shown = "".join(one if one.isprintable() else "?" for one in account.strip())
    return shown[:OPERATOR_NAME_CHARS_MAX].strip() or "?"


def operator_header(author: Author) -> dict[str, str]:
    """The header that says who typed a command."""
    return {OPERATOR_HEADER: quote(author.name, safe="")}


def read_operator(value: str) -> str:
    """The name that a header holds. Raises BadRequestError for one that nobody can have."""
    name = unquote(value, errors="replace")
    if not value.isascii() or "\N{REPLACEMENT CHARACTER}" in name or name != operator_name(name):
        raise BadRequestError(f"{OPERATOR_HEADER}: must be the name of an account")
    return name


@contextmanager
def acting_as(author: Author) -> Iterator[None]:
    """Within the block."""
    token = _AUTHOR.set(author)
    try:
        yield
    finally:
        _AUTHOR.reset(token)
