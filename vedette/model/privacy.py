"""What of telemetry is stored under pseudonyms, by sensor group (docs/privacy.md)."""

from msgspec import Struct


class GroupPrivacy(Struct, frozen=True):
    """What a sensor group hides."""

    user_names: bool = False
    """Names of accounts, and the folders of their names."""
    secret_patterns: tuple[str, ...] = ()
    """RE2: what they find in any text is a secret; with a group, what its first group finds."""


class Privacy(Struct, frozen=True):
    """`key` makes pseudonyms of values; groups without an entry hide nothing."""

    key: bytes = b""
    groups: dict[int, GroupPrivacy] = {}
