"""Definition of a setting: its metadata, the origin of its value, and its display."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

ENVIRONMENT_PREFIX = "VEDETTE_"

_PASSWORD = re.compile(r"((?<=://)[^/:@]*:|\bpassword=)(?:.*(?=@)|[^&@]*)")
"""The password in a DSN, which is hidden: up to the last @, or up to the next parameter."""


class SettingsError(ValueError):
    """Raised for an invalid setting. The message names it and the origin of its value."""


@dataclass(frozen=True, slots=True)
class About:
    """Metadata of a setting: description, unit, bounds of a number."""

    text: str
    unit: str = ""
    least: int = 0
    most: int | None = None
    alias: str = ""
    secret: bool = False
    """Whether the value is a DSN, whose password is hidden."""
    is_password: bool = False
    """Whether the whole value is hidden."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting as in the reference: name, type, default, metadata."""

    name: str
    type: Any
    default: Any
    about: About

    @property
    def variable(self) -> str:
        return ENVIRONMENT_PREFIX + self.name.upper()

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")


@dataclass(frozen=True, slots=True)
class Origin:
    """Origin of a value. `place` is the file and line, the variable or the flag."""

    layer: Literal["default", "file", "environment", "flag"]
    place: str = ""

    def named(self, name: str) -> str:
        """Returns the name of a setting, prefixed with the place of its value."""
        return f"{self.place}: {name}" if self.place else name

    def __str__(self) -> str:
        return f"{self.layer} {self.place}".rstrip()


def shown(setting: Setting, value: object) -> str | int | bool | list[str] | None:
    """Returns a value as `vedette config show` prints it, with passwords hidden."""
    match value:
        case str() if setting.about.is_password:
            return "***" if value else ""
        case str() if setting.about.secret:
            return _PASSWORD.sub(r"\1***", value)
        case Path():
            return str(value)
        case tuple():
            return [str(item) for item in value]
        case None | bool() | int() | str():
            return value
        case _:
            raise AssertionError(f"no way to show {setting.name}")
