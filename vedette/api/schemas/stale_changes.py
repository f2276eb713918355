"""Changes that would undo what somebody else did meanwhile (docs/http-api.md#two-people-at-once).

A body that changes a record may say in `was` what its sender has read: members of the record, as
GET answers them. Where one of them is another by now, nothing is changed.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from vedette.errors import BadRequestError, StaleError

Known = TypeVar("Known")

WAS: Final = "was"
"""The member of a body; no record has it."""


def as_it_was(
    body: Mapping[str, Any], record: Callable[[Known], Mapping[str, Any]]
) -> Callable[[Known], None]:
    """A check for the transaction that changes what is known: raises StaleError, with the members
    that are not as the body says that they were. `record` makes what GET answers.

    Raises BadRequestError for a `was` that is no object."""
    was = body.get(WAS, {})
    if not isinstance(was, dict):
        raise BadRequestError("was: must be an object, members of the record as they were read")

    def check(known: Known) -> None:
        if not was:
            return
        now = record(known)
        for name in was:
            if name not in now:
                raise BadRequestError(f"was: there is no member {str(name)[:60]!r} of the record")
        changed = {name: now[name] for name, value in was.items() if now[name] != value}
        if changed:
            raise StaleError(
                f"{', '.join(changed)}: somebody else has changed it since you read it", changed
            )

    return check
