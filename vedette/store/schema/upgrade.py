"""Upgrades the telemetry schema in versioned steps.

`STEPS` has one step for each schema version after `OLDEST_VERSION`, in order. The statements of a
step can be repeated. The version is written after the last statement, so an interrupted upgrade
repeats its current step. `expand` steps only add tables, columns, indexes and projections: older
servers on the same cluster continue to read and write. A `contract` step removes or redefines
objects; it belongs in a later version, when no server needs them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

import structlog

from vedette.errors import StartError
from vedette.limits import Limit
from vedette.store.engine.capabilities import Capabilities
from vedette.store.engine.client import Engine
from vedette.store.schema.detection_tables import HIT_ADDED
from vedette.store.schema.log_columns import log_statements
from vedette.store.schema.upgrade_claims import check_store, claims_statements

UPGRADE_STATEMENT_S: Limit[float] = 0.5
"""Estimated time (s) of a statement that changes the definition of `segment`: the engine analyzes
all expressions again."""

UPGRADE_REWRITE_BYTES_A_SECOND: Limit[int] = 30 * 1024 * 1024
"""Estimated bytes of `segment` on disk that an upgrade rewrites per second."""


log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Step:
    """Upgrade of a schema from `version - 1` to `version`."""

    version: int
    title: str
    statements: Callable[[Capabilities], tuple[str, ...]]
    """Returns the statements; each can be repeated."""
    kind: Literal["expand", "contract"] = "expand"
    rewrites: bool = False
    """Whether the step rewrites the rows of `segment`, not only definitions."""
    check: Callable[[Engine], None] | None = None
    """Raises StartError for a store that the step cannot upgrade, before anything is changed."""


OLDEST_VERSION: Final = 8
"""Oldest schema version that this server can upgrade."""

STEPS: Final[tuple[Step, ...]] = (
    Step(
        9,
        "columns of process metadata with the rank in front, without the table of corrections",
        claims_statements,
        kind="contract",
        rewrites=True,
        check=check_store,
    ),
    Step(
        10,
        "columns and indexes for the search of event records and rule hits",
        lambda capabilities: (*log_statements(capabilities), *_hit_statements(capabilities)),
    ),
)


def _hit_statements(capabilities: Capabilities) -> tuple[str, ...]:
    added = ", ".join(f"ADD COLUMN IF NOT EXISTS {column}" for column in HIT_ADDED)
    return (f"ALTER TABLE `{capabilities.storage('hit')}`{capabilities.on_cluster} {added}",)


def check_version(found: int, known: int) -> None:
    """Raises StartError if the version `found` of a store is newer than `known` or too old to
    upgrade. `found` is 0 for a new store."""
    if 0 < found < OLDEST_VERSION:
        raise StartError(
            f"the telemetry store has schema {found}, this server can upgrade schema "
            f"{OLDEST_VERSION} and later: start a version in between first"
        )
    if found > known:
        raise StartError(
            f"the telemetry store has schema {found}, this server knows {known}: "
            "it was written by a newer version; start that one"
        )


def upgrade(
    engine: Engine, found: int, steps: tuple[Step, ...] = STEPS
) -> Iterator[tuple[int, str]]:
    """Runs the steps after version `found`. Yields (version, statement) after each statement, and
    (version, "version written") after each step. The caller must exhaust the iterator."""
    missing = [step for step in steps if step.version > found]
    for step in missing:
        if step.check is not None:
            step.check(engine)
    if missing:
        _announce(engine, found, missing)
    for step in missing:
        for statement in step.statements(engine.capabilities):
            engine.command(statement)
            yield step.version, statement
        engine.command(
            "INSERT INTO schema SELECT {version:UInt32}, now64(6, 'UTC')",
            {"version": step.version},
        )
        log.info("telemetry schema upgraded", version=step.version, title=step.title)
        yield step.version, "version written"


def _announce(engine: Engine, found: int, missing: list[Step]) -> None:
    rows, size = engine.query(
        f"SELECT sum(rows), sum(bytes_on_disk) FROM {engine.capabilities.system('parts')} "
        "WHERE active AND database = {database:String} AND table = {segment:String}",
        {"database": engine.database, "segment": engine.capabilities.storage("segment")},
    ).rows[0]
    for step in missing:
        count = len(step.statements(engine.capabilities))
        log.info(
            "telemetry schema will be upgraded",
            from_version=found,
            version=step.version,
            title=step.title,
            statements=count,
            segment_rows=rows,
            segment_bytes=size,
            expected_s=expected_s(step, count, size),
        )


def expected_s(step: Step, statements: int, size_bytes: int) -> int:
    """Returns the estimated duration (s) of a step, at least 1."""
    rewriting = size_bytes / UPGRADE_REWRITE_BYTES_A_SECOND if step.rewrites else 0
    return max(1, round(statements * UPGRADE_STATEMENT_S + rewriting))
