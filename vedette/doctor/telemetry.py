"""Checks of the telemetry store: damaged parts, partitions, and whether it belongs to the state
database."""

from collections.abc import Iterator
from typing import Final

from vedette.doctor.finding import Finding, Severity
from vedette.doctor.identity import gone_parts, mismatch
from vedette.limits import Limit
from vedette.settings import Settings
from vedette.state.db.database import Database
from vedette.state.store_identity import load_accepted_damage
from vedette.store.engine.client import Engine
from vedette.store.integrity.damage import damaged_parts, note_lost, verify_parts
from vedette.store.partitions.lifecycle import list_partitions
from vedette.store.partitions.partition import Partition, time_text

DOCTOR_PARTS_MAX: Limit[int] = 300
"""Data parts of a partition, over all tables, above which `vedette doctor` warns that merges lag
behind. With small commits all day there are 20 to 60."""

DOCTOR_PARTS_FULL: Limit[int] = 2_000
"""Data parts of a partition above which `vedette doctor` reports an error. The engine delays and
then refuses inserts into a table that has 1,000 to 3,000."""


_HOUR_MS: Final = 3_600_000
_DAY_MS: Final = 24 * _HOUR_MS

_RESTORE: Final = (
    "restore it from a backup of the data directory, or take it as lost with "
    "`vedette serve --accept-store`"
)


def check_identity(telemetry: Engine, state: Database) -> Iterator[Finding]:
    """Whether both stores belong to the same server."""
    problem = mismatch(telemetry, state)
    if problem:
        yield Finding(
            "identity",
            "error",
            problem,
            "put back state database and telemetry of the same backup, or start once with "
            "`vedette serve --accept-store`",
        )
    else:
        yield Finding("identity", "ok", "state database and telemetry belong together")


def check_parts(telemetry: Engine, state: Database, *, verify: bool) -> Iterator[Finding]:
    """Finds parts that are missing from the results of searches. `verify` reads the whole store and
    compares checksums."""
    if not telemetry.capabilities.cluster:
        note_lost(telemetry, gone_parts(telemetry, state))
    damaged = verify_parts(telemetry) if verify else damaged_parts(telemetry)
    accepted = load_accepted_damage(state)
    for part in damaged:
        if part.key in accepted:
            yield Finding(
                "parts",
                "warning",
                f"taken as lost: {part.text()}",
                "searches of its time stay incomplete",
            )
        else:
            yield Finding("parts", "error", part.text(), _RESTORE)
    if not damaged:
        checked = "all checksums hold" if verify else "the engine has met none (see --verify)"
        yield Finding("parts", "ok", f"no damaged parts: {checked}")


def check_partitions(telemetry: Engine, settings: Settings, now_us: int) -> Iterator[Finding]:
    """Whether partitions are rolled, deleted and merged as the settings say."""
    partitions, now_ms = list_partitions(telemetry), now_us // 1_000
    found = [*_hot(partitions, settings, now_ms), *_overdue(partitions, settings, now_ms)]
    found += [_unmerged(one) for one in partitions if one.part_count > DOCTOR_PARTS_MAX]
    yield from found
    if not found:
        cold = sum(one.state == "cold" for one in partitions)
        size = sum(one.byte_count for one in partitions) / 1_000_000_000
        noun = "partition" if len(partitions) == 1 else "partitions"
        text = f"{len(partitions)} {noun} ({cold} cold), {size:.1f} GB"
        yield Finding("partitions", "ok", text)


def _hot(partitions: list[Partition], settings: Settings, now_ms: int) -> Iterator[Finding]:
    hot = [one for one in partitions if one.state == "hot"]
    if len(hot) != 1 and partitions:
        yield Finding(
            "partitions",
            "error",
            f"{len(hot)} partitions are written to, not one",
            "restart the server, which opens one",
        )
    for one in hot:
        age_ms = now_ms - one.opened_ms
        if one.row_count and age_ms > settings.partition_roll_hours * _HOUR_MS + _DAY_MS:
            text = f"the hot partition, opened {time_text(one.opened_ms)}, was not closed in time"
            yield Finding(
                "partitions",
                "warning",
                text,
                "look for errors of the job `partitions` in the log, and at the clock",
            )


def _overdue(partitions: list[Partition], settings: Settings, now_ms: int) -> Iterator[Finding]:
    keep_ms = settings.retention_days * _DAY_MS
    if not keep_ms:
        return
    for one in partitions:
        is_due = one.closed_ms and not one.user_mounted and now_ms - one.closed_ms > keep_ms
        if is_due and now_ms - one.closed_ms > keep_ms + _DAY_MS:
            yield Finding(
                "partitions",
                "warning",
                f"{one.name} is older than retention_days",
                "look at the clock: while it is in doubt nothing is deleted",
            )


def _unmerged(one: Partition) -> Finding:
    severity: Severity = "error" if one.part_count > DOCTOR_PARTS_FULL else "warning"
    return Finding(
        "partitions",
        severity,
        f"{one.name} consists of {one.part_count} parts",
        "merges lag behind: give the disk and the machine more speed, or send larger batches",
    )
