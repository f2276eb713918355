"""Scopes of principals: the sensors of their groups (docs/telemetry-model.md, Scope)."""

from collections import OrderedDict
from threading import Lock

from sqlalchemy import select

from vedette import limits
from vedette.clock import Clock
from vedette.limits import Limit
from vedette.model.principal import Principal
from vedette.model.rights.authorization import Deed, groups_where
from vedette.model.scope import EVERYTHING, Scope
from vedette.state.db.database import Database
from vedette.state.db.schema import SENSOR

SCOPES_CACHED_MAX: Limit[int] = 64
"""Sets of groups with cached sensors."""


_NOTHING = Scope(frozenset())


class Scopes:
    """Scopes of principals, with a cache whose entries live for a second."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._read: OrderedDict[frozenset[int], tuple[int, Scope]] = OrderedDict()
        self._lock = Lock()

    def of(self, principal: Principal) -> Scope:
        """Returns everything for global administrators, nothing for senders and for users whose
        teams give them no role, else the sensors that are currently in the principal's groups."""
        return self.of_groups(principal.visible_groups)

    def acting(self, principal: Principal, deed: Deed) -> Scope:
        """Returns the sensors for which the principal may currently do `deed`."""
        groups = groups_where(principal, deed)
        if groups is None:
            return EVERYTHING
        return self._look(groups) if groups else _NOTHING

    def cached(self, principal: Principal) -> Scope | None:
        """Like `of`, from the cache alone; None on a cache miss."""
        return self.cached_groups(principal.visible_groups)

    def of_groups(self, groups: frozenset[int] | None) -> Scope:
        """Returns the sensors that are currently in `groups`; everything for None."""
        return self.cached_groups(groups) or self._look(groups or frozenset())

    def cached_groups(self, groups: frozenset[int] | None) -> Scope | None:
        """Like `of_groups`, from the cache alone; None on a cache miss."""
        if groups is None:
            return EVERYTHING
        if not groups:
            return _NOTHING
        with self._lock:
            read_us, scope = self._read.get(groups, (0, _NOTHING))
        is_fresh = 0 <= self._clock.now_us() - read_us < limits.TOKEN_STALE_US
        return scope if is_fresh else None

    def _look(self, groups: frozenset[int]) -> Scope:
        now_us = self._clock.now_us()
        with self._database.reading() as connection:
            ids = connection.scalars(select(SENSOR.c.id).where(SENSOR.c.group_id.in_(groups)))
            scope = Scope(frozenset(ids))
        with self._lock:
            self._read[groups] = (now_us, scope)
            self._read.move_to_end(groups)
            if len(self._read) > SCOPES_CACHED_MAX:
                self._read.popitem(last=False)
        return scope
