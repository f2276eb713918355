"""Actions of sources: what happens when a rule, a feed or a watchlist finds something.

The alert action of a source is one row, or none where it is as its kind has it by default
(`model/findings/action.py`). Mail belongs to a user: everybody switches their own. Rows whose
source is `EVERY_SOURCE` hold for all sources of a kind; those of rules also for what the server
itself reports.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson
from sqlalchemy import Connection, RowMapping, delete, func, insert, select, update

from vedette.errors import ConflictError, NotFoundError
from vedette.limits import ACTIONS_OF_A_SOURCE_MAX, SOURCES_PER_STATEMENT
from vedette.model.findings.action import ALERTS_BY_DEFAULT, EVERY_SOURCE, Action, ActionType
from vedette.model.findings.detection import Source, SourceKind
from vedette.state.db.schema_actions import ACTION


@dataclass(frozen=True, slots=True)
class EnabledActions:
    """What a source does now: `is_alerting` whether it makes alerts, `messages` every enabled
    action but that."""

    is_alerting: bool
    messages: tuple[Action, ...] = ()


@dataclass(frozen=True, slots=True)
class NewAction:
    """An action to add. `secret` is sealed by the caller, "" for none."""

    source: Source
    type: ActionType
    enabled: bool
    user_id: int
    data: Mapping[str, Any]
    secret: str = ""


def enabled_actions(
    connection: Connection, sources: Iterable[Source]
) -> dict[Source, EnabledActions]:
    """The actions of each source, in one statement for some hundred of them."""
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
    """All stored actions of a source, also those that are off, by id."""
    query = select(ACTION).where(*_of(source)).order_by(ACTION.c.id)
    return [_action(row) for row in connection.execute(query).mappings()]


def get(connection: Connection, source: Source, action_id: int) -> Action:
    """Raises NotFoundError for one that the source does not have."""
    row = connection.execute(select(ACTION).where(*_of(source), ACTION.c.id == action_id))
    found = row.mappings().first()
    if found is None:
        raise NotFoundError(f"there is no action {action_id} of {source.kind} {source.id[:80]!r}")
    return _action(found)


def by_id(connection: Connection, action_ids: Collection[int]) -> dict[int, Action]:
    """Those that still exist."""
    query = select(ACTION).where(ACTION.c.id.in_(action_ids))
    return {row["id"]: _action(row) for row in connection.execute(query).mappings()}


def webhooks(connection: Connection) -> list[Action]:
    """Those of all sources that are on, by id."""
    wanted = ACTION.c.type == ActionType.HTTP, ACTION.c.enabled.is_(True)
    rows = connection.execute(select(ACTION).where(*wanted).order_by(ACTION.c.id)).mappings()
    return [_action(row) for row in rows]


def sealed_secret(connection: Connection, action_id: int) -> str:
    """The sealed secret of a webhook; "" without one."""
    return connection.scalar(select(ACTION.c.secret).where(ACTION.c.id == action_id)) or ""


def add(connection: Connection, new: NewAction, now_us: int) -> int:
    """Its id. Raises ConflictError above `ACTIONS_OF_A_SOURCE_MAX`."""
    count = select(func.count()).select_from(ACTION).where(*_of(new.source))
    if (connection.scalar(count) or 0) >= ACTIONS_OF_A_SOURCE_MAX:
        raise ConflictError(f"a source has at most {ACTIONS_OF_A_SOURCE_MAX} actions")
    row = {
        "source_kind": new.source.kind,
        "source_id": new.source.id,
        "type": new.type,
        "enabled": new.enabled,
        "user_id": new.user_id or None,
        "data": orjson.dumps(new.data).decode(),
        "secret": new.secret,
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
    """Change a stored action; None leaves as it is."""
    values: dict[str, Any] = {"changed_us": now_us}
    if enabled is not None:
        values["enabled"] = enabled
    if data is not None:
        values["data"] = orjson.dumps(data).decode()
    if secret is not None:
        values["secret"] = secret
    connection.execute(update(ACTION).where(ACTION.c.id == action_id).values(values))


def remove(connection: Connection, action_id: int) -> None:
    """Idempotent. Its messages that wait are discarded when their turn comes."""
    connection.execute(delete(ACTION).where(ACTION.c.id == action_id))


def remove_of(connection: Connection, source: Source) -> None:
    """For who deletes a source."""
    connection.execute(delete(ACTION).where(*_of(source)))


def move(connection: Connection, old: Source, new: Source) -> None:
    """Give the actions of one source to another, for a watchlist whose id changes."""
    values = {"source_kind": new.kind, "source_id": new.id}
    connection.execute(update(ACTION).where(*_of(old)).values(values))


def _enabled(source: Source, found: Mapping[Source, list[Action]]) -> EnabledActions:
    general = found.get(Source(_GENERAL_KIND.get(source.kind, source.kind), EVERY_SOURCE), [])
    own = found.get(source, [])
    is_on = source.kind in ALERTS_BY_DEFAULT
    for action in (*general, *own):
        if action.type is ActionType.ALERT and action.source.kind == source.kind:
            is_on = action.enabled  # the source's own comes last
    messages = [one for one in (*general, *own) if one.enabled and one.type is not ActionType.ALERT]
    return EnabledActions(is_on, tuple(messages))


_GENERAL_KIND: Final[Mapping[SourceKind, SourceKind]] = {"server": "rule"}
"""Kinds whose general messages are those of another kind."""


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
