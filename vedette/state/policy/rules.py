"""Stored Sigma rules with their statistics.

`generation` increases with every change. Servers reload the rules when it differs from their own
generation. Each row stores the generation of its last change.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Final, Literal, TypeVar

from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    Select,
    and_,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from vedette import limits
from vedette.errors import NotFoundError
from vedette.limits import Limit
from vedette.state.db import list_versions
from vedette.state.db.database import Database, insert_new
from vedette.state.db.schema import VALUE
from vedette.state.db.schema_rules import SIGMA_COUNT, SIGMA_RULE, SIGMA_VERSION
from vedette.state.policy import rule_placeholders, rule_versions
from vedette.state.policy.sigma.correlation_rules import blocked_rules
from vedette.state.policy.sigma_rule import (
    NO_BASE_RULE,
    NewSigmaRule,
    RuleCounts,
    RuleState,
    SigmaRule,
)
from vedette.state.shares.quota import check_room
from vedette.state.shares.quota_list import SIGMA_RULES

SIGMA_RULES_A_TRANSACTION: Limit[int] = 50
"""Sigma documents that one transaction adds or replaces, each with its earlier text and an audit
entry. Check-ins wait for the transaction."""

SIGMA_DELETED_KEPT_US: Limit[int] = 24 * 3600 * 1_000_000
"""Time (us) for which the text of a deleted rule is retained, so that alerts from its last hits can
show it."""


T = TypeVar("T")

_GENERATION = "sigma_rule_version"
_IN_FORCE = "sigma_rule_in_force"
_STARTER = "sigma_starter_pack"
_OFF_AT_FIRST = ("low", "informational")
"""Levels of rules that are added disabled: rules for hunting, which match frequently."""

Change = Literal["added", "changed", "unchanged"]

_TEXTS = tuple(one.name for one in fields(NewSigmaRule))
_COUNTS = tuple(one.name for one in fields(RuleCounts))
_ROW = SIGMA_RULE.c
_ALIVE: Final = _ROW.deleted_us == 0
_EVALUATED: Final = and_(_ALIVE, _ROW.enabled, _ROW.stopped_us == 0, _ROW.compiled != "")


@dataclass(frozen=True, slots=True)
class InForce:
    """The generation of rules that judges commits, and the first commit (`seq`) judged by it; 0
    before the first. With several servers, the generation that all of them use
    (`servers/judged_rules.py`)."""

    generation: int = 0
    seq: int = 0
    time_us: int = 0


@dataclass(frozen=True, slots=True)
class StarterPack:
    """The version of the starter pack that was added, and the ids of all rules it ever added."""

    digest: str = ""
    ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the matching rules, and their total number."""

    rules: tuple[SigmaRule, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """Criteria of a rule list. Texts are compared case-insensitively; "" matches everything."""

    text: str = ""
    """Part of the title, the id or the rule's text."""
    level: str = ""
    state: RuleState | Literal[""] = ""
    reason: str = ""
    """Reason why a rule cannot be evaluated."""
    origin: str = ""


def generation(database: Database) -> int:
    """Returns the generation of the stored rules."""
    with database.reading() as connection:
        return list_versions.current(connection, _GENERATION)


def evaluated(database: Database) -> tuple[int, list[NewSigmaRule]]:
    """Returns the generation, and the documents to judge events by, sorted by id."""
    query = select(SIGMA_RULE).where(_EVALUATED).order_by(_ROW.id)
    with database.reading() as connection:
        found = list_versions.current(connection, _GENERATION)
        return found, [_document(row) for row in connection.execute(query).mappings()]


def named(database: Database, ids: Iterable[str]) -> dict[str, SigmaRule]:
    """Maps id to rule, including recently deleted rules, whose last hits may still become
    alerts."""
    found: dict[str, RowMapping] = {}
    with database.reading() as connection:
        for some in _pieces(list(ids), limits.SIGMA_IDS_A_QUERY):
            rows = connection.execute(_joined().where(_ROW.id.in_(some))).mappings()
            found |= {row["id"]: row for row in rows}
        blocked = blocked_rules(connection)
    return {rule_id: _rule(row, blocked) for rule_id, row in found.items()}


def get(database: Database, rule_id: str) -> SigmaRule:
    """Returns a rule. Raises NotFoundError."""
    with database.reading() as connection:
        query = _joined().where(_ALIVE, _ROW.id == rule_id)
        row = connection.execute(query).mappings().first()
        if row is None:
            raise _unknown(rule_id)
        return _rule(row, blocked_rules(connection))


def page(database: Database, wanted: Wanted, start: int, rows: int) -> Page:
    """Returns `rows` matching rules sorted by title and id, from position `start` on."""
    with database.reading() as connection:
        generation, blocked = in_force_within(connection).generation, blocked_rules(connection)
        condition = condition_of(wanted, generation, blocked)
        count = select(func.count()).select_from(SIGMA_RULE).where(condition)
        query = _joined().where(condition).order_by(_ROW.title, _ROW.id)
        found = connection.execute(query.offset(start).limit(rows)).mappings()
        listed = tuple(_rule(row, blocked) for row in found)
        return Page(listed, int(connection.scalar(count) or 0))


def reasons(database: Database) -> dict[str, int]:
    """Maps each reason to the number of rules that cannot be evaluated for it."""
    query = (
        select(_ROW.problem_reason, func.count())
        .where(_ALIVE, _ROW.problem_reason != "")
        .group_by(_ROW.problem_reason)
        .order_by(_ROW.problem_reason)
    )
    with database.reading() as connection:
        return {reason: int(count) for reason, count in connection.execute(query)}


def put(
    database: Database,
    new: Sequence[NewSigmaRule],
    by: str,
    now_us: int,
    *,
    enabled: bool | None = None,
    placeholders: int = 0,
) -> list[Change]:
    """Adds documents, or replaces documents with the same id, and returns the effect of each.

    More than `SIGMA_RULES_A_TRANSACTION` documents take several transactions, in order, so that
    check-ins do not wait for all of them. After a failure in between, repeating the call completes
    it.

    An existing rule stays enabled or disabled. A new rule is enabled, unless its level is low or
    informational. `enabled` overrides this for all. `placeholders` is the version of the
    placeholder values that the documents were compiled with (`rule_placeholders.py`); if it is
    outdated, documents that may use placeholders are marked for recompilation. Raises ConflictError
    above the quota (`SIGMA_RULES`).
    """
    foreseen(database, new, enabled=enabled)  # raises before the first transaction
    changes: list[Change] = []
    for some in _pieces(new, SIGMA_RULES_A_TRANSACTION):
        with database.writing() as connection:
            if rule_placeholders.version(connection) != placeholders:
                some = [replace(one, codec=0) if "expand" in one.text else one for one in some]
            risen = list_versions.rise(connection, _GENERATION)
            changes += [_put(connection, one, by, now_us, risen, enabled) for one in some]
            check_room(connection, SIGMA_RULES, adding=0)
    return changes


def foreseen(
    database: Database, new: Sequence[NewSigmaRule], *, enabled: bool | None = None
) -> list[Change]:
    """Returns what `put` would do with each document, without changing anything. Raises the errors
    of `put`."""
    known: dict[str, RowMapping] = {}
    with database.reading() as connection:
        for some in _pieces([one.id for one in new], limits.SIGMA_IDS_A_QUERY):
            query = select(SIGMA_RULE).where(_ALIVE, _ROW.id.in_(some))
            known |= {row["id"]: row for row in connection.execute(query).mappings()}
        changes = [_change_of(known.get(one.id), one, enabled) for one in new]
        check_room(connection, SIGMA_RULES, adding=changes.count("added"))
    return changes


def recompiled(database: Database, new: Sequence[NewSigmaRule], placeholders: int) -> bool:
    """Replaces compiled forms after an upgrade of the server or a change of placeholders. Returns
    False if the placeholders have changed again."""
    for some in _pieces(new, SIGMA_RULES_A_TRANSACTION):
        with database.writing() as connection:
            if rule_placeholders.version(connection) != placeholders:
                return False
            risen = list_versions.rise(connection, _GENERATION)
            for one in some:
                made = asdict(one)
                values = {
                    name: made[name]
                    for name in ("compiled", "codec", "problem_reason", "problem_message")
                }
                changed = update(SIGMA_RULE).where(_ROW.id == one.id, _ROW.text == one.text)
                connection.execute(changed.values(**values, generation=risen))
    return True


def outdated(database: Database, codec: int) -> list[NewSigmaRule]:
    """Returns the documents that another codec version compiled."""
    query = select(SIGMA_RULE).where(_ALIVE, _ROW.codec != codec).order_by(_ROW.id)
    with database.reading() as connection:
        return [_document(row) for row in connection.execute(query).mappings()]


def switch(database: Database, ids: Sequence[str], by: str, now_us: int, *, enabled: bool) -> None:
    """Enables or disables rules. Enabling a rule that was stopped for its cost restarts it. Raises
    NotFoundError."""
    values: dict[str, Any] = {"enabled": enabled}
    if enabled:
        values |= {"stopped_us": 0, "stopped_reason": ""}
    _change(database, ids, values, by, now_us)


def stop(connection: Connection, rule_id: str, reason: str, now_us: int) -> None:
    """Stops a rule because of its cost."""
    risen = list_versions.rise(connection, _GENERATION)
    stopped = update(SIGMA_RULE).where(_ROW.id == rule_id, _EVALUATED)
    values = {"stopped_us": now_us, "stopped_reason": reason, "generation": risen}
    connection.execute(stopped.values(**values))


def remove(database: Database, ids: Sequence[str], by: str, now_us: int) -> None:
    """Deletes rules. Raises NotFoundError."""
    _change(database, ids, {"deleted_us": now_us, "enabled": False}, by, now_us)


def forget_removed(database: Database, now_us: int) -> None:
    """Deletes rows of rules that were deleted more than `SIGMA_DELETED_KEPT_US` ago."""
    old = and_(_ROW.deleted_us > 0, _ROW.deleted_us < now_us - SIGMA_DELETED_KEPT_US)
    with database.writing() as connection:
        ids = select(_ROW.id).where(old)
        for other in (SIGMA_COUNT, SIGMA_VERSION):
            connection.execute(delete(other).where(other.c.rule_id.in_(ids)))
        connection.execute(delete(SIGMA_RULE).where(old))


def in_force(database: Database) -> InForce:
    """Returns the generation that judges commits."""
    with database.reading() as connection:
        return in_force_within(connection)


def in_force_within(connection: Connection) -> InForce:
    """Like `in_force`, within a transaction."""
    stored = connection.scalar(select(VALUE.c.value).where(VALUE.c.name == _IN_FORCE))
    return InForce(**json.loads(stored)) if stored else InForce()


def note_in_force_within(connection: Connection, noted: InForce) -> None:
    """Stores the generation that judges commits from now on."""
    _note(connection, _IN_FORCE, asdict(noted))


def origins(database: Database, ids: Sequence[str]) -> dict[str, str]:
    """Maps id to origin for those rules that exist."""
    found: dict[str, str] = {}
    with database.reading() as connection:
        for some in _pieces(ids, limits.SIGMA_IDS_A_QUERY):
            query = select(_ROW.id, _ROW.origin).where(_ALIVE, _ROW.id.in_(some))
            found |= {row.id: row.origin for row in connection.execute(query)}
    return found


def starter_pack(database: Database) -> StarterPack:
    """Returns the added version of the starter pack."""
    with database.reading() as connection:
        stored = connection.scalar(select(VALUE.c.value).where(VALUE.c.name == _STARTER))
    body = json.loads(stored) if stored else {}
    return StarterPack(body.get("digest", ""), tuple(body.get("ids", ())))


def note_starter_pack(database: Database, noted: StarterPack) -> None:
    """Stores the added version of the starter pack."""
    with database.writing() as connection:
        _note(connection, _STARTER, asdict(noted))


def _note(connection: Connection, name: str, body: Mapping[str, Any]) -> None:
    value = json.dumps(body)
    connection.execute(insert_new(connection, VALUE), {"name": name, "value": value})
    connection.execute(update(VALUE).where(VALUE.c.name == name).values(value=value))


def _put(
    connection: Connection,
    one: NewSigmaRule,
    by: str,
    now_us: int,
    risen: int,
    enabled: bool | None,
) -> Change:
    query = select(SIGMA_RULE).where(_ROW.id == one.id)
    known = connection.execute(query).mappings().first()
    values: dict[str, Any] = {
        **asdict(one),
        "modified_us": now_us,
        "modified_by": by,
        "generation": risen,
    }
    change = _change_of(known, one, enabled)
    if change == "unchanged":
        return change
    if known is not None and change == "changed":
        is_same = _is_same(known, one)
        is_on = known["enabled"] if enabled is None else enabled
        values |= {"enabled": is_on, "revision": known["revision"] + (not is_same)}
        if not is_same:
            values |= {"text_us": now_us, "text_by": by}
        values |= {"stopped_us": 0, "stopped_reason": ""}
        rule_versions.keep(connection, known, one.text)
        connection.execute(update(SIGMA_RULE).where(_ROW.id == one.id).values(**values))
        return "changed"
    values |= {"enabled": one.level not in _OFF_AT_FIRST if enabled is None else enabled}
    values |= {"created_us": now_us, "stopped_us": 0, "stopped_reason": "", "deleted_us": 0}
    values |= {"text_us": now_us, "text_by": by}
    if known is None:
        connection.execute(insert(SIGMA_RULE).values(**values, revision=1))
    else:
        values["revision"] = known["revision"] + 1
        rule_versions.keep(connection, known, one.text)
        connection.execute(update(SIGMA_RULE).where(_ROW.id == one.id).values(**values))
    return "added"


def _change_of(known: RowMapping | None, one: NewSigmaRule, enabled: bool | None) -> Change:
    """Returns the effect of a document on the existing row with its id."""
    if known is None or known["deleted_us"]:
        return "added"
    is_switched = enabled is not None and enabled != known["enabled"]
    return "unchanged" if _is_same(known, one) and not is_switched else "changed"


def _is_same(known: RowMapping, one: NewSigmaRule) -> bool:
    return bool(known["text"] == one.text and known["compiled"] == one.compiled)


def _change(
    database: Database, ids: Sequence[str], values: Mapping[str, Any], by: str, now_us: int
) -> None:
    """Changes rows in transactions of bounded size. Raises NotFoundError before the first."""
    wanted = list(dict.fromkeys(ids))
    with database.reading() as connection:
        for some in _pieces(wanted, limits.SIGMA_IDS_A_QUERY):
            is_among = and_(_ALIVE, _ROW.id.in_(some))
            known = set(connection.scalars(select(_ROW.id).where(is_among)))
            for rule_id in some:
                if rule_id not in known:
                    raise _unknown(rule_id)
    for some in _pieces(wanted, limits.SIGMA_RULES_SWITCHED_AT_ONCE):
        with database.writing() as connection:
            risen = list_versions.rise(connection, _GENERATION)
            made = {**values, "generation": risen, "modified_us": now_us, "modified_by": by}
            is_among = and_(_ALIVE, _ROW.id.in_(some))
            connection.execute(update(SIGMA_RULE).where(is_among).values(**made))


def condition_of(wanted: Wanted, in_force: int, blocked: Collection[str]) -> ColumnElement[bool]:
    """Returns the condition on rows of `sigma_rule`. `blocked` are the ids of documents without
    effect."""
    found: list[ColumnElement[bool]] = [_ALIVE]
    if wanted.text:
        columns = (_ROW.title, _ROW.id, _ROW.text)
        found.append(or_(*(one.icontains(wanted.text, autoescape=True) for one in columns)))
    if wanted.level:
        found.append(_ROW.level == wanted.level.lower())
    if wanted.reason == NO_BASE_RULE:
        found.append(_ROW.id.in_(sorted(blocked)))
    elif wanted.reason:
        found.append(_ROW.problem_reason == wanted.reason)
    if wanted.origin:
        found.append(_ROW.origin.icontains(wanted.origin, autoescape=True))
    is_blocked = _ROW.id.in_(sorted(blocked))
    is_loaded = _ROW.problem_reason == ""
    match wanted.state:
        case "unsupported":
            found.append(_ROW.problem_reason != "")
        case "disabled":
            found += [is_loaded, _ROW.enabled.is_(False)]
        case "stopped":
            found += [is_loaded, _ROW.enabled, _ROW.stopped_us > 0]
        case "in_force":
            found += [is_loaded, _EVALUATED, ~is_blocked, _ROW.generation <= in_force]
        case "pending":
            found += [is_loaded, _EVALUATED, ~is_blocked, _ROW.generation > in_force]
        case "blocked":
            found += [is_loaded, _EVALUATED, is_blocked]
    return and_(*found)


def _joined() -> Select[Any]:
    counts = [func.coalesce(SIGMA_COUNT.c[name], 0).label(f"count_{name}") for name in _COUNTS]
    joined = SIGMA_RULE.outerjoin(SIGMA_COUNT, SIGMA_COUNT.c.rule_id == _ROW.id)
    return select(SIGMA_RULE, *counts).select_from(joined)


def _document(row: RowMapping) -> NewSigmaRule:
    return NewSigmaRule(**{name: row[name] for name in _TEXTS})


def _rule(row: RowMapping, blocked: Mapping[str, str]) -> SigmaRule:
    return SigmaRule(
        rule=_document(row),
        enabled=bool(row["enabled"]),
        revision=row["revision"],
        created_us=row["created_us"],
        modified_us=row["modified_us"],
        modified_by=row["modified_by"],
        text_us=row["text_us"],
        text_by=row["text_by"],
        generation=row["generation"],
        stopped_us=row["stopped_us"],
        stopped_reason=row["stopped_reason"],
        counts=RuleCounts(**{name: int(row[f"count_{name}"]) for name in _COUNTS}),
        blocked=blocked.get(row["id"], ""),
    )


def _pieces(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for at in range(0, len(items), size):
        yield items[at : at + size]


def _unknown(rule_id: str) -> NotFoundError:
    return NotFoundError(f"Sigma rule {rule_id[:80]!r} not found")
