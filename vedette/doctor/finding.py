"""What a check has found."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

Severity = Literal["ok", "warning", "error"]

SEVERITIES: Final[tuple[Severity, ...]] = ("ok", "warning", "error")
"""From harmless to grave."""


@dataclass(frozen=True, slots=True)
class Finding:
    """`error`: telemetry is lost, refused or not found, now or at the next start. `warning`: it
    will be, unless somebody acts."""

    check: str
    """A stable word for programs: disk, clock, parts, ..."""
    severity: Severity
    text: str
    """What is, for people."""
    remedy: str = ""
    """What to do; "" where nothing is to be done."""


def worst(findings: Iterable[Finding]) -> Severity:
    """The gravest severity; "ok" without findings."""
    return max((one.severity for one in findings), key=SEVERITIES.index, default="ok")
