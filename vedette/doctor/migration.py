"""Checks for the data that a server kept before it was to move to other databases. If it started
with these databases empty, the data could no longer be moved there."""

from pathlib import Path
from typing import Final

from vedette.state.db.database import Database
from vedette.state.start import is_unused
from vedette.store.engine.client import Engine
from vedette.store.integrity.identity import read_store_id

PLAN_FILE: Final = "migration.json"
"""File in the data directory that exists while `vedette cluster migrate` moves telemetry."""


def unmoved_state(data: Path, state: Database) -> str | None:
    """Returns the reason for which a server on this data directory refuses to start; None if it may
    start. Raises StartError if the database cannot be used."""
    old = data / "state.db"
    if state.name and old.exists() and is_unused(state):
        return _refusal(old, "migrate-state")
    return None


def unmoved_telemetry(data: Path, telemetry: Engine) -> str | None:
    """Does the same for telemetry. Raises UnavailableError."""
    old = data / "telemetry"
    if telemetry.capabilities.cluster and old.exists() and read_store_id(telemetry) is None:
        return _refusal(old, "migrate")
    return None


def half_moved_telemetry(data: Path, telemetry: Engine) -> str | None:
    """Returns a reason to refuse the start that --accept-store does not overrule: rows that a
    server wrote next to data that is still to be moved would make it impossible to complete the
    move."""
    if telemetry.capabilities.cluster and (data / PLAN_FILE).exists():
        return (
            "telemetry is being moved to the cluster: run `vedette cluster migrate` again, or "
            f"remove {data / PLAN_FILE} to go on with the part that is there"
        )
    return None


def _refusal(old: Path, command: str) -> str:
    return (
        f"what {old} holds is missing in the database that the settings name: run "
        f"`vedette cluster {command}`, or move {old.name} away to begin anew"
    )
