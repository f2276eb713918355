"""Opens the data of a stopped server for examination. Creates and migrates nothing."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from vedette.bootstrap.write_path import open_telemetry
from vedette.clock import Clock
from vedette.doctor.examine import Examined
from vedette.doctor.finding import Finding
from vedette.errors import StartError, VedetteError
from vedette.settings import Settings
from vedette.state.clock.guard import ClockGuard
from vedette.state.clock.record import load_reading
from vedette.state.db.database import Database, open_database
from vedette.state.start import check_current
from vedette.store.engine.client import Engine
from vedette.store.integrity.identity import check_tables
from vedette.store.schema.create import check_schema

_RESTORE = "restore state database and telemetry of the same backup"


@contextmanager
def stopped_server(settings: Settings, clock: Clock) -> Iterator[tuple[Examined, list[Finding]]]:
    """Yields the parts that could be opened, and findings about the others."""
    with ExitStack() as closing:
        findings: list[Finding] = []
        state = _state(settings, closing, findings)
        telemetry = _telemetry(settings, closing, findings)
        guard = None if state is None else _guard(clock, state, findings)
        yield Examined(settings, clock, state, telemetry, guard, intake=None), findings


def _state(settings: Settings, closing: ExitStack, findings: list[Finding]) -> Database | None:
    path = settings.data / "state.db"
    if not settings.state_dsn and not path.exists():
        findings.append(Finding("state", "error", f"{path} is missing", _RESTORE))
        return None
    try:
        database = open_database(settings.state_dsn, settings.data)
        closing.callback(database.close)
        check_current(database)
    except VedetteError as error:
        findings.append(Finding("state", "error", error.message, _RESTORE))
        return None
    return database


def _telemetry(settings: Settings, closing: ExitStack, findings: list[Finding]) -> Engine | None:
    folder = settings.data / "telemetry"
    if not settings.clickhouse_dsn and not (folder / "clickhouse").exists():
        findings.append(Finding("telemetry", "error", f"{folder} holds no store", _RESTORE))
        return None
    try:
        engine = open_telemetry(settings)
        closing.callback(engine.close)
        check_tables(engine)
        check_schema(engine)
    except StartError as error:
        findings.append(Finding("telemetry", "error", error.message, _RESTORE))
        return None
    except VedetteError as error:
        findings.append(Finding("telemetry", "error", error.message, "see the message"))
        return None
    return engine


def _guard(clock: Clock, state: Database, findings: list[Finding]) -> ClockGuard | None:
    """Returns a guard as the next start would create it."""
    try:
        return ClockGuard(clock, load_reading(state))
    except VedetteError as error:
        findings.append(Finding("clock", "error", f"cannot be checked: {error.message}", _RESTORE))
        return None
