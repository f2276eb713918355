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
    Entry("/ui/alerts", "Alerts", "bell", "a", "Watch"),
    Entry("/ui/process", "Process search", "search", "p", "Watch"),
    Entry("/ui/binary", "Programs", "binary", "b", "Watch"),
    Entry("/ui/watchlists", "Watchlists", "watchlist", "w", "Detect", Right.VIEW),
    Entry("/ui/sigma", "Sigma rules", "rule", "r", "Detect", Right.VIEW),
    Entry("/ui/feeds", "Feeds", "feed", "f", "Detect", Right.VIEW),
    Entry("/ui/sensors", "Sensors", "sensor", "s", "Act"),
    Entry("/ui/jobs", "Update jobs", "job", "j", "Act", Right.VIEW),
    Entry("/ui/bans", "Bans", "ban", "x", "Act", Right.VIEW),
    Entry("/ui/filters", "Ingress filters", "filter", "i", "Act", Right.VIEW),
    Entry("/ui/data", "Data and health", "data", "d", "Run", Right.ADMINISTER),
    Entry("/ui/access", "Access", "users", "u", "Run", Right.ADMINISTER),
    Entry("/ui/audit", "Audit log", "audit", "l", "Run", Right.ADMINISTER),
    Entry("/ui/settings", "Settings", "settings", ",", "Run", Right.ADMINISTER),
    Entry("/ui/me", "Your preferences", "user", "m", "Run"),
)
"""In the order shown. A new screen adds its line here."""


def start_page(user: Principal, preferences: object) -> str:
    """The path of the screen that a user begins with: the home page, unless they prefer another one
    that they may open. `preferences` is what their browser kept."""
    wanted = preferences.get("start") if isinstance(preferences, dict) else None
    return next((one.path for one in ENTRIES if one.path == wanted and may_open(user, one)), "/ui/")


def may_open(user: Principal, entry: Entry) -> bool:
    return may(user, entry.right)
