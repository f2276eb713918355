"""What a server kept beside databases that it is to move to. It would begin anew in these, and
nothing could be moved there any more."""

from pathlib import Path

from vedette.state.db.database import Database
from vedette.state.start import is_unused
from vedette.store.engine.client import Engine
from vedette.store.integrity.identity import read_store_id


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


def _refusal(old: Path, command: str) -> str:
    return (
        f"what {old} holds is missing in the database that the settings name: run "
        f"`vedette cluster {command}`, or move {old.name} away to begin anew"
    )
