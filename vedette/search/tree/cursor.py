"""Where a tree goes on: the continuation token, which holds all that the server must know.

It is the last descendant that was answered, as text that needs no escaping in a URL. It is checked
like any other parameter and grants nothing: what lies behind it is asked for within the scope of
whoever brings it.
"""

import base64
import binascii
from dataclasses import dataclass
from typing import Final

import orjson

from vedette import limits
from vedette.errors import BadRequestError
from vedette.model.ids import checked_process_id

_VERSION: Final = 1
_TIME_MAX_US: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class Cursor:
    """A descendant: its generation, when it began, its id."""

    depth: int
    began_us: int
    process_id: str


def token_of(cursor: Cursor, root_id: str, depth: int) -> str:
    """The token that continues the tree of `root_id`, of so many generations, after a cursor."""
    told = [_VERSION, root_id, depth, cursor.depth, cursor.began_us, cursor.process_id]
    return base64.urlsafe_b64encode(orjson.dumps(told)).decode().rstrip("=")


def cursor_of(token: str, root_id: str, depth: int) -> Cursor:
    """The cursor of a token. Raises BadRequestError for text that is none, and for the token of
    another tree."""
    match _told(token):
        case [
            1,
            str() as of_root,
            int() as of_depth,
            int() as at,
            int() as began_us,
            str() as name,
        ]:
            pass
        case _:
            raise _bad("is not a continuation token")
    if (of_root, of_depth) != (root_id, depth):
        raise _bad("continues the tree of another process or depth")
    if not (1 <= at <= depth and 0 <= began_us <= _TIME_MAX_US):
        raise _bad("is not a continuation token")
    return Cursor(at, began_us, checked_process_id(name, "continue"))


def _told(token: str) -> object:
    if len(token) > limits.TREE_TOKEN_CHARS_MAX:
        raise _bad("is too long for a continuation token")
    try:
        padded = token.encode("ascii") + b"=" * (-len(token) % 4)
        return orjson.loads(base64.b64decode(padded, b"-_", validate=True))
    except (UnicodeEncodeError, binascii.Error, orjson.JSONDecodeError):
        raise _bad("is not a continuation token") from None


def _bad(what: str) -> BadRequestError:
    return BadRequestError(f"continue: this {what}")
