"""The members of managed objects, with the properties that a definition declares for each."""

from dataclasses import MISSING, dataclass, fields
from enum import Enum
from functools import cache
from types import NoneType
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints


class Access(Enum):
    """Ways in which clients may use a member. The values appear in the reference."""

    WRITABLE = "writable"
    AT_CREATION = "set at creation"
    """Set in the body that creates the object. A change validates the member but does not set
    it."""
    READ_ONLY = "read-only"
    """Bodies may have the member with any value, because clients send records back; it is
    ignored."""
    HIDDEN = "hidden"
    """Absent from all bodies and responses."""


SHOWN: Final = object()


@dataclass(frozen=True, slots=True)
class Member:
    """Description of a field or property of an object, added to its type."""

    meaning: str
    """Description for clients: one line without a full stop."""
    access: Access = Access.WRITABLE
    name: str = ""
    """Name in JSON; "" if it equals the attribute."""
    stored: bool = True
    """Whether a column with the name of the attribute stores the value."""
    unseen: Any = SHOWN
    """JSON value that replaces a count over all hosts for callers who do not see all hosts."""


@dataclass(frozen=True, slots=True)
class MemberOf:
    """A resolved member of one kind of object."""

    attribute: str
    name: str
    """Name in JSON."""
    type: Any
    """Type with its annotations, as Pydantic reads it."""
    member: Member
    default: Any
    """Default value; `MISSING` if clients must send a value."""
    computed: bool
    """Whether a property computes the value."""

    @property
    def access(self) -> Access:
        return self.member.access

    @property
    def is_nullable(self) -> bool:
        """Whether the attribute can be None. If not, null in a body counts as an absent member."""
        return NoneType in get_args(get_args(self.type)[0])

    @property
    def is_stored(self) -> bool:
        return self.member.stored and not self.computed


@cache
def members(kind: Any) -> tuple[MemberOf, ...]:
    """Returns the members of a definition: fields, then properties whose return type has a
    `Member`."""
    hints = get_type_hints(kind, include_extras=True)
    defaults = {one.name: one.default for one in fields(kind)}
    found = [_member(name, hints[name], defaults[name], computed=False) for name in defaults]
    for name, value in vars(kind).items():
        if isinstance(value, property):
            hint = get_type_hints(value.fget, include_extras=True)["return"]
            if get_origin(hint) is Annotated:
                found.append(_member(name, hint, MISSING, computed=True))
    return tuple(found)


@cache
def unseen(kind: Any) -> dict[str, Any]:
    """Maps JSON name to the value that replaces a count over all hosts."""
    found = ((one.name, one.member.unseen) for one in members(kind))
    return {name: value for name, value in found if value is not SHOWN}


def audited_members(kind: type) -> tuple[str, ...]:
    """Returns the attributes that clients can set: the audit log records their changes."""
    set_by_clients = (Access.WRITABLE, Access.AT_CREATION)
    return tuple(one.attribute for one in members(kind) if one.access in set_by_clients)


def _member(attribute: str, hint: Any, default: Any, *, computed: bool) -> MemberOf:
    marks = [one for one in get_args(hint)[1:] if isinstance(one, Member)]
    assert len(marks) == 1, f"{attribute}: needs one Member"
    return MemberOf(attribute, marks[0].name or attribute, hint, marks[0], default, computed)
