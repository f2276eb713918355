"""Author of the current change: a context variable that entry points set and the audit log reads.

The API sets it after authenticating a caller, a command when it opens the state, the scheduler
before a job. The default is the server itself.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import quote, unquote

from vedette.errors import BadRequestError
from vedette.limits import Limit

OPERATOR_NAME_CHARS_MAX: Limit[int] = 64
"""Characters of a command's account name in the audit log. Linux accounts have up to 32; a
directory service may prepend a domain."""


AuthorKind = Literal["user", "token", "sensor", "command", "job", "server"]
"""`token`: an ingest token. `command`: a person at the server's command line."""


@dataclass(frozen=True, slots=True)
class Author:
    """Author of a change, and origin of the request."""

    kind: AuthorKind
    name: str
    address: str = ""
    """Network address of the request; "" if there is none."""
    request_id: str = ""


SERVER: Final = Author("server", "")

OPERATOR_HEADER: Final = "x-vedette-operator"
"""Name of the person whose command makes the request, encoded by `operator_header`. Accepted only
with the tokens of `server.json` (`web/http/access.py`)."""

_AUTHOR: ContextVar[Author] = ContextVar("author", default=SERVER)


def current_author() -> Author:
    return _AUTHOR.get()


def set_author(author: Author) -> None:
    """Sets the author for the rest of the current context: a request or a thread."""
    _AUTHOR.set(author)


def operator_name(account: str) -> str:
    """Returns an account name in the form of the audit log: printable, on one line, of bounded
    length."""
    shown = "".join(one if one.isprintable() else "?" for one in account.strip())
    return shown[:OPERATOR_NAME_CHARS_MAX].strip() or "?"


def operator_header(author: Author) -> dict[str, str]:
    """Returns the header that names the person who typed a command."""
    return {OPERATOR_HEADER: quote(author.name, safe="")}


def read_operator(value: str) -> str:
    """Decodes the name in the operator header. Raises BadRequestError for a name that no account
    can have."""
    name = unquote(value, errors="replace")
    if not value.isascii() or "\N{REPLACEMENT CHARACTER}" in name or name != operator_name(name):
        raise BadRequestError(f"{OPERATOR_HEADER}: must be an account name")
    return name


@contextmanager
def acting_as(author: Author) -> Iterator[None]:
    """Sets the author within the block."""
    token = _AUTHOR.set(author)
    try:
        yield
    finally:
        _AUTHOR.reset(token)
