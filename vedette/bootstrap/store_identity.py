"""Refuses to start on a state database and a telemetry store that do not belong together.

    state id   telemetry id
    none       none          first start, or a pair from an older version: both get a new id
    A          A             start
    pending A  none or A     a first start was interrupted: completed
    A          none          telemetry is missing or was replaced: refused
    none       A             the state database is missing or was replaced: refused
    A          B             from two servers: refused

Also refused: telemetry with sensors that the state database has never assigned (an older state
database), and a state database with sensors beside telemetry that was never used.

`vedette serve --accept-store` starts anyway: it assigns a new id to both, and restores the sensors
of the telemetry, so that other hosts do not get their numbers.
"""

from collections.abc import Sequence
from uuid import uuid4

import structlog

from vedette.clock import Clock
from vedette.doctor.identity import gone_parts, mismatch
from vedette.errors import StartError, VedetteError
from vedette.state.accounts import audit_trail
from vedette.state.db.audit_log import Entry
from vedette.state.db.author import Author, acting_as
from vedette.state.db.database import Database
from vedette.state.store_identity import (
    StateIdentity,
    load_accepted_damage,
    load_identity,
    restore_sensors,
    save_accepted_damage,
    save_identity,
    save_lost_parts,
    save_part_list,
)
from vedette.store.engine.client import Engine
from vedette.store.engine.errors import CorruptPartError
from vedette.store.integrity import identity as telemetry_identity
from vedette.store.integrity.damage import DamagedPart, damaged_parts, note_lost
from vedette.store.integrity.part_list import list_parts
from vedette.store.schema.tables import SCHEMA_VERSION

log = structlog.get_logger(__name__)

_REMEDY = (
    "put back the state database and the telemetry of the same backup, or start once with "
    "`vedette serve --accept-store` if this is wanted"
)


def check_store(
    telemetry: Engine, state: Database, clock: Clock, *, accepted_by: Author | None
) -> None:
    """Completes or compares the ids, and logs damaged parts. Raises StartError on a mismatch,
    unless `accepted_by` accepts it; the audit log names that author."""
    try:
        problem = mismatch(telemetry, state)
    except CorruptPartError as error:
        raise StartError(f"{error.message}: restore a backup of the data directory") from error
    if not problem:
        _complete(telemetry, state)
    elif accepted_by is None:
        raise StartError(f"{problem}: {_REMEDY}")
    else:
        with acting_as(accepted_by):
            _accept(telemetry, state, clock, problem)
    _compare_parts(telemetry, state, is_other=bool(problem))
    parts = damaged_parts(telemetry)
    for part in parts:
        log.error("damaged part", part=part.text())
    if accepted_by is not None:
        with acting_as(accepted_by):
            _accept_damage(state, parts)


def _compare_parts(telemetry: Engine, state: Database, *, is_other: bool) -> None:
    """Compares the parts with the list of the last shutdown, unless the list belongs to another
    store."""
    if not telemetry.capabilities.cluster:
        gone = [] if is_other else gone_parts(telemetry, state)
        note_lost(telemetry, gone)
        save_lost_parts(state, " ".join(part.text() for part in gone))


def keep_part_list(telemetry: Engine, state: Database) -> None:
    """Stores the list of parts. Call after the last write. Without the list, the next start
    compares nothing."""
    try:
        parts = " ".join(part.text() for part in list_parts(telemetry))
        save_part_list(state, SCHEMA_VERSION, parts)
    except VedetteError as error:
        log.warning("cannot save the list of data parts", error=error.message)


def _complete(telemetry: Engine, state: Database) -> None:
    found = load_identity(state)
    if found is None or found.is_pending:
        _write(telemetry, state, uuid4().hex if found is None else found.store_id)
    elif not telemetry_identity.has_current_tables(telemetry):
        telemetry_identity.write_store_id(telemetry, found.store_id)


def _write(telemetry: Engine, state: Database, store_id: str) -> None:
    save_identity(state, StateIdentity(store_id, is_pending=True))
    telemetry_identity.write_store_id(telemetry, store_id)
    save_identity(state, StateIdentity(store_id, is_pending=False))


def _accept(telemetry: Engine, state: Database, clock: Clock, problem: str) -> None:
    hosts = {
        host.sensor_id: (host.hostname, host.os_type)
        for host in telemetry_identity.read_hosts(telemetry)
    }
    # First the audit entry: a killed process starts over, and a duplicate entry is better than
    # none.
    audit_trail.record(state, Entry("run", "store", "accept", None, {"problem": problem}))
    refused = restore_sensors(state, hosts, clock.now_us())
    _write(telemetry, state, uuid4().hex)
    log.warning("store accepted", problem=problem, sensors=len(hosts), sensors_without_name=refused)


def _accept_damage(state: Database, parts: Sequence[DamagedPart]) -> None:
    if parts:
        taken = {"damaged_parts": len(parts)}
        audit_trail.record(state, Entry("run", "store", "accept", None, taken))
    save_accepted_damage(state, {part.key for part in parts} | load_accepted_damage(state))
