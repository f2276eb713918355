"""Result of a check."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

Severity = Literal["ok", "warning", "error"]

SEVERITIES: Final[tuple[Severity, ...]] = ("ok", "warning", "error")
"""Severities in ascending order."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding of a check. `error`: telemetry is lost, refused or not found, now or at the next
    start. `warning`: this will happen unless somebody acts."""

    check: str
    """A stable word for programs: disk, clock, parts, ..."""
    severity: Severity
    text: str
    """Description of the problem, for people."""
    remedy: str = ""
    """Recommended action; "" if none is necessary."""


def worst(findings: Iterable[Finding]) -> Severity:
    """Returns the highest severity; "ok" if there are no findings."""
    return max((one.severity for one in findings), key=SEVERITIES.index, default="ok")
