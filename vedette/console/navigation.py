"""The screens that one gets to from everywhere: their names, keys and rights."""

from dataclasses import dataclass
from typing import Final

from vedette.api.http.access import may
from vedette.api.http.route_rights import Right
from vedette.model.principal import Principal


@dataclass(frozen=True, slots=True)
class Entry:
    """One screen of the navigation."""

    path: str
    label: str
    icon: str
    key: str
    """Pressed after `g`."""
    section: str
    """Heading under which it stands."""
    right: Right = Right.READ
    """Whoever lacks it everywhere does not see the entry."""


ENTRIES: Final[tuple[Entry, ...]] = (
    Entry("/ui/", "Home", "home", "h", "Watch"),
    Entry("/ui/process", "Process search", "search", "p", "Watch"),
)
"""In the order shown. A new screen adds its line here."""


def may_open(user: Principal, entry: Entry) -> bool:
    return may(user, entry.right)


def entry_of(path: str) -> Entry | None:
    """The entry that a page belongs to: the one with the longest path that it begins with."""
    fitting = [one for one in ENTRIES if _is_below(path, one.path)]
    return max(fitting, key=lambda one: len(one.path), default=None)


def _is_below(path: str, base: str) -> bool:
    if base == "/ui/":
        return path == base
    return path == base or path.startswith(f"{base}/")
