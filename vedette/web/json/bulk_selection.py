"""Guards bulk changes: a selection of all objects is refused unless the body allows it with
`allow_all` (docs/http-api.md#bulk-changes). Every route that selects by query or criteria calls
`check_selection`."""

from collections.abc import Mapping
from typing import Any, Final

from vedette.errors import BadRequestError
from vedette.web.json.body_members import flag_of

ALLOW_ALL: Final = "allow_all"
"""Member that permits a change of all objects."""


def allows_all(body: Mapping[str, Any]) -> bool:
    """Returns whether the body permits a change of all objects. Raises BadRequestError for a value
    other than true and false."""
    return flag_of(body, ALLOW_ALL) is True


def check_selection(place: str, *, selects_all: bool, allows_all: bool) -> None:
    """Raises BadRequestError (`reason` "selects_all") for an unrestricted selection without
    `allow_all`. `place` names the members that select."""
    if selects_all and not allows_all:
        raise BadRequestError(
            f"{place}: matches everything; add a condition, or set {ALLOW_ALL}: true to change all",
            reason="selects_all",
        )
