"""What has actions, and how the routes of each find it: to add one, add a line to the tuple."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from vedette.errors import ForbiddenError, NotFoundError
from vedette.model.findings.action import EVERY_SOURCE
from vedette.model.findings.detection import Source, SourceKind
from vedette.model.principal import ROLE_NAMES, Principal, Role
from vedette.state.db.database import Database
from vedette.state.policy import feeds, rules, watchlists
from vedette.state.policy.watchlists import ALL_GROUPS


@dataclass(frozen=True, slots=True)
class ActionSource:
    """A kind of source. `resolve` gives the id by which actions know it now, and the sensor group
    that it belongs to, or `ALL_GROUPS`; it raises NotFoundError where there is none."""

    kind: SourceKind
    base: str
    """Path of its routes."""
    resolve: Callable[[Database, str], tuple[str, int]]

    def source(
        self, database: Database, caller: Principal, source_id: str, needed: Role = Role.VIEWER
    ) -> Source:
        """The source of a path, for a caller who has at least the role `needed` in its group.

        Raises NotFoundError, also where they do not see it, and ForbiddenError.
        """
        if source_id == EVERY_SOURCE:
            return Source(self.kind, EVERY_SOURCE)
        known_as, group_id = self.resolve(database, source_id)
        if not sees_group(caller, group_id):
            raise NotFoundError(f"there is no {self.kind} {source_id[:40]!r}")
        if group_id != ALL_GROUPS and caller.role_in(group_id) < needed:
            raise ForbiddenError(
                f"{caller.name} must be {ROLE_NAMES[needed]} in sensor group {group_id}"
            )
        return Source(self.kind, known_as)


def sees_group(caller: Principal, group_id: int) -> bool:
    """Whether a caller sees what belongs to a sensor group, or to all of them."""
    return group_id == ALL_GROUPS or caller.role_in(group_id) >= Role.VIEWER


def number_of(text: str, what: str) -> int:
    """The number in a path. Raises NotFoundError: nothing else has one."""
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise NotFoundError(f"there is no {what} {text[:40]!r}")
    return int(text)


def _watchlist(database: Database, text: str) -> tuple[str, int]:
    number = number_of(text, "watchlist")
    try:
        with database.reading() as connection:
            found = watchlists.get(connection, number)
    except NotFoundError:
        raise NotFoundError(f"there is no watchlist {text[:40]!r}") from None
    return str(found.id), found.group_id


def _feed(database: Database, text: str) -> tuple[str, int]:
    return str(feeds.get(database, number_of(text, "feed")).id), ALL_GROUPS


def _rule(database: Database, text: str) -> tuple[str, int]:
    rules.get(database, text)  # raises where there is none
    return text, ALL_GROUPS


ACTION_SOURCES: Final[tuple[ActionSource, ...]] = (
    ActionSource("watchlist", "/api/v1/watchlist", _watchlist),
    ActionSource("feed", "/api/v1/feed", _feed),
    ActionSource("rule", "/api/v1/sigma", _rule),
)
"""Every kind of source that has actions."""
