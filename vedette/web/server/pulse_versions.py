"""Current versions of the objects that a page follows (`web/json/pulse_versions.py`)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

from vedette.errors import BadRequestError
from vedette.limits import Limit
from vedette.model.principal import Principal
from vedette.model.scope import Scope
from vedette.respond.filters import fetched
from vedette.search.bounded_engine import BoundedEngine
from vedette.state.devices import update_jobs
from vedette.state.jobs import outbox
from vedette.state.policy import bans, feeds, filters, rules, watchlists
from vedette.state.sensors import sensor_list
from vedette.store.read.binaries import binaries_of
from vedette.store.read.detection.alerts import alerts_by_id
from vedette.web.fleet.models import status_of
from vedette.web.http.access import holds
from vedette.web.http.action_sources import sees_group
from vedette.web.http.rights.right import Right
from vedette.web.http.services import Services
from vedette.web.json.pulse_versions import followed
from vedette.web.programs.binary_requests_routes import order_of

FOLLOWED_OBJECTS_MAX: Limit[int] = 200
"""Objects that a page may follow: those of a page of rows, and as many elsewhere on the page."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Context of a request for versions."""

    engine: BoundedEngine
    here: Services
    caller: Principal
    scope: Scope

    def is_visible_filter(self, one: Any) -> bool:
        groups = self.caller.visible_groups
        if groups is None or one.is_global:
            return True
        is_of_group = not groups.isdisjoint(one.group_ids)
        return is_of_group or any(map(self.scope.allows, one.sensor_ids))


_Parts = Mapping[str, tuple[Any, ...]]
"""Maps ids of objects that the caller sees to the arguments of `followed`."""


def versions(reading: Reading, names: str) -> dict[str, dict[str, Any] | None]:
    """Returns the state of objects by name: `KIND:ID`, with a percent-encoded id, separated by
    commas. None for an object that does not exist or that the caller may not see. Raises
    BadRequestError."""
    given = list(dict.fromkeys(filter(None, names.split(","))))
    if len(given) > FOLLOWED_OBJECTS_MAX:
        raise BadRequestError(f"of: must have at most {FOLLOWED_OBJECTS_MAX} objects")
    by_kind: dict[str, dict[str, str]] = {}
    for name in given:
        kind, _, key = name.partition(":")
        if kind not in _READERS or not key:
            raise BadRequestError(f"of: {name[:60]!r} is not an object like sensor:12")
        by_kind.setdefault(kind, {})[unquote(key)] = name
    found: dict[str, dict[str, Any] | None] = dict.fromkeys(given)
    for kind, named in by_kind.items():
        right, read = _READERS[kind]
        if not holds(reading.caller, right):
            continue
        for key, parts in read(reading, list(named)).items():
            state = followed(kind, *parts)
            found[named[key]] = {"version": state.version, "settled": state.is_settled}
    return found


def _sensors(reading: Reading, keys: Sequence[str]) -> _Parts:
    rows = sensor_list.some(reading.here.database, reading.scope, _numbers(keys))
    now_us = reading.here.clock.now_us()
    return {str(number): (row, status_of(row, now_us)) for number, row in rows.items()}


def _jobs(reading: Reading, keys: Sequence[str]) -> _Parts:
    return _wanted(keys, update_jobs.all_jobs(reading.here.database, reading.scope))


def _feeds(reading: Reading, keys: Sequence[str]) -> _Parts:
    return _wanted(keys, feeds.all_feeds(reading.here.database))


def _watchlists(reading: Reading, keys: Sequence[str]) -> _Parts:
    with reading.here.database.reading() as connection:
        stored = watchlists.all_watchlists(connection)
    return _wanted(keys, (one for one in stored if sees_group(reading.caller, one.group_id)))


def _filters(reading: Reading, keys: Sequence[str]) -> _Parts:
    _, stored = filters.load(reading.here.database)
    shown = [one for one in stored if one.id in keys and reading.is_visible_filter(one)]
    far = fetched(reading.here.database, reading.scope, shown)
    return {one.id: (one, far.get(one.id)) for one in shown}


def _bans(reading: Reading, keys: Sequence[str]) -> _Parts:
    stored = {one.md5: one for one in bans.all_bans(reading.here.database)}
    return {key: (stored.get(key),) for key in keys}


def _rules(reading: Reading, keys: Sequence[str]) -> _Parts:
    generation = rules.in_force(reading.here.database).generation
    stored = rules.named(reading.here.database, keys)
    return {key: (one, one.state(generation)) for key, one in stored.items()}


def _alerts(reading: Reading, keys: Sequence[str]) -> _Parts:
    stored = alerts_by_id(reading.engine, keys, reading.scope)
    return {key: (row,) for key, row in stored.items()}


def _files(reading: Reading, keys: Sequence[str]) -> _Parts:
    shown: dict[str, tuple[Any, ...]] = {}
    for row in binaries_of(reading.engine, keys, reading.scope):
        order = order_of(reading.here, reading.scope, row)
        for digest in {row["md5"], row["sha256"]} & set(keys):
            shown[digest] = (order,)
    return shown


def _messages(reading: Reading, keys: Sequence[str]) -> _Parts:
    database = reading.here.database
    return dict.fromkeys(keys, (outbox.targets(database), outbox.dead_counts(database)))


def _numbers(keys: Iterable[str]) -> list[int]:
    return [int(key) for key in keys if key.isascii() and key.isdecimal() and len(key) < 10]


def _wanted(keys: Sequence[str], stored: Iterable[Any]) -> _Parts:
    wanted = set(keys)
    return {str(one.id): (one,) for one in stored if str(one.id) in wanted}


_READERS: Final[Mapping[str, tuple[Right, Callable[[Reading, Sequence[str]], _Parts]]]] = {
    "sensor": (Right.READ, _sensors),
    "job": (Right.VIEW, _jobs),
    "feed": (Right.VIEW, _feeds),
    "watchlist": (Right.VIEW, _watchlists),
    "filter": (Right.VIEW, _filters),
    "ban": (Right.VIEW, _bans),
    "rule": (Right.VIEW, _rules),
    "alert": (Right.READ, _alerts),
    "file": (Right.READ, _files),
    "messages": (Right.ADMINISTER, _messages),
}
"""Maps each kind of object to the required right and the function that reads it."""
