"""Reads the members of a small JSON body one by one; errors name the member."""

from collections.abc import Mapping
from typing import Any

from vedette.errors import BadRequestError
from vedette.web.json import members


def check_members(body: Mapping[str, Any], *known: str, of: str) -> None:
    """Raises BadRequestError for a member that is not in `known`, so that a misspelled member is
    not ignored. `known` includes the members that clients send back with whole records. `of` names
    the object in the error, as in "a user"."""
    for name in body:
        if name not in known:
            raise BadRequestError(f"unknown field {name[:60]!r} of {of}")


def flag_value(name: str, value: object) -> bool:
    """Parses a boolean member. Raises BadRequestError."""
    try:
        return members.flag(value)
    except ValueError as error:
        raise BadRequestError(f"{name}: {error}") from None


def flag_of(body: Mapping[str, Any], name: str) -> bool | None:
    """Returns a boolean member, None if it is missing or null. Raises BadRequestError."""
    value = body.get(name)
    return None if value is None else flag_value(name, value)


class Members:
    """Members of an object. Methods return None for a missing member."""

    def __init__(
        self,
        body: Mapping[str, Any],
        *,
        known: tuple[str, ...],
        of: str,
        ignored: tuple[str, ...] = (),
    ) -> None:
        """Checks the members with `check_members`."""
        check_members(body, *known, *ignored, of=of)
        self._body = body

    def text(self, name: str) -> str | None:
        """Returns a string member; null counts as missing."""
        if self._body.get(name) is None:
            return None
        try:
            return members.as_text(self._body[name])
        except ValueError as error:
            raise BadRequestError(f"{name}: {error}") from None

    def flag(self, name: str) -> bool | None:
        return flag_of(self._body, name)
