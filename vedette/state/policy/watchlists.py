"""Watchlists: their records, every id that they had, and what their execution says of them.

A watchlist has a key that never changes. Its id rises with every change of its query, because
documents are tagged by id; an older id leads to the record as it is now.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    BindParameter,
    Connection,
    RowMapping,
    Select,
    Text,
    bindparam,
    case,
    delete,
    func,
    insert,
    select,
    update,
)

from vedette.errors import ConflictError, NotFoundError
from vedette.limits import WATCHLIST_PAST_S, WATCHLISTS_MAX
from vedette.model.findings.detection import Source
from vedette.state.db.schema_watchlists import WATCHLIST, WATCHLIST_ID
from vedette.state.policy import actions

ALL_GROUPS: Final = -1
"""`group_id` of a watchlist over every sensor."""

EVERY_WINDOW: Final = 1 << 53
"""`past_ms` of a watchlist of which nothing of the stored past is judged yet."""


@dataclass(frozen=True, slots=True)
class Watchlist:
    """A stored watchlist. Times in epoch microseconds, 0 for never."""

    key: int
    id: int
    name: str
    description: str | None
    search_query: str
    index_type: str
    enabled: bool
    readonly: bool
    group_id: int
    alliance_id: str
    from_alliance: bool
    user_id: int
    date_added_us: int
    last_hit_us: int
    last_hit_count: int
    total_hits: int
    total_tags: int
    search_us: int
    last_result: int
    last_error: str
    last_us: int
    cost_us: int
    cost_hour: int
    stopped: str
    past_ms: int
    past_from_ms: int

    @property
    def is_active(self) -> bool:
        """Whether it is executed."""
        return self.enabled and not self.stopped

    @property
    def has_past(self) -> bool:
        """Whether stored telemetry from before it was saved is still to be judged."""
        return self.past_ms > self.past_from_ms


@dataclass(frozen=True, slots=True)
class NewWatchlist:
    """What a caller gives."""

    name: str
    search_query: str
    index_type: str
    description: str | None = None
    enabled: bool = True
    readonly: bool = False
    group_id: int = ALL_GROUPS
    user_id: int = 0


@dataclass(frozen=True, slots=True)
class Former:
    """A query that a watchlist had under an earlier id, or has now (`until_us` 0)."""

    id: int
    name: str
    search_query: str
    index_type: str
    from_us: int
    until_us: int


@dataclass(frozen=True, slots=True)
class Executed:
    """What one execution adds to a watchlist."""

    key: int
    id: int
    """Of the query that was executed: nothing is added to another one."""
    hits: int = 0
    tags: int = 0
    cost_us: int = 0
    error: str = ""
    stopped: str = ""


def all_watchlists(connection: Connection) -> list[Watchlist]:
    """By id."""
    rows = connection.execute(select(WATCHLIST).order_by(WATCHLIST.c.id)).mappings()
    return [_watchlist(row) for row in rows]


def get(connection: Connection, watchlist_id: int) -> Watchlist:
    """The watchlist that has an id, or had it. Raises NotFoundError."""
    return _found(connection, _with_id(watchlist_id), watchlist_id)


def held(connection: Connection, watchlist_id: int) -> Watchlist:
    """The same, which nobody else can change until the transaction ends."""
    query = _with_id(watchlist_id).with_for_update(of=WATCHLIST)
    return _found(connection, query, watchlist_id)


def _with_id(watchlist_id: int) -> Select[Any]:
    return (
        select(WATCHLIST)
        .join(WATCHLIST_ID, WATCHLIST_ID.c.watchlist_key == WATCHLIST.c.key)
        .where(WATCHLIST_ID.c.id == watchlist_id)
    )


def _found(connection: Connection, query: Select[Any], watchlist_id: int) -> Watchlist:
    row = connection.execute(query).mappings().first()
    if row is None:
        raise NotFoundError(f"there is no watchlist {watchlist_id}")
    return _watchlist(row)


def history(connection: Connection, key: int) -> list[Former]:
    """Every query that a watchlist had, the oldest first."""
    rows = connection.execute(
        select(WATCHLIST_ID).where(WATCHLIST_ID.c.watchlist_key == key).order_by(WATCHLIST_ID.c.id)
    ).mappings()
    return [
        Former(
            row["id"],
            row["name"],
            row["search_query"],
            row["index_type"],
            row["from_us"],
            row["until_us"],
        )
        for row in rows
    ]


def add(
    connection: Connection, new: NewWatchlist, now_us: int, chosen_id: int | None = None
) -> int:
    """The id of the new watchlist. An id of a deleted watchlist may be chosen again.

    Raises ConflictError for an id that leads to a watchlist, and above `WATCHLISTS_MAX`.
    """
    if (connection.scalar(select(func.count()).select_from(WATCHLIST)) or 0) >= WATCHLISTS_MAX:
        raise ConflictError(f"there are at most {WATCHLISTS_MAX:,} watchlists")
    watchlist_id = chosen_id or _free_id(connection, 1, is_last=True)
    taken = select(WATCHLIST_ID.c.watchlist_key).where(WATCHLIST_ID.c.id == watchlist_id)
    if connection.scalar(taken) is not None:
        raise ConflictError(f"id: there is a watchlist {watchlist_id} already")
    values = {
        "id": watchlist_id,
        "name": new.name,
        "description": new.description,
        "search_query": new.search_query,
        "index_type": new.index_type,
        "enabled": new.enabled,
        "readonly": new.readonly,
        "group_id": new.group_id,
        "user_id": new.user_id,
        "date_added_us": now_us,
        **_whole_past(now_us),
    }
    key: int = connection.execute(
        insert(WATCHLIST).values(values).returning(WATCHLIST.c.key)
    ).scalar_one()
    connection.execute(delete(WATCHLIST_ID).where(WATCHLIST_ID.c.id == watchlist_id))
    _give_id(connection, key, watchlist_id, values, now_us)
    return watchlist_id


def change(
    connection: Connection,
    known: Watchlist,
    values: Mapping[str, Any],
    now_us: int,
    move_actions_from: int | None = None,
) -> Watchlist:
    """Changes columns of a watchlist. With another query it gets the next free id, starts anew,
    and takes over the actions of `move_actions_from`, which is its own old id unless named. When
    it is enabled again, or started after it was stopped, its past is judged again.

    Raises NotFoundError for an unknown `move_actions_from`.
    """
    changed = {name: value for name, value in values.items() if getattr(known, name) != value}
    if changed.get("enabled") or (values.get("enabled") and known.stopped):
        changed |= {"stopped": "", "last_error": "", "last_result": 0, **_whole_past(now_us)}
        changed |= {"cost_us": 0}
    if {"search_query", "index_type"} & changed.keys():
        changed |= _new_query(connection, known, changed, now_us, move_actions_from)
    if changed:
        connection.execute(update(WATCHLIST).where(WATCHLIST.c.key == known.key).values(changed))
    return get(connection, changed.get("id", known.id))


def remove(connection: Connection, known: Watchlist) -> None:
    """Deletes a watchlist and its actions. Its ids are not given again by themselves, because
    documents are tagged with them."""
    connection.execute(delete(WATCHLIST).where(WATCHLIST.c.key == known.key))
    actions.remove_of(connection, _source(known.id))


def executed(connection: Connection, found: Iterable[Executed], now_us: int) -> None:
    """Adds what executions found and cost; a watchlist that was changed meanwhile is left alone."""
    rows = [
        {
            "of_key": one.key,
            "of_id": one.id,
            "cost": one.cost_us,
            "result": 2 if one.stopped else 1 if one.error else 0,
            "error": one.error,
            "why": one.stopped,
            "hits": one.hits,
            "tags": one.tags,
            "at_us": now_us,
            "hour": now_us // 3_600_000_000,
        }
        for one in found
    ]
    if rows:
        connection.execute(_EXECUTED, rows)


def _number(name: str) -> BindParameter[int]:
    return bindparam(name, type_=BigInteger)


_HITS: Final = _number("hits")
_HOUR: Final = _number("hour")
_EXECUTED: Final = (
    update(WATCHLIST)
    .where(WATCHLIST.c.key == _number("of_key"), WATCHLIST.c.id == _number("of_id"))
    .values(
        search_us=_number("at_us"),
        last_us=_number("cost"),
        last_result=_number("result"),
        last_error=bindparam("error", type_=Text),
        cost_us=case((WATCHLIST.c.cost_hour == _HOUR, WATCHLIST.c.cost_us), else_=0)
        + _number("cost"),
        cost_hour=_HOUR,
        total_hits=WATCHLIST.c.total_hits + _HITS,
        total_tags=WATCHLIST.c.total_tags + _number("tags"),
        stopped=bindparam("why", type_=Text),
        last_hit_us=case((_HITS > 0, _number("at_us")), else_=WATCHLIST.c.last_hit_us),
        last_hit_count=case((_HITS > 0, _HITS), else_=WATCHLIST.c.last_hit_count),
    )
)
"""One statement for all watchlists of a round; only those that are not stopped are executed."""


def past_judged(connection: Connection, known: Watchlist, until_ms: int) -> None:
    """Notes that windows from `until_ms` on are judged; nothing when the watchlist was changed or
    started anew meanwhile."""
    connection.execute(
        update(WATCHLIST)
        .where(WATCHLIST.c.key == known.key, WATCHLIST.c.id == known.id)
        .where(WATCHLIST.c.past_ms == known.past_ms)
        .values(past_ms=until_ms)
    )


def _new_query(
    connection: Connection,
    known: Watchlist,
    changed: Mapping[str, Any],
    now_us: int,
    move_actions_from: int | None,
) -> dict[str, Any]:
    """Columns of a watchlist whose query changes, with its next id."""
    giver = known if move_actions_from is None else get(connection, move_actions_from)
    watchlist_id = _free_id(connection, known.id + 1)
    connection.execute(
        update(WATCHLIST_ID).where(WATCHLIST_ID.c.id == known.id).values(until_us=now_us)
    )
    values = {
        name: changed.get(name, getattr(known, name))
        for name in ("name", "search_query", "index_type")
    }
    _give_id(connection, known.key, watchlist_id, values, now_us)
    actions.move(connection, _source(giver.id), _source(watchlist_id))
    if giver.key != known.key:
        actions.remove_of(connection, _source(known.id))
    return {
        "id": watchlist_id,
        **dict.fromkeys(("last_hit_us", "last_hit_count", "total_hits", "total_tags"), 0),
        **dict.fromkeys(("search_us", "last_result", "last_us", "cost_us"), 0),
        **{"last_error": "", "stopped": ""},
        **_whole_past(now_us),
    }


def _give_id(
    connection: Connection, key: int, watchlist_id: int, values: Mapping[str, Any], now_us: int
) -> None:
    row = {name: values[name] for name in ("name", "search_query", "index_type")}
    row |= {"id": watchlist_id, "watchlist_key": key, "from_us": now_us}
    connection.execute(insert(WATCHLIST_ID).values(row))


def _free_id(connection: Connection, lowest: int, *, is_last: bool = False) -> int:
    """The lowest id from `lowest` on that no watchlist ever had, or one above all of them."""
    used = connection.scalars(
        select(WATCHLIST_ID.c.id).where(WATCHLIST_ID.c.id >= lowest).order_by(WATCHLIST_ID.c.id)
    ).all()
    if is_last:
        return max(used, default=lowest - 1) + 1
    free = lowest
    for one in used:
        if one > free:
            break
        free = one + 1
    return free


def _whole_past(now_us: int) -> dict[str, int]:
    """Columns of a watchlist whose past is still to be judged."""
    past_from_ms = max(0, now_us // 1_000 - WATCHLIST_PAST_S * 1_000)
    return {"past_ms": EVERY_WINDOW, "past_from_ms": past_from_ms}


def _source(watchlist_id: int) -> Source:
    return Source("watchlist", str(watchlist_id))


def _watchlist(row: RowMapping) -> Watchlist:
    return Watchlist(**{name: row[name] for name in Watchlist.__dataclass_fields__})
