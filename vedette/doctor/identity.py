"""Checks whether a state database and a telemetry store belong to the same server
(`bootstrap/store_identity.py` has the table)."""

from vedette.state.db.database import Database
from vedette.state.store_identity import (
    load_identity,
    load_lost_parts,
    load_part_list,
    newest_sensor_id,
)
from vedette.store.engine.client import Engine
from vedette.store.integrity import identity as telemetry_identity
from vedette.store.integrity.part_list import ListedPart, lost_parts, read_parts
from vedette.store.schema.tables import SCHEMA_VERSION


def gone_parts(telemetry: Engine, state: Database) -> list[ListedPart]:
    """Returns parts that existed when the server stopped, or before, and that no longer exist.
    Raises UnavailableError."""
    before = read_parts(load_part_list(state, SCHEMA_VERSION))
    earlier = read_parts(load_lost_parts(state))
    return lost_parts(telemetry, before, earlier) if before or earlier else []


def mismatch(telemetry: Engine, state: Database) -> str:
    """Returns what is wrong; "" if both belong together."""
    mine, theirs = load_identity(state), telemetry_identity.read_store_id(telemetry)
    if mine is not None and theirs is None and not mine.is_pending:
        return "the telemetry that belongs to this state database is missing"
    if mine is None and theirs is not None:
        return "the state database that belongs to this telemetry is missing"
    if mine is not None and theirs is not None and mine.store_id != theirs:
        return "the state database and the telemetry belong to different servers"
    given, named = newest_sensor_id(state), telemetry_identity.newest_sensor_id(telemetry)
    if named > given:
        return (
            "the state database is older than the telemetry, or another's: telemetry names "
            f"sensor {named}, the newest of the state database is {given}"
        )
    if theirs is None and given and telemetry_identity.is_unused(telemetry):
        return "the telemetry that belongs to this state database is missing"
    return ""
