"""Texts of YARA rules, and what they say of a file: values that cross between the processes."""

import msgspec


class YaraText(msgspec.Struct, frozen=True):
    """A text of rules, as somebody added it."""

    name: str
    text: str


class YaraMatch(msgspec.Struct, frozen=True):
    """A rule that a file answers."""

    text: str
    """The name of the text that the rule is in."""
    rule: str
    score: int
    """1 to 100, as the rule's metadata says; else 100."""


class YaraResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the rules say of a file."""

    matches: list[YaraMatch] = []
    stopped: list[str] = []
    """Names of the texts that took too long."""
