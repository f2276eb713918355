"""Texts of YARA rules, and their results for a file: values that cross between the processes."""

import msgspec


class YaraText(msgspec.Struct, frozen=True):
    """A text of rules, as a user added it."""

    name: str
    text: str


class YaraMatch(msgspec.Struct, frozen=True):
    """A rule that matches a file."""

    text: str
    """Name of the text that contains the rule."""
    rule: str
    score: int
    """1 to 100, from the rule's metadata; else 100."""


class YaraResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """Results of the rules for a file."""

    matches: list[YaraMatch] = []
    stopped: list[str] = []
    """Names of the texts that took too long."""
