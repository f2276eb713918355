"""What a server kept beside databases that it is to move to. It would begin anew in these, and
nothing could be moved there any more."""

from pathlib import Path
from typing import Final

from vedette.state.db.database import Database
from vedette.state.start import is_unused
from vedette.store.engine.client import Engine
from vedette.store.integrity.identity import read_store_id

PLAN_FILE: Final = "migration.json"
"""In the data directory while `vedette cluster migrate` moves its telemetry."""


def unmoved_state(data: Path, state: Database) -> str | None:
    """What a server on this data directory has to say and refuses to start with; None where it may
    start. Raises StartError where the database cannot be used."""
    old = data / "state.db"
    if state.name and old.exists() and is_unused(state):
        return _refusal(old, "migrate-state")
    return None


def unmoved_telemetry(data: Path, telemetry: Engine) -> str | None:
    """The same of telemetry. Raises UnavailableError."""
    old = data / "telemetry"
    if telemetry.capabilities.cluster and old.exists() and read_store_id(telemetry) is None:
        return _refusal(old, "migrate")
    return None


def half_moved_telemetry(data: Path, telemetry: Engine) -> str | None:
    """A refusal that --accept-store does not overrule: rows that a server wrote next to what is
    still to be moved would end the move for good."""
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
