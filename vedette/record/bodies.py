"""Validates JSON bodies that create or change managed objects. Reports all faults of a body
together, each with the path of its member."""

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass
from itertools import islice
from typing import Any, Final, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from vedette.errors import BadRequestError, InvalidBodyError, StaleError
from vedette.limits import FAULTS_SHOWN_MAX, Limit
from vedette.record.kinds import MD5_PATTERN, SentBack
from vedette.record.member import Access, MemberOf, members

ERROR_PATH_CHARS_MAX: Limit[int] = 120
"""Maximum characters of a path in an error: clients choose the names of unknown members."""


class BodySchema(GenerateJsonSchema):
    """Generates schemas without titles. Omits null defaults, which stand for absent members."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - Pydantic calls it
        return False

    def default_schema(self, schema: Any) -> JsonSchemaValue:
        if schema.get("default") is None:
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)


class Request(BaseModel):
    """Members of bodies that are not members of the object. Definitions add theirs in a
    subclass."""

    model_config = ConfigDict(extra="forbid", defer_build=True)


R = TypeVar("R", bound=Request)


class RequestBody(Generic[R]):
    """Validates bodies that are not managed objects."""

    def __init__(self, model: type[R]) -> None:
        self.model = model

    def read(self, body: Mapping[str, Any]) -> R:
        """Validates a body. Raises InvalidBodyError with at most FAULTS_SHOWN_MAX faults."""
        try:
            return self.model.model_validate(body)
        except ValidationError as error:
            raise InvalidBodyError(list(islice(_faults(error), FAULTS_SHOWN_MAX))) from None


@dataclass(frozen=True, slots=True)
class Sent(Generic[R]):
    """A validated body, split into the object's members and the rest."""

    values: dict[str, Any]
    """Members of the object that the body sets, by attribute. In a change: only writable
    members."""
    identity: dict[str, Any]
    """In a change: the members that are set at creation alone, by attribute."""
    request: R
    """The validated model, for members that are not members of the object."""
    was: Mapping[str, Any]
    """Values of members at the time the sender read the record, by JSON name."""

    def check_unchanged(self, now: Mapping[str, Any]) -> None:
        """Raises StaleError if a member of `was` differs from the current record, and
        BadRequestError if the record has no such member."""
        check_unchanged(self.was, now)


class RecordBody(Generic[R]):
    """Validates bodies that create or change objects of one kind."""

    def __init__(self, name: str, kind: type, request: type[R], *, creates: bool) -> None:
        """`name` is the name of the schema in `/openapi.json`."""
        shown = [one for one in members(kind) if one.access is not Access.HIDDEN]
        fields: dict[str, Any] = {one.attribute: _field(one, creates=creates) for one in shown}
        fields["was"] = (SentBack, None) if creates else (_WAS, Field({}, description=_WAS_MEANING))
        self._given = [one.attribute for one in shown if _is_settable(one)]
        self._fixed = frozenset(
            one.attribute for one in shown if one.access is Access.AT_CREATION and not creates
        )
        self._nullable = frozenset(one.attribute for one in shown if one.is_nullable)
        self._creates = creates
        self.model: type[R] = create_model(name, __base__=request, **fields)
        self._body = RequestBody(self.model)

    def read(self, body: Mapping[str, Any]) -> Sent[R]:
        """Validates a body. Raises InvalidBodyError with at most FAULTS_SHOWN_MAX faults."""
        found = self._body.read(body)
        sent = {
            name
            for name in found.model_fields_set.intersection(self._given)
            if name in self._nullable or getattr(found, name) is not None
        }
        values = {name: getattr(found, name) for name in sent - self._fixed}
        identity = {name: getattr(found, name) for name in sent & self._fixed}
        was: Mapping[str, Any] = {} if self._creates else vars(found)["was"]
        return Sent(values, identity, found, was)


def _is_settable(one: MemberOf) -> bool:
    return one.access in (Access.WRITABLE, Access.AT_CREATION)


_WAS = dict[str, Any]
_WAS_MEANING: Final = (
    "Members of the record as they were read; 409 `changed_meanwhile` where one is different now"
)


def _field(one: MemberOf, *, creates: bool) -> tuple[Any, Any]:
    """Returns the (type, field) of a member for `create_model`."""
    about: dict[str, Any] = {"alias": one.name, "description": one.member.meaning}
    if one.access is Access.READ_ONLY or one.computed:
        return Any, Field(None, json_schema_extra={"readOnly": True}, **about)
    if creates and one.default is MISSING:
        return one.type, Field(**about)
    # Schemas omit the default "", because the limits of the string may forbid it.
    default = one.default if creates and one.default != "" else None
    return one.type, Field(default, **about)


def check_unchanged(was: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raises StaleError and BadRequestError like `Sent.check_unchanged`."""
    for name in was:
        if name not in now:
            raise BadRequestError(f"was: unknown field {str(name)[:60]!r}")
    changed = {name: now[name] for name, value in was.items() if now[name] != value}
    if changed:
        raise StaleError(
            f"{', '.join(changed)}: changed by another user since you read it", changed
        )


def _faults(error: ValidationError) -> Iterator[tuple[str, str]]:
    for fault in error.errors(include_url=False):
        details = {"name": str(fault["loc"][-1])[:60] if fault["loc"] else ""}
        text = _text(fault["type"], details | fault.get("ctx", {}), fault["msg"])
        yield _path(fault["loc"]), text


def _path(place: tuple[int | str, ...]) -> str:
    """Formats the location of a fault, such as `group_access[0].group_id`."""
    parts = (f"[{one}]" if isinstance(one, int) else f".{one}" for one in place)
    return "".join(parts).removeprefix(".")[:ERROR_PATH_CHARS_MAX]


def _text(kind: str, details: Mapping[str, Any], otherwise: str) -> str:
    if kind == "value_error":
        return str(details["error"])
    if kind == "string_pattern_mismatch" and details["pattern"] == MD5_PATTERN:
        return "is not 32 hexadecimal digits"
    known = _TEXTS.get(kind)
    return known.format_map(details) if known else otherwise


_TEXTS: Final[Mapping[str, str]] = {
    "missing": "is missing",
    "extra_forbidden": "unknown field {name!r}",
    "string_type": "must be a string",
    "string_too_long": "must have at most {max_length:,} characters",
    "string_too_short": "must have at least {min_length} characters",
    "string_pattern_mismatch": "must match {pattern}",
    "int_type": "must be a whole number",
    "greater_than_equal": "must be at least {ge:,}",
    "less_than_equal": "must be at most {le:,}",
    "literal_error": "must be {expected}",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "too_long": "must have at most {max_length:,} entries",
    "too_short": "must have at least {min_length} entries",
}
"""Messages by Pydantic's error type; other errors keep Pydantic's own message."""
