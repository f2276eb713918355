"""What has actions, and how the routes of each find it: to add one, add a line to the tuple."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from vedette.errors import NotFoundError
from vedette.model.findings.action import EVERY_SOURCE
from vedette.model.findings.detection import Source, SourceKind
from vedette.state.db.database import Database
from vedette.state.policy import feeds, rules, watchlists


@dataclass(frozen=True, slots=True)
class ActionSource:
    """A kind of source. `resolve` gives the id by which actions know it now, and raises
    NotFoundError where there is none."""

    kind: SourceKind
    base: str
    """Path of its routes."""
    resolve: Callable[[Database, str], str]

    def source(self, database: Database, source_id: str) -> Source:
        """The source of a path. Raises NotFoundError."""
        if source_id == EVERY_SOURCE:
            return Source(self.kind, EVERY_SOURCE)
        return Source(self.kind, self.resolve(database, source_id))


def number_of(text: str, what: str) -> int:
    """The number in a path. Raises NotFoundError: nothing else has one."""
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise NotFoundError(f"there is no {what} {text[:40]!r}")
    return int(text)


def _watchlist(database: Database, text: str) -> str:
    with database.reading() as connection:
        return str(watchlists.get(connection, number_of(text, "watchlist")).id)


def _feed(database: Database, text: str) -> str:
    return str(feeds.get(database, number_of(text, "feed")).id)


def _rule(database: Database, text: str) -> str:
    rules.get(database, text)  # raises where there is none
    return text


ACTION_SOURCES: Final[tuple[ActionSource, ...]] = (
    ActionSource("watchlist", "/api/v1/watchlist", _watchlist),
    ActionSource("feed", "/api/v1/feed", _feed),
    ActionSource("rule", "/api/v1/sigma", _rule),
)
"""Every kind of source that has actions."""
