"""Pseudonymization of telemetry by sensor group (docs/privacy.md)."""

from msgspec import Struct


class GroupPrivacy(Struct, frozen=True):
    """Values that a sensor group stores under pseudonyms."""

    user_names: bool = False
    """Account names, and folders named after accounts."""
    secret_patterns: tuple[str, ...] = ()
    """RE2 patterns, matched against any text. The secret is the first capturing group, or the whole
    match if the pattern has no group."""


class Privacy(Struct, frozen=True):
    """Pseudonymization settings. `key` is the secret for pseudonyms. Groups without an entry store
    values unchanged."""

    key: bytes = b""
    groups: dict[int, GroupPrivacy] = {}
