"""The members of a small JSON body, read one by one with errors that name them."""

from collections.abc import Mapping
from typing import Any

from vedette.api.schemas import members
from vedette.errors import BadRequestError


def check_members(body: Mapping[str, Any], *known: str, of: str) -> None:
    """Raises BadRequestError for a member that is not known: one that is misspelt must not pass for
    one that is not given. Those that clients send back with whole records are known, too. `of`
    names the object, as in "a user"."""
    for name in body:
        if name not in known:
            raise BadRequestError(f"there is no member {name[:60]!r} of {of}")


class Members:
    """Members of an object. None means that a member is not given."""

    def __init__(
        self,
        body: Mapping[str, Any],
        *,
        known: tuple[str, ...],
        of: str,
        ignored: tuple[str, ...] = (),
    ) -> None:
        """See `check_members`."""
        check_members(body, *known, *ignored, of=of)
        self._body = body

    def text(self, name: str) -> str | None:
        """Null counts as not given."""
        if self._body.get(name) is None:
            return None
        try:
            return members.as_text(self._body[name])
        except ValueError as error:
            raise BadRequestError(f"{name}: {error}") from None

    def flag(self, name: str) -> bool | None:
        if self._body.get(name) is None:
            return None
        try:
            return members.flag(self._body[name])
        except ValueError as error:
            raise BadRequestError(f"{name}: {error}") from None
