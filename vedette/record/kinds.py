"""Types of members: how JSON values are parsed, validated, serialized and described in schemas."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Final

from annotated_types import GroupedMetadata
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    Strict,
    StringConstraints,
    WithJsonSchema,
    WrapValidator,
)
from pydantic.fields import FieldInfo

from vedette.record.times import instant, known_instant, moment_us

DATABASE_ID_MAX: Final = (1 << 31) - 1
"""Largest row id that both databases can store."""

_TIME: Final = {"type": "string", "format": "date-time"}
_KNOWN_TIME: Final = {"type": ["string", "null"], "format": "date-time"}


@dataclass(frozen=True, slots=True)
class text(GroupedMetadata):  # noqa: N801 - reads like the other kinds
    """Limits of a string, in characters. A validator rejects zero bytes instead of a pattern in the
    schema, because viewers of the schema generate examples from patterns."""

    chars_max: int
    chars_min: int = 0

    def __iter__(self) -> Iterator[Any]:
        yield from StringConstraints(
            strict=True, max_length=self.chars_max, min_length=self.chars_min or None
        )
        yield AfterValidator(_without_zero)


def _without_zero(value: str) -> str:
    """Raises ValueError for a zero byte, which PostgreSQL cannot store."""
    if "\x00" in value:
        raise ValueError("contains a null byte")
    return value


@dataclass(frozen=True, slots=True)
class short_name(GroupedMetadata):  # noqa: N801 - reads like the other kinds
    """A name: one line of 1 to `chars_max` printable characters."""

    chars_max: int
    strips: bool = True
    """Whether leading and trailing spaces are removed."""

    def __iter__(self) -> Iterator[Any]:
        yield StringConstraints(
            strict=True, max_length=self.chars_max, min_length=1, strip_whitespace=self.strips
        )
        yield AfterValidator(_shown_name)
        yield Field(json_schema_extra={"format": NAME_FORMAT})


NAME_FORMAT: Final = "name"
"""`format` in schemas: printable characters that are not only spaces."""


def _shown_name(value: str) -> str:
    """Raises ValueError for a name that is blank or not printable."""
    if not value.strip() or not value.isprintable():
        raise ValueError("must contain only printable characters and not be blank")
    return value


def number(least: int, most: int) -> FieldInfo:
    """Returns the bounds of an integer."""
    found: FieldInfo = Field(strict=True, ge=least, le=most)
    return found


@dataclass(frozen=True, slots=True)
class whole(GroupedMetadata):  # noqa: N801 - reads like the other kinds
    """Bounds of an integer that clients may also send as a string of digits."""

    least: int
    most: int

    def __iter__(self) -> Iterator[Any]:
        yield Field(strict=True, ge=self.least, le=self.most)
        yield BeforeValidator(_from_digits)
        yield WithJsonSchema(
            {
                "type": ["integer", "string"],
                "minimum": self.least,
                "maximum": self.most,
                "pattern": "^-?[0-9]{1,16}$",
            },
            mode="validation",
        )


_DIGITS: Final = re.compile(r"-?[0-9]{1,16}")


def _from_digits(value: Any) -> Any:
    return int(value) if isinstance(value, str) and _DIGITS.fullmatch(value) else value


def null_means(value: Any, accepted: Any) -> BeforeValidator:
    """Parses null as `value`. `accepted` is the type of the member without null."""
    return BeforeValidator(
        lambda given: value if given is None else given, json_schema_input_type=accepted | None
    )


def null_is_absent(accepted: Any) -> WrapValidator:
    """Parses null like an absent member (`RecordBody`). `accepted` is the type of the member
    without null."""
    return WrapValidator(
        lambda given, read: None if given is None else read(given),
        json_schema_input_type=accepted | None,
    )


def read_flag(value: Any) -> bool:
    """Parses a JSON boolean, or the string `true` or `false` in any case, which some clients send.
    Raises ValueError."""
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if not isinstance(value, bool):
        raise ValueError("must be true or false")  # noqa: TRY004 - Pydantic expects ValueError
    return value


FLAG_SCHEMA: Final[dict[str, Any]] = {
    "type": ["boolean", "string"],
    "pattern": "^([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])$",
}
Flag = Annotated[bool, BeforeValidator(read_flag), WithJsonSchema(FLAG_SCHEMA, mode="validation")]

Number = Annotated[int, Strict()]

MD5_PATTERN: Final = "^[0-9a-fA-F]{32}$"
Md5 = Annotated[str, StringConstraints(strict=True, pattern=MD5_PATTERN, to_lower=True)]
"""MD5 in lower case."""

Instant = Annotated[
    int, PlainSerializer(instant, return_type=str), WithJsonSchema(_TIME, mode="serialization")
]
"""Time in epoch microseconds."""
KnownInstant = Annotated[
    int,
    BeforeValidator(moment_us),
    PlainSerializer(known_instant, return_type=str | None),
    WithJsonSchema(_KNOWN_TIME),
]
"""Time in epoch microseconds. JSON has null for 0, which means never or unknown."""


def _null_for_empty(value: str) -> str | None:
    return value or None


def _digits_of_millis(time_us: int) -> str:
    return str(_millis(time_us))


def _millis(time_us: int) -> int:
    return round(time_us / 1_000)


NullForEmpty = Annotated[str, PlainSerializer(_null_for_empty, return_type=str | None)]
Digits = Annotated[
    int,
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"type": "string", "pattern": "^-?[0-9]+$"}, mode="serialization"),
]
"""Integer that JSON has as a string."""
DigitsOfMillis = Annotated[int, PlainSerializer(_digits_of_millis, return_type=str)]
"""Duration in microseconds that JSON has as a string of milliseconds."""
Millis = Annotated[int, PlainSerializer(_millis, return_type=int)]
"""Duration in microseconds that JSON has in milliseconds."""

SentBack = Annotated[Any, Field(json_schema_extra={"readOnly": True})]
"""Read-only member that clients send back with the record. Bodies may have any value."""
