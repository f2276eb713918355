"""The main navigation: screens with their names, keys and rights."""

from dataclasses import dataclass
from typing import Final

from vedette.model.principal import Principal
from vedette.web.http.access import holds
from vedette.web.http.rights.right import Right


@dataclass(frozen=True, slots=True)
class Entry:
    """A screen in the navigation."""

    path: str
    label: str
    icon: str
    key: str
    """Key pressed after `g`."""
    section: str
    """Heading above the entry."""
    right: Right = Right.READ
    """Right required in at least one sensor group to see the entry."""


ENTRIES: Final[tuple[Entry, ...]] = (
    Entry("/ui/", "Home", "home", "h", "Monitor"),
    Entry("/ui/alerts", "Alerts", "bell", "a", "Monitor"),
    Entry("/ui/process", "Process search", "search", "p", "Monitor"),
    Entry("/ui/log", "Logs", "table", "e", "Monitor"),
    Entry("/ui/binary", "Programs", "binary", "b", "Monitor"),
    Entry("/ui/watchlists", "Watchlists", "watchlist", "w", "Detect", Right.VIEW),
    Entry("/ui/sigma", "Sigma rules", "rule", "r", "Detect", Right.VIEW),
    Entry("/ui/feeds", "Feeds", "feed", "f", "Detect", Right.VIEW),
    Entry("/ui/sensors", "Sensors", "sensor", "s", "Respond"),
    Entry("/ui/jobs", "Update jobs", "job", "j", "Respond", Right.VIEW),
    Entry("/ui/bans", "Bans", "ban", "x", "Respond", Right.VIEW),
    Entry("/ui/filters", "Ingress filters", "filter", "i", "Respond", Right.VIEW),
    Entry("/ui/data", "Data and health", "data", "d", "Administer", Right.ADMINISTER),
    Entry("/ui/access", "Access", "users", "u", "Administer", Right.ADMINISTER),
    Entry("/ui/audit", "Audit log", "audit", "l", "Administer", Right.ADMINISTER),
    Entry("/ui/settings", "Settings", "settings", ",", "Administer", Right.ADMINISTER),
    Entry("/ui/me", "Your preferences", "user", "m", "Administer"),
)
"""Entries in display order. A new screen adds its line here."""


def start_page(user: Principal, preferences: object) -> str:
    """Returns the path of the user's start page: the home page, or the preferred page if the user
    may open it. `preferences` are stored by the browser and untrusted."""
    wanted = preferences.get("start") if isinstance(preferences, dict) else None
    return next((one.path for one in ENTRIES if one.path == wanted and may_open(user, one)), "/ui/")


def may_open(user: Principal, entry: Entry) -> bool:
    return holds(user, entry.right)
