"""Stored Sigma rules, and what they cost and found.

`generation` rises with every change: servers load the rules anew when it differs from the one they
judge by, and each row has the generation of its last change.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Final, Literal

from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    Select,
    and_,
    case,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from vedette import limits
from vedette.errors import ConflictError, NotFoundError
from vedette.state.db import list_versions
from vedette.state.db.database import Database, insert_new
from vedette.state.db.schema import VALUE
from vedette.state.db.schema_rules import SIGMA_COUNT, SIGMA_RULE, SIGMA_VERSION
from vedette.state.policy import rule_placeholders, rule_versions
from vedette.state.policy.sigma_rule import (
    NewSigmaRule,
    RuleCounts,
    RuleState,
    SigmaRule,
)

_GENERATION = "sigma_rule_version"
_IN_FORCE = "sigma_rule_in_force"
_STARTER = "sigma_starter_pack"
_OFF_AT_FIRST = ("low", "informational")
"""Levels of rules that are kept switched off: they are for hunting, and fire all the time."""

Change = Literal["added", "changed", "unchanged"]

_TEXTS = tuple(one.name for one in fields(NewSigmaRule))
_COUNTS = tuple(one.name for one in fields(RuleCounts))
_ROW = SIGMA_RULE.c
_ALIVE: Final = _ROW.deleted_us == 0
_EVALUATED: Final = and_(_ALIVE, _ROW.enabled, _ROW.stopped_us == 0, _ROW.compiled != "")


@dataclass(frozen=True, slots=True)
class InForce:
    """By which generation of the rules commits are judged, and from which commit on (`seq`); 0
    before the first. With several servers: by which all of them judge
    (`servers/judged_rules.py`)."""

    generation: int = 0
    seq: int = 0
    time_us: int = 0


@dataclass(frozen=True, slots=True)
class StarterPack:
    """Which version of the starter pack was added, and every rule that ever was."""

    digest: str = ""
    ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """Some of the rules that were asked for, and how many there are."""

    rules: tuple[SigmaRule, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which rules are listed: all texts are compared without regard to case; "" is any."""

    text: str = ""
    """Occurs in the title, the id or the rule's text."""
    level: str = ""
    state: RuleState | Literal[""] = ""
    reason: str = ""
    """Why it cannot be evaluated."""
    origin: str = ""


def generation(database: Database) -> int:
    """The generation of the stored rules."""
    with database.reading() as connection:
        return list_versions.current(connection, _GENERATION)


def evaluated(database: Database) -> tuple[int, list[NewSigmaRule]]:
    """The generation, and the documents that events are to be judged by, ordered by id."""
    query = select(SIGMA_RULE).where(_EVALUATED).order_by(_ROW.id)
    with database.reading() as connection:
        found = list_versions.current(connection, _GENERATION)
        return found, [_document(row) for row in connection.execute(query).mappings()]


def named(database: Database, ids: Iterable[str]) -> dict[str, SigmaRule]:
    """Rules by id, also those deleted lately: their last hits may still become alerts."""
    found: dict[str, SigmaRule] = {}
    with database.reading() as connection:
        for some in _pieces(list(ids)):
            rows = connection.execute(_joined().where(_ROW.id.in_(some))).mappings()
            found |= {row["id"]: _rule(row) for row in rows}
    return found


def get(database: Database, rule_id: str) -> SigmaRule:
    """Raises NotFoundError."""
    with database.reading() as connection:
        query = _joined().where(_ALIVE, _ROW.id == rule_id)
        row = connection.execute(query).mappings().first()
    if row is None:
        raise _unknown(rule_id)
    return _rule(row)


def page(database: Database, wanted: Wanted, start: int, rows: int) -> Page:
    """Rules ordered by title and id, from the `start`th on."""
    with database.reading() as connection:
        in_force = in_force_within(connection).generation
        condition = condition_of(wanted, in_force)
        count = select(func.count()).select_from(SIGMA_RULE).where(condition)
        query = _joined().where(condition).order_by(_ROW.title, _ROW.id)
        found = connection.execute(query.offset(start).limit(rows)).mappings()
        return Page(tuple(map(_rule, found)), int(connection.scalar(count) or 0))


def reasons(database: Database) -> dict[str, int]:
    """How many rules cannot be evaluated, by reason."""
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
    """Adds documents, or replaces those with the same id, all or none; says what each did.

    A rule that there is stays switched on or off; a new one is on, unless it is of level low or
    informational. `enabled` decides for all. `placeholders` is the version of the values that they
    were compiled with (`rule_placeholders.py`): with another one they have to be compiled anew.
    Raises ConflictError above `SIGMA_RULES_MAX`.
    """
    with database.writing() as connection:
        if rule_placeholders.version(connection) != placeholders:
            new = [replace(one, codec=0) if "expand" in one.text else one for one in new]
        risen = list_versions.rise(connection, _GENERATION)
        changes = [_put(connection, one, by, now_us, risen, enabled) for one in new]
        count = connection.scalar(select(func.count()).select_from(SIGMA_RULE).where(_ALIVE)) or 0
        if count > limits.SIGMA_RULES_MAX:
            raise ConflictError(f"more than {limits.SIGMA_RULES_MAX} Sigma rules")
        return changes


def foreseen(
    database: Database, new: Sequence[NewSigmaRule], *, enabled: bool | None = None
) -> list[Change]:
    """What `put` would do with each document; nothing is changed. Raises as it does."""
    known: dict[str, RowMapping] = {}
    with database.reading() as connection:
        for some in _pieces([one.id for one in new]):
            query = select(SIGMA_RULE).where(_ALIVE, _ROW.id.in_(some))
            known |= {row["id"]: row for row in connection.execute(query).mappings()}
        count = connection.scalar(select(func.count()).select_from(SIGMA_RULE).where(_ALIVE)) or 0
    changes = [_change_of(known.get(one.id), one, enabled) for one in new]
    if count + changes.count("added") > limits.SIGMA_RULES_MAX:
        raise ConflictError(f"more than {limits.SIGMA_RULES_MAX} Sigma rules")
    return changes


def recompiled(database: Database, new: Sequence[NewSigmaRule], placeholders: int) -> bool:
    """Replaces what texts were compiled to, after an upgrade of the server or a change of
    placeholders. False if these have changed again."""
    with database.writing() as connection:
        if rule_placeholders.version(connection) != placeholders:
            return False
        risen = list_versions.rise(connection, _GENERATION)
        for one in new:
            made = asdict(one)
            values = {
                name: made[name]
                for name in ("compiled", "codec", "problem_reason", "problem_message")
            }
            changed = update(SIGMA_RULE).where(_ROW.id == one.id, _ROW.text == one.text)
            connection.execute(changed.values(**values, generation=risen))
    return True


def outdated(database: Database, codec: int) -> list[NewSigmaRule]:
    """Documents that another version of the server compiled."""
    query = select(SIGMA_RULE).where(_ALIVE, _ROW.codec != codec).order_by(_ROW.id)
    with database.reading() as connection:
        return [_document(row) for row in connection.execute(query).mappings()]


def switch(database: Database, ids: Sequence[str], by: str, now_us: int, *, enabled: bool) -> None:
    """Switches rules on or off, all or none. One that was stopped for its cost begins anew when
    it is switched on. Raises NotFoundError."""
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
    """Deletes rules, all or none. Raises NotFoundError."""
    _change(database, ids, {"deleted_us": now_us, "enabled": False}, by, now_us)


def forget_removed(database: Database, now_us: int) -> None:
    """Deletes the rows of rules that were deleted `SIGMA_DELETED_KEPT_US` ago."""
    old = and_(_ROW.deleted_us > 0, _ROW.deleted_us < now_us - limits.SIGMA_DELETED_KEPT_US)
    with database.writing() as connection:
        ids = select(_ROW.id).where(old)
        for other in (SIGMA_COUNT, SIGMA_VERSION):
            connection.execute(delete(other).where(other.c.rule_id.in_(ids)))
        connection.execute(delete(SIGMA_RULE).where(old))


def count(database: Database, added: Mapping[str, RuleCounts]) -> None:
    """Adds what a server's commits counted since its last call."""
    with database.writing() as connection:
        for rule_id, counts in sorted(added.items()):
            connection.execute(insert_new(connection, SIGMA_COUNT), {"rule_id": rule_id})
            row = SIGMA_COUNT.c
            connection.execute(
                update(SIGMA_COUNT)
                .where(row.rule_id == rule_id)
                .values(
                    events=row.events + counts.events,
                    hits=row.hits + counts.hits,
                    verify_us=row.verify_us + counts.verify_us,
                    last_hit_us=case(
                        (row.last_hit_us > counts.last_hit_us, row.last_hit_us),
                        else_=counts.last_hit_us,
                    ),
                )
            )


def in_force(database: Database) -> InForce:
    """By what commits are judged."""
    with database.reading() as connection:
        return in_force_within(connection)


def in_force_within(connection: Connection) -> InForce:
    """The same, in a transaction."""
    stored = connection.scalar(select(VALUE.c.value).where(VALUE.c.name == _IN_FORCE))
    return InForce(**json.loads(stored)) if stored else InForce()


def note_in_force_within(connection: Connection, noted: InForce) -> None:
    """Stores by what commits are judged from now on."""
    _note(connection, _IN_FORCE, asdict(noted))


def origins(database: Database, ids: Sequence[str]) -> dict[str, str]:
    """Where these rules are from, without those that there are not."""
    found: dict[str, str] = {}
    with database.reading() as connection:
        for some in _pieces(ids):
            query = select(_ROW.id, _ROW.origin).where(_ALIVE, _ROW.id.in_(some))
            found |= {row.id: row.origin for row in connection.execute(query)}
    return found


def starter_pack(database: Database) -> StarterPack:
    """What was added of the starter pack."""
    with database.reading() as connection:
        stored = connection.scalar(select(VALUE.c.value).where(VALUE.c.name == _STARTER))
    body = json.loads(stored) if stored else {}
    return StarterPack(body.get("digest", ""), tuple(body.get("ids", ())))


def note_starter_pack(database: Database, noted: StarterPack) -> None:
    """Stores what was added of the starter pack."""
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
    """What a document does to the row that has its id."""
    if known is None or known["deleted_us"]:
        return "added"
    is_switched = enabled is not None and enabled != known["enabled"]
    return "unchanged" if _is_same(known, one) and not is_switched else "changed"


def _is_same(known: RowMapping, one: NewSigmaRule) -> bool:
    return bool(known["text"] == one.text and known["compiled"] == one.compiled)


def _change(
    database: Database, ids: Sequence[str], values: Mapping[str, Any], by: str, now_us: int
) -> None:
    with database.writing() as connection:
        risen = list_versions.rise(connection, _GENERATION)
        values = {**values, "generation": risen, "modified_us": now_us, "modified_by": by}
        for some in _pieces(list(dict.fromkeys(ids))):
            is_among = and_(_ALIVE, _ROW.id.in_(some))
            known = set(connection.scalars(select(_ROW.id).where(is_among)))
            for rule_id in some:
                if rule_id not in known:
                    raise _unknown(rule_id)
            connection.execute(update(SIGMA_RULE).where(is_among).values(**values))


def condition_of(wanted: Wanted, in_force: int) -> ColumnElement[bool]:
    """What rows of `sigma_rule` have to be, by the generation that is in force."""
    found: list[ColumnElement[bool]] = [_ALIVE]
    if wanted.text:
        columns = (_ROW.title, _ROW.id, _ROW.text)
        found.append(or_(*(one.icontains(wanted.text, autoescape=True) for one in columns)))
    if wanted.level:
        found.append(_ROW.level == wanted.level.lower())
    if wanted.reason:
        found.append(_ROW.problem_reason == wanted.reason)
    if wanted.origin:
        found.append(_ROW.origin.icontains(wanted.origin, autoescape=True))
    is_loaded = _ROW.problem_reason == ""
    match wanted.state:
        case "unsupported":
            found.append(_ROW.problem_reason != "")
        case "disabled":
            found += [is_loaded, _ROW.enabled.is_(False)]
        case "stopped":
            found += [is_loaded, _ROW.enabled, _ROW.stopped_us > 0]
        case "in_force":
            found += [is_loaded, _EVALUATED, _ROW.generation <= in_force]
        case "pending":
            found += [is_loaded, _EVALUATED, _ROW.generation > in_force]
    return and_(*found)


def _joined() -> Select[Any]:
    counts = [func.coalesce(SIGMA_COUNT.c[name], 0).label(f"count_{name}") for name in _COUNTS]
    joined = SIGMA_RULE.outerjoin(SIGMA_COUNT, SIGMA_COUNT.c.rule_id == _ROW.id)
    return select(SIGMA_RULE, *counts).select_from(joined)


def _document(row: RowMapping) -> NewSigmaRule:
    return NewSigmaRule(**{name: row[name] for name in _TEXTS})


def _rule(row: RowMapping) -> SigmaRule:
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
    )


def _pieces(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for at in range(0, len(ids), limits.SIGMA_IDS_A_QUERY):
        yield ids[at : at + limits.SIGMA_IDS_A_QUERY]


def _unknown(rule_id: str) -> NotFoundError:
    return NotFoundError(f"there is no Sigma rule {rule_id[:80]!r}")
