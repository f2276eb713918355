"""Kinds of sources that have actions, and how routes look up each. To add a kind, add a line to
`ACTION_SOURCES`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from vedette.errors import NotFoundError
from vedette.model.findings.action import EVERY_SOURCE
from vedette.model.findings.detection import Source, SourceKind
from vedette.model.principal import Principal, Role
from vedette.model.rights.authorization import EVERYWHERE, Deed, Managed
from vedette.record.objects.watchlist import ALL_GROUPS
from vedette.state.db.database import Database
from vedette.state.policy import feeds, rules, watchlists


@dataclass(frozen=True, slots=True)
class Resolved:
    """An existing source that a path names."""

    id: str
    """Id under which actions refer to the source."""
    group_id: int = ALL_GROUPS
    deed: Deed = Deed.CHANGE_SOURCE_ACTION
    """Deed that covers changes to this source's own actions."""

    @property
    def change_right(self) -> tuple[Deed, Managed]:
        """The deed, and the object to check it on, for a change to this source's own actions."""
        return self.deed, watchlists.of_group(self.group_id)


@dataclass(frozen=True, slots=True)
class ActionSource:
    """A kind of source. `resolve` raises NotFoundError for a source that does not exist."""

    kind: SourceKind
    base: str
    """Path prefix of its routes."""
    resolve: Callable[[Database, str], Resolved]

    def source(
        self, database: Database, caller: Principal, source_id: str
    ) -> tuple[Source, tuple[Deed, Managed]]:
        """Returns the source that a path names, with the deed and object to check before changing
        its actions. Raises NotFoundError if it does not exist or the caller cannot see it."""
        if source_id == EVERY_SOURCE:
            right = Deed.CHANGE_ACTION_OF_ALL_SOURCES, EVERYWHERE
            return Source(self.kind, EVERY_SOURCE), right
        found = self.resolve(database, source_id)
        if not sees_group(caller, found.group_id):
            raise NotFoundError(f"{self.kind} {source_id[:40]!r} not found")
        return Source(self.kind, found.id), found.change_right


def sees_group(caller: Principal, group_id: int) -> bool:
    """Returns whether a caller sees objects of a sensor group, or of all groups for
    `ALL_GROUPS`."""
    return group_id == ALL_GROUPS or caller.role_in(group_id) >= Role.VIEWER


def number_of(text: str, what: str) -> int:
    """Parses a number in a path. Raises NotFoundError for any other text, because no object has
    such an id."""
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise NotFoundError(f"{what} {text[:40]!r} not found")
    return int(text)


def _watchlist(database: Database, text: str) -> Resolved:
    number = number_of(text, "watchlist")
    try:
        with database.reading() as connection:
            found = watchlists.get(connection, number)
    except NotFoundError:
        raise NotFoundError(f"watchlist {text[:40]!r} not found") from None
    if found.readonly:
        return Resolved(str(found.id), found.group_id, Deed.CHANGE_READ_ONLY_WATCHLIST)
    return Resolved(str(found.id), found.group_id)


def _feed(database: Database, text: str) -> Resolved:
    return Resolved(str(feeds.get(database, number_of(text, "feed")).id))


def _rule(database: Database, text: str) -> Resolved:
    rules.get(database, text)  # raises NotFoundError
    return Resolved(text)


WATCHLIST_SOURCE: Final = ActionSource("watchlist", "/api/v1/watchlist", _watchlist)
FEED_SOURCE: Final = ActionSource("feed", "/api/v1/feed", _feed)

ACTION_SOURCES: Final[tuple[ActionSource, ...]] = (
    WATCHLIST_SOURCE,
    FEED_SOURCE,
    ActionSource("rule", "/api/v1/sigma", _rule),
)
"""All kinds of sources that have actions."""
