"""Watchlists: definitions, all ids that they ever had, and execution results.

A watchlist has a key that never changes. Each change of its query assigns a new, higher id, because
documents are tagged by id. An earlier id still refers to the current watchlist.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    BindParameter,
    Connection,
    Select,
    Text,
    bindparam,
    case,
    delete,
    insert,
    literal,
    select,
    update,
)

from vedette.errors import BadRequestError, ConflictError, NotFoundError
from vedette.limits import WATCHLIST_ID_MAX, Limit
from vedette.model.findings.detection import Source
from vedette.model.rights.authorization import EVERYWHERE, Deed, Managed, of_groups
from vedette.record.columns import from_row, row_of
from vedette.record.objects.watchlist import ALL_GROUPS, Watchlist, WatchlistVersion
from vedette.state.db.database import insert_new
from vedette.state.db.schema import VALUE
from vedette.state.db.schema_watchlists import WATCHLIST, WATCHLIST_ID
from vedette.state.policy import actions
from vedette.state.shares.quota import check_room
from vedette.state.shares.quota_list import WATCHLISTS

WATCHLIST_IDS_AHEAD_MAX: Limit[int] = 100_000
"""Maximum distance of a caller-chosen id above the next free id."""

WATCHLIST_PAST_S: Limit[int] = 7 * 24 * 3600
"""Age (s) of the stored telemetry that a new or edited watchlist is executed over: the period that
analysts still work on. A query over a longer period is a search."""


_GIVEN: Final = "watchlist_id_given"
"""Key of a stored value: the highest id that was assigned automatically."""

EVERY_WINDOW: Final = 1 << 53
"""`past_ms` of a watchlist that has not yet judged any stored telemetry."""


def of_group(group_id: int) -> Managed:
    """Returns the objects that a watchlist's sensor group covers: its own, or all groups."""
    return EVERYWHERE if group_id == ALL_GROUPS else of_groups(group_id)


@dataclass(frozen=True, slots=True)
class Executed:
    """Results of one execution of a watchlist."""

    key: int
    id: int
    """Id of the executed query; the results are ignored if the watchlist has another id
    meanwhile."""
    hits: int = 0
    tags: int = 0
    cost_us: int = 0
    error: str = ""
    stopped: str = ""


def all_watchlists(connection: Connection) -> list[Watchlist]:
    """Returns all watchlists, sorted by id."""
    rows = connection.execute(select(WATCHLIST).order_by(WATCHLIST.c.id)).mappings()
    return [from_row(Watchlist, row) for row in rows]


def get(connection: Connection, watchlist_id: int) -> Watchlist:
    """Returns the watchlist that has this id now or had it earlier. Raises NotFoundError."""
    return _found(connection, _with_id(watchlist_id), watchlist_id)


def held(connection: Connection, watchlist_id: int) -> Watchlist:
    """Like `get`, with a row lock until the transaction ends."""
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
        raise NotFoundError(f"watchlist {watchlist_id} not found")
    return from_row(Watchlist, row)


def history(connection: Connection, key: int) -> list[WatchlistVersion]:
    """Returns every query that a watchlist had, oldest first."""
    rows = connection.execute(
        select(WATCHLIST_ID).where(WATCHLIST_ID.c.watchlist_key == key).order_by(WATCHLIST_ID.c.id)
    ).mappings()
    return [from_row(WatchlistVersion, row) for row in rows]


def add(connection: Connection, new: Watchlist, now_us: int, chosen_id: int | None = None) -> int:
    """Adds a watchlist and returns its id. The id of a deleted watchlist may be chosen again.

    Raises ConflictError for an id that refers to a watchlist and above the quota (`WATCHLISTS`),
    BadRequestError for a chosen id far above the next free one, so that ids do not run out.
    """
    check_room(connection, WATCHLISTS, new.user_id)
    next_id = _next_id(connection)
    if chosen_id is None:
        _note_given(connection, next_id)
    elif chosen_id > (most := next_id + WATCHLIST_IDS_AHEAD_MAX):
        raise BadRequestError(f"id: must be at most {most}; ids are assigned in order")
    watchlist_id = chosen_id or next_id
    taken = select(WATCHLIST_ID.c.watchlist_key).where(WATCHLIST_ID.c.id == watchlist_id)
    if connection.scalar(taken) is not None:
        raise ConflictError(f"id: watchlist {watchlist_id} already exists")
    made = replace(new, id=watchlist_id, date_added_us=now_us, **_whole_past(now_us))
    values = row_of(made, "key")
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
    mover_id: int | None = None,
) -> Watchlist:
    """Changes columns of a watchlist.

    A new query assigns the next free id, resets the results, and takes over the actions of
    `move_actions_from`, by default the watchlist's own earlier id. Enabling a watchlist, or
    restarting one that was stopped, judges stored telemetry again. `mover_id` is the user who may
    not take personal actions of other users from another watchlist; None takes all actions. Raises
    NotFoundError for an unknown `move_actions_from`.
    """
    changed = {name: value for name, value in values.items() if getattr(known, name) != value}
    if changed.get("enabled") or (values.get("enabled") and known.stopped):
        changed |= {"stopped": "", "last_error": "", "last_result": 0, **_whole_past(now_us)}
        changed |= {"cost_us": 0}
    if {"search_query", "index_type"} & changed.keys():
        changed |= _new_query(connection, known, changed, now_us, move_actions_from, mover_id)
    if changed:
        connection.execute(update(WATCHLIST).where(WATCHLIST.c.key == known.key).values(changed))
    return get(connection, changed.get("id", known.id))


def change_right(known: Watchlist) -> tuple[Deed, Managed]:
    """Returns the right that a change of the watchlist requires."""
    action = Deed.CHANGE_READ_ONLY_WATCHLIST if known.readonly else Deed.CHANGE_WATCHLIST
    return action, of_group(known.group_id)


def remove(connection: Connection, known: Watchlist) -> None:
    """Deletes a watchlist and its actions. Its ids are never assigned automatically again, because
    documents are tagged with them."""
    connection.execute(delete(WATCHLIST).where(WATCHLIST.c.key == known.key))
    actions.remove_of(connection, _source(known.id))


def executed(connection: Connection, found: Iterable[Executed], now_us: int) -> None:
    """Adds the results and costs of executions; skips watchlists that have changed meanwhile."""
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
"""One statement for all watchlists of a round; only watchlists that are not stopped are
executed."""


def past_judged(connection: Connection, known: Watchlist, until_ms: int) -> None:
    """Records that windows from `until_ms` on have been judged. Does nothing if the watchlist was
    changed or restarted meanwhile."""
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
    mover_id: int | None,
) -> dict[str, Any]:
    """Assigns the next id to a watchlist whose query changes. Returns the columns to update."""
    giver = known if move_actions_from is None else get(connection, move_actions_from)
    watchlist_id = _free_id(connection, known.id + 1)
    if watchlist_id > WATCHLIST_ID_MAX:  # chosen that high in an older version
        watchlist_id = _next_id(connection)
    connection.execute(
        update(WATCHLIST_ID).where(WATCHLIST_ID.c.id == known.id).values(until_us=now_us)
    )
    values = {
        name: changed.get(name, getattr(known, name))
        for name in ("name", "search_query", "index_type")
    }
    _give_id(connection, known.key, watchlist_id, values, now_us)
    if giver.key != known.key:
        if mover_id is not None:
            actions.move_of_others(connection, _source(known.id), _source(watchlist_id), mover_id)
        actions.remove_of(connection, _source(known.id))
    actions.move(
        connection, _source(giver.id), _source(watchlist_id), _mover(giver, known, mover_id)
    )
    return {
        "id": watchlist_id,
        **dict.fromkeys(("last_hit_us", "last_hit_count", "total_hits", "total_tags"), 0),
        **dict.fromkeys(("search_us", "last_result", "last_us", "cost_us"), 0),
        **{"last_error": "", "stopped": ""},
        **_whole_past(now_us),
    }


def _mover(giver: Watchlist, known: Watchlist, mover_id: int | None) -> int | None:
    """Returns the `mover_id` for moving actions; None for a watchlist's own actions, which all
    move."""
    return None if giver.key == known.key else mover_id


def _give_id(
    connection: Connection, key: int, watchlist_id: int, values: Mapping[str, Any], now_us: int
) -> None:
    row = {name: values[name] for name in ("name", "search_query", "index_type")}
    row |= {"id": watchlist_id, "watchlist_key": key, "from_us": now_us}
    connection.execute(insert(WATCHLIST_ID).values(row))


def _next_id(connection: Connection) -> int:
    """Returns the lowest id above the automatically assigned ids that no watchlist ever had. Chosen
    ids do not raise this mark, so that they cannot use up the id range."""
    given = connection.scalar(select(VALUE.c.value).where(VALUE.c.name == _GIVEN))
    return _free_id(connection, int(given or 0) + 1)


def _note_given(connection: Connection, watchlist_id: int) -> None:
    connection.execute(insert_new(connection, VALUE), {"name": _GIVEN, "value": "0"})
    noted = update(VALUE).where(VALUE.c.name == _GIVEN).values(value=str(watchlist_id))
    connection.execute(noted)


def _free_id(connection: Connection, lowest: int) -> int:
    """Returns the lowest id from `lowest` on that no watchlist ever had."""
    is_used = select(literal(1)).where(WATCHLIST_ID.c.id == lowest)
    if connection.scalar(is_used) is None:
        return lowest
    following = WATCHLIST_ID.alias()
    is_followed = select(literal(1)).where(following.c.id == WATCHLIST_ID.c.id + 1).exists()
    last_used = (
        select(WATCHLIST_ID.c.id)
        .where(WATCHLIST_ID.c.id >= lowest, ~is_followed)
        .order_by(WATCHLIST_ID.c.id)
        .limit(1)
    )
    return int(connection.scalar(last_used) or 0) + 1


def _whole_past(now_us: int) -> dict[str, Any]:
    """Returns the columns of a watchlist that must still judge stored telemetry."""
    past_from_ms = max(0, now_us // 1_000 - WATCHLIST_PAST_S * 1_000)
    return {"past_ms": EVERY_WINDOW, "past_from_ms": past_from_ms}


def _source(watchlist_id: int) -> Source:
    return Source("watchlist", str(watchlist_id))
