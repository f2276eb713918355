"""Parses the setting `keep`: the records without a process that are stored."""

from collections.abc import Iterable

from vedette.errors import StartError
from vedette.ingest.normalise.keep import KEEP
from vedette.ingest.normalise.normaliser import Keep


def keep_of(entries: Iterable[str]) -> Keep:
    """Parses entries `channel:id`, `channel:*`, or `default` for the built-in list.

    Raises StartError for anything else.
    """
    channels: set[str] = set()
    ids: set[tuple[str, int]] = set()
    for entry in entries:
        channel, colon, event_id = entry.rpartition(":")
        if entry == "default":
            channels |= KEEP.channels
            ids |= KEEP.ids
        elif colon and event_id == "*":
            channels.add(channel)
        elif colon and event_id.isdecimal():
            ids.add((channel, int(event_id)))
        else:
            raise StartError(f"keep: {entry!r} is neither default, nor channel:id, nor channel:*")
    return Keep(frozenset(channels), frozenset(ids))
