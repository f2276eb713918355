"""Serializes the options of a group as JSON.

Options that an older version did not store get their defaults; unknown options of a newer version
are ignored.
"""

import json
from dataclasses import asdict, fields
from typing import Any, Final

from vedette.record.objects.sensor_group import EventExclusion, GroupOptions, IsolationExclusion

KNOWN_DLLS_FILTERED: Final = '"filter_known_dlls": true'
"""Substring of the stored options of exactly those groups that omit loads of known DLLs. It cannot
occur in another option's value, where quotation marks are escaped."""

_NAMES = frozenset(one.name for one in fields(GroupOptions))


def options_text(options: GroupOptions) -> str:
    """Serializes the options that differ from the defaults."""
    plain, usual = asdict(options), asdict(GroupOptions())
    return json.dumps({name: value for name, value in plain.items() if value != usual[name]})


def options_of(text: str) -> GroupOptions:
    """Parses stored options; ignores options that no longer exist."""
    kept: dict[str, Any] = {k: v for k, v in json.loads(text).items() if k in _NAMES}
    kept["isolation_exclusions"] = tuple(
        IsolationExclusion(**one) for one in kept.get("isolation_exclusions", ())
    )
    kept["event_exclusions"] = tuple(
        EventExclusion(tuple(one["events_to_ignore"]), tuple(one["paths"]))
        for one in kept.get("event_exclusions", ())
    )
    kept["secret_patterns"] = tuple(kept.get("secret_patterns", ()))
    return GroupOptions(**kept)
