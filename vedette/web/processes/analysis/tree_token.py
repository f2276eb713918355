"""Continuation tokens of trees: the cursor as text that needs no escaping in a URL.

The server keeps no state. A token is validated like any other parameter and grants no access: the
server reads the remaining nodes within the scope of the caller who sends the token.
"""

import base64
import binascii
from typing import Final

import orjson

from vedette.errors import BadRequestError
from vedette.limits import Limit
from vedette.model.ids import checked_process_id
from vedette.search.tree.cursor import Cursor

TREE_TOKEN_CHARS_MAX: Limit[int] = 500
"""Characters of a continuation token; real tokens have about 150."""


_VERSION: Final = 1
_TIME_MAX_US: Final = 1 << 62


def token_of(cursor: Cursor, root_id: str, depth: int) -> str:
    """Returns the token that continues the tree of `root_id` with `depth` generations after a
    cursor."""
    fields = [_VERSION, root_id, depth, cursor.depth, cursor.began_us, cursor.process_id]
    return base64.urlsafe_b64encode(orjson.dumps(fields)).decode().rstrip("=")


def cursor_of(token: str, root_id: str, depth: int) -> Cursor:
    """Returns the cursor of a token. Raises BadRequestError for text that is not a token, and for
    the token of another tree."""
    match _fields(token):
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


def _fields(token: str) -> object:
    if len(token) > TREE_TOKEN_CHARS_MAX:
        raise _bad("is too long for a continuation token")
    try:
        padded = token.encode("ascii") + b"=" * (-len(token) % 4)
        return orjson.loads(base64.b64decode(padded, b"-_", validate=True))
    except (UnicodeEncodeError, binascii.Error, orjson.JSONDecodeError):
        raise _bad("is not a continuation token") from None


def _bad(what: str) -> BadRequestError:
    return BadRequestError(f"continue: this {what}")
