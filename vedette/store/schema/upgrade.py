"""Versioned upgrade of the telemetry schema.

`STEPS` holds one step for each schema version after the first, in order. A step makes statements
that can be repeated; its version is written after its last statement, so an upgrade that was
killed continues with the step that it was in. Steps that `expand` only add tables, columns,
indexes and projections: older servers on the same cluster go on reading and writing. A step that
contracts (removes or redefines) has to wait for a later version, when no server needs what it
removes.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

import structlog

from vedette.errors import StartError
from vedette.limits import UPGRADE_REWRITE_BYTES_A_SECOND, UPGRADE_STATEMENT_S
from vedette.model.indexes import SEQ_INDEX
from vedette.model.metadata_rank import RANK_COLUMNS
from vedette.store.engine.capabilities import Capabilities
from vedette.store.engine.client import Engine
from vedette.store.schema.detection_tables import (
    ALERT,
    BINARY_TAG,
    HIT,
    INDICATOR,
    TAG,
    THREAT_REPORT,
)
from vedette.store.schema.table import Table
from vedette.store.schema.tables import (
    BINARY_READING,
    CORRECTION,
    RECORD,
    SEGMENT,
    UNSTORED,
    additions,
    definitions,
)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Step:
    """What makes a schema of `version - 1` one of `version`."""

    version: int
    title: str
    statements: Callable[[Capabilities], tuple[str, ...]]
    """Each can be repeated without harm."""
    kind: Literal["expand", "contract"] = "expand"
    rewrites: bool = False
    """Whether the rows of `segment` are rewritten; else only definitions change."""


def add_columns(
    table: Table, names: tuple[str, ...], capabilities: Capabilities
) -> tuple[str, ...]:
    """Adds columns as `table` defines them, also to the Distributed table over it. Parts are not
    rewritten: they read the default."""
    columns = {column.split()[0].strip("`"): column for column in table.columns}
    added = ", ".join(f"ADD COLUMN IF NOT EXISTS {columns[name]}" for name in names)
    storage = capabilities.storage(table.name)
    statements = [f"ALTER TABLE `{storage}`{capabilities.on_cluster} {added}"]
    if storage != table.name:
        types = ", ".join(
            f"ADD COLUMN IF NOT EXISTS {columns[name].partition(' CODEC')[0]}" for name in names
        )
        statements.append(f"ALTER TABLE `{table.name}`{capabilities.on_cluster} {types}")
    return tuple(statements)


STEPS: Final[tuple[Step, ...]] = (
    Step(
        2,
        "source ranks of process metadata, and the table of corrections",
        lambda capabilities: (
            *add_columns(SEGMENT, RANK_COLUMNS, capabilities),
            *additions(SEGMENT, capabilities),
            *definitions(CORRECTION, capabilities),
        ),
    ),
    Step(
        3,
        "rule hits, alerts, tags of documents, reports and indicators, an index of commit numbers",
        lambda capabilities: (
            *definitions(HIT, capabilities),
            *definitions(ALERT, capabilities),
            *definitions(TAG, capabilities),
            *definitions(BINARY_TAG, capabilities),
            *definitions(THREAT_REPORT, capabilities),
            *definitions(INDICATOR, capabilities),
            *additions(SEGMENT, capabilities),
        ),
    ),
    Step(
        4,
        "numbers of records that arrived and were not stored",
        lambda capabilities: definitions(UNSTORED, capabilities),
    ),
    Step(
        5,
        "what is read from the bytes of programs",
        lambda capabilities: definitions(BINARY_READING, capabilities),
    ),
    Step(
        6,
        "an index of commit numbers of kept records",
        lambda capabilities: (
            *additions(RECORD, capabilities),
            # Made in the background: until then old parts are read whole.
            f"ALTER TABLE `{capabilities.storage(RECORD.name)}`{capabilities.on_cluster} "
            f"MATERIALIZE INDEX {SEQ_INDEX}",
        ),
    ),
    Step(
        7,
        "whether loads of known DLLs were left out",
        lambda capabilities: add_columns(SEGMENT, ("filtering_known_dlls",), capabilities),
    ),
    Step(
        8,
        "shapes of command lines; older parts compute them when they are read",
        lambda capabilities: add_columns(SEGMENT, ("cmdline_shape",), capabilities),
    ),
)


def check_version(found: int, known: int) -> None:
    """Raises StartError for a store of a newer version."""
    if found > known:
        raise StartError(
            f"the telemetry store has schema {found}, this server knows {known}: "
            "it was written by a newer version; start that one"
        )


def upgrade(
    engine: Engine, found: int, steps: tuple[Step, ...] = STEPS
) -> Iterator[tuple[int, str]]:
    """Runs the steps after version `found`. Yields the version and the statement after each
    statement, and ("version written") at the end of a step: callers exhaust it."""
    missing = [step for step in steps if step.version > found]
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
    """About how long a step takes, in seconds, at least 1."""
    rewriting = size_bytes / UPGRADE_REWRITE_BYTES_A_SECOND if step.rewrites else 0
    return max(1, round(statements * UPGRADE_STATEMENT_S + rewriting))
