"""Formats the findings of `vedette doctor` (docs/operations-monitoring.md#what-is-wrong)."""

from collections.abc import Sequence
from typing import Any

from vedette.doctor.finding import Finding, worst


def findings_body(findings: Sequence[Finding], *, is_running: bool) -> dict[str, Any]:
    """Returns all findings, and the highest severity."""
    return {
        "running": is_running,
        "severity": worst(findings),
        "findings": [
            {"check": one.check, "severity": one.severity, "text": one.text, "remedy": one.remedy}
            for one in findings
        ],
    }
