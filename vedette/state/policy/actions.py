"""Actions of sources: the consequences when a rule, a feed or a watchlist has a hit.

The alert action of a source is a row, or none if it equals the default of the source's kind
(`model/findings/action.py`). Mail actions belong to a user, who switches them on or off. Rows with
the source `EVERY_SOURCE` apply to all sources of a kind; such rows of rules also apply to
detections of the server itself.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson
from sqlalchemy import Connection, RowMapping, delete, insert, select, update

from vedette.errors import NotFoundError
from vedette.limits import Limit
from vedette.model.findings.action import ALERTS_BY_DEFAULT, EVERY_SOURCE, Action, ActionType
from vedette.model.findings.detection import Source, SourceKind
from vedette.state.db.author import current_author
from vedette.state.db.schema_actions import ACTION
from vedette.state.shares.quota import check_room
from vedette.state.shares.quota_list import ACTIONS

SOURCES_PER_STATEMENT: Limit[int] = 500
"""Source ids in one statement; both databases limit the number of parameters."""


@dataclass(frozen=True, slots=True)
class EnabledActions:
    """Current actions of a source: `is_alerting` tells whether it raises alerts, `messages` are all
    other enabled actions."""

    is_alerting: bool
    messages: tuple[Action, ...] = ()


@dataclass(frozen=True, slots=True)
class NewAction:
    """An action to add. The caller seals `secret`; "" for none."""

    source: Source
    type: ActionType
    enabled: bool
    user_id: int
    data: Mapping[str, Any]
    secret: str = ""


def enabled_actions(
    connection: Connection, sources: Iterable[Source]
) -> dict[Source, EnabledActions]:
    """Maps each source to its enabled actions. Runs one statement per `SOURCES_PER_STATEMENT`
    sources."""
    wanted = set(sources)
    ids = sorted({EVERY_SOURCE, *(one.id for one in wanted)})
    found: dict[Source, list[Action]] = {}
    for at in range(0, len(ids), SOURCES_PER_STATEMENT):
        part = ids[at : at + SOURCES_PER_STATEMENT]
        query = select(ACTION).where(ACTION.c.source_id.in_(part)).order_by(ACTION.c.id)
        for row in connection.execute(query).mappings():
            action = _action(row)
            found.setdefault(action.source, []).append(action)
    return {source: _enabled(source, found) for source in wanted}


def of_source(connection: Connection, source: Source) -> list[Action]:
    """Returns all stored actions of a source, enabled or not, sorted by id."""
    query = select(ACTION).where(*_of(source)).order_by(ACTION.c.id)
    return [_action(row) for row in connection.execute(query).mappings()]


def get(connection: Connection, source: Source, action_id: int) -> Action:
    """Returns an action of a source. Raises NotFoundError if the source does not have it."""
    row = connection.execute(select(ACTION).where(*_of(source), ACTION.c.id == action_id))
    found = row.mappings().first()
    if found is None:
        raise NotFoundError(f"action {action_id} of {source.kind} {source.id[:80]!r} not found")
    return _action(found)


def by_id(connection: Connection, action_ids: Collection[int]) -> dict[int, Action]:
    """Maps id to action for those that still exist."""
    query = select(ACTION).where(ACTION.c.id.in_(action_ids))
    return {row["id"]: _action(row) for row in connection.execute(query).mappings()}


def webhooks(connection: Connection) -> list[Action]:
    """Returns the enabled webhooks of all sources, sorted by id."""
    wanted = ACTION.c.type == ActionType.HTTP, ACTION.c.enabled.is_(True)
    rows = connection.execute(select(ACTION).where(*wanted).order_by(ACTION.c.id)).mappings()
    return [_action(row) for row in rows]


def sealed_secret(connection: Connection, action_id: int) -> str:
    """Returns the sealed secret of a webhook; "" for none."""
    return connection.scalar(select(ACTION.c.secret).where(ACTION.c.id == action_id)) or ""


def add(connection: Connection, new: NewAction, now_us: int) -> int:
    """Adds an action and returns its id. Raises ConflictError above the quota (`ACTIONS`)."""
    by = current_author()
    author = by.name if by.kind == "user" else ""
    check_room(connection, ACTIONS, author, *_of(new.source))
    row = {
        "source_kind": new.source.kind,
        "source_id": new.source.id,
        "type": new.type,
        "enabled": new.enabled,
        "user_id": new.user_id or None,
        "data": orjson.dumps(new.data).decode(),
        "secret": new.secret,
        "author": author,
        "changed_us": now_us,
    }
    key = connection.execute(insert(ACTION).values(row)).inserted_primary_key
    return int(key[0]) if key else 0


def change(
    connection: Connection,
    action_id: int,
    now_us: int,
    *,
    enabled: bool | None = None,
    data: Mapping[str, Any] | None = None,
    secret: str | None = None,
) -> None:
    """Changes a stored action; None leaves a value unchanged."""
    values: dict[str, Any] = {"changed_us": now_us}
    if enabled is not None:
        values["enabled"] = enabled
    if data is not None:
        values["data"] = orjson.dumps(data).decode()
    if secret is not None:
        values["secret"] = secret
    connection.execute(update(ACTION).where(ACTION.c.id == action_id).values(values))


def remove(connection: Connection, action_id: int) -> None:
    """Deletes an action. Idempotent. Its waiting messages are discarded when they become due."""
    connection.execute(delete(ACTION).where(ACTION.c.id == action_id))


def remove_of(connection: Connection, source: Source) -> None:
    """Deletes all actions of a source. Call when deleting the source."""
    connection.execute(delete(ACTION).where(*_of(source)))


def move(connection: Connection, old: Source, new: Source, mover_id: int | None = None) -> None:
    """Moves all actions from one source to another, for a watchlist whose id changes. With
    `mover_id`, personal actions of other users stay."""
    which = list(_of(old))
    if mover_id is not None:
        which.append(ACTION.c.user_id.is_(None) | (ACTION.c.user_id == mover_id))
    values = {"source_kind": new.kind, "source_id": new.id}
    connection.execute(update(ACTION).where(*which).values(values))


def move_of_others(connection: Connection, old: Source, new: Source, user_id: int) -> None:
    """Like `move`, but only for personal actions of users other than `user_id`."""
    which = (*_of(old), ACTION.c.user_id.is_not(None), ACTION.c.user_id != user_id)
    values = {"source_kind": new.kind, "source_id": new.id}
    connection.execute(update(ACTION).where(*which).values(values))


def _enabled(source: Source, found: Mapping[Source, list[Action]]) -> EnabledActions:
    general = found.get(Source(_GENERAL_KIND.get(source.kind, source.kind), EVERY_SOURCE), [])
    own = found.get(source, [])
    is_on = source.kind in ALERTS_BY_DEFAULT
    for action in (*general, *own):
        if action.type is ActionType.ALERT and action.source.kind == source.kind:
            is_on = action.enabled  # the source's own action takes precedence
    messages = [one for one in (*general, *own) if one.enabled and one.type is not ActionType.ALERT]
    return EnabledActions(is_on, tuple(messages))


_GENERAL_KIND: Final[Mapping[SourceKind, SourceKind]] = {"server": "rule"}
"""Kinds that use the general messages of another kind."""


def _of(source: Source) -> tuple[Any, Any]:
    return ACTION.c.source_kind == source.kind, ACTION.c.source_id == source.id


def _action(row: RowMapping) -> Action:
    return Action(
        id=row["id"],
        source=Source(row["source_kind"], row["source_id"]),
        type=ActionType(row["type"]),
        enabled=row["enabled"],
        user_id=row["user_id"] or 0,
        data=orjson.loads(row["data"] or "{}"),
        has_secret=bool(row["secret"]),
    )
