"""Serialises the options of a group as JSON.

Options that the text of an older version lacks get their defaults; unknown ones of a newer version
are ignored.
"""

import json
from dataclasses import asdict, fields
from typing import Any, Final

from vedette.model.group import EventExclusion, GroupOptions, IsolationExclusion

KNOWN_DLLS_FILTERED: Final = '"filter_known_dlls": true'
"""Text in the stored options of a group that leaves out loads of known DLLs, and in no other: the
quotation marks of other texts are escaped."""

_NAMES = frozenset(one.name for one in fields(GroupOptions))


def options_text(options: GroupOptions) -> str:
    """JSON of what differs from the defaults."""
    plain, usual = asdict(options), asdict(GroupOptions())
    return json.dumps({name: value for name, value in plain.items() if value != usual[name]})


def options_of(text: str) -> GroupOptions:
    """The options of a stored text."""
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
