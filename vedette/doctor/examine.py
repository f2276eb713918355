"""Runs all checks on the parts of a server that exist.

A check that cannot answer is a finding itself, so that a broken part does not hide the findings
about other parts.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from vedette.clock import Clock
from vedette.doctor import files, fleet, telemetry
from vedette.doctor.detection import check_detection
from vedette.doctor.finding import Finding
from vedette.errors import VedetteError
from vedette.settings import Settings
from vedette.state.clock.guard import ClockGuard
from vedette.state.db.database import Database
from vedette.store.engine.client import Engine


@dataclass(frozen=True, slots=True)
class Intake:
    """The write path of a running server."""

    is_available: bool
    waiting_bytes: int


@dataclass(frozen=True, slots=True)
class Examined:
    """Inputs of the checks. None stands for a part that cannot be opened, which is a finding of its
    own."""

    settings: Settings
    clock: Clock
    state: Database | None
    telemetry: Engine | None
    clock_guard: ClockGuard | None
    intake: Intake | None
    """None if no server runs."""


def examine(here: Examined, *, verify: bool = False) -> list[Finding]:
    """Returns the findings of all checks, in a fixed order. `verify` also reads every part of the
    telemetry and compares checksums, which takes seconds per gigabyte."""
    checks: list[tuple[str, Callable[[], Iterable[Finding]]]] = [
        (name, _bound(check, here)) for name, check in _CHECKS
    ]
    checks.append(("parts", lambda: _parts(here, verify)))
    return [finding for name, check in checks for finding in _guarded(name, check)]


def _bound(check: "Check", here: Examined) -> Callable[[], Iterable[Finding]]:
    return lambda: check(here)


def _guarded(name: str, check: Callable[[], Iterable[Finding]]) -> list[Finding]:
    try:
        return list(check())
    except VedetteError as error:
        return [Finding(name, "error", f"cannot be checked: {error.message}", "see the log")]


def _clock(here: Examined) -> Iterator[Finding]:
    guard = here.clock_guard
    if guard is None:
        return
    confirm = "set the clock right, or say that it is with `vedette clock confirm`"
    if doubt := guard.doubt():
        text = f"{doubt}: telemetry is refused, nothing is deleted by age"
        yield Finding("clock", "error", text, confirm)
    elif hold := guard.deletion_hold():
        yield Finding("clock", "warning", f"{hold}: nothing is deleted by age", confirm)
    else:
        yield Finding("clock", "ok", "the clock is trusted")


def _intake(here: Examined) -> Iterator[Finding]:
    intake = here.intake
    if intake is None:
        return
    waiting, most = intake.waiting_bytes, here.settings.queue_bytes_max
    if not intake.is_available:
        yield Finding(
            "workers",
            "error",
            "no telemetry is taken: the store refuses, or a worker has failed",
            "it is tried again by itself; look at the disk and for `a worker` in the log",
        )
    elif waiting * 2 > most:
        yield Finding(
            "workers",
            "warning",
            f"{waiting} of {most} bytes wait to be stored",
            "more comes than can be stored: preparing_processes, disk",
        )
    else:
        yield Finding("workers", "ok", "telemetry is taken")


def _parts(here: Examined, verify: bool) -> Iterable[Finding]:
    if here.telemetry is None or here.state is None:
        return ()
    return telemetry.check_parts(here.telemetry, here.state, verify=verify)


def _partitions(here: Examined) -> Iterable[Finding]:
    if here.telemetry is None:
        return ()
    return telemetry.check_partitions(here.telemetry, here.settings, here.clock.now_us())


def _detection(here: Examined) -> Iterable[Finding]:
    if here.telemetry is None or here.state is None or here.intake is None:
        return ()
    return check_detection(here.telemetry, here.state, here.clock.now_us())


def _identity(here: Examined) -> Iterable[Finding]:
    if here.telemetry is None or here.state is None:
        return ()
    return telemetry.check_identity(here.telemetry, here.state)


def _of_state(check: Callable[[Examined, Database], Iterable[Finding]]) -> "Check":
    return lambda here: () if here.state is None else check(here, here.state)


Check = Callable[[Examined], Iterable[Finding]]

_CHECKS: Final[tuple[tuple[str, Check], ...]] = (
    ("disk", lambda here: files.check_disk(here.settings)),
    ("modes", lambda here: files.check_modes(here.settings)),
    ("certificate", lambda here: files.check_certificate(here.settings, here.clock.now_us())),
    ("clock", _clock),
    ("state", _of_state(lambda _, state: fleet.check_database(state))),
    ("identity", _identity),
    ("workers", _intake),
    ("sensors", _of_state(lambda here, state: fleet.check_sensors(state, here.clock.now_us()))),
    ("names", _of_state(lambda _, state: fleet.check_names(state))),
    ("quotas", _of_state(lambda here, state: fleet.check_quotas(state, here.settings))),
    ("tokens", _of_state(lambda here, state: fleet.check_tokens(state, here.clock.now_us()))),
    ("partitions", _partitions),
    ("detection", _detection),
)
