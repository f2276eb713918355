"""Detections for tests."""

from typing import Any

from vedette.model.findings.detection import Detection, Source

NOW_US = 1_700_000_400_000_000
RULE = Source("rule", "r-1")


def detection(number: int = 1, *, sensor_id: int = 1, **values: Any) -> Detection:
    """A hit of a rule on a process of a sensor."""
    process = f"{sensor_id:08x}-0000-0000-0000-{number:012x}"
    usual: dict[str, Any] = {
        "source": RULE,
        "source_name": "Encoded PowerShell",
        "alert_type": "watchlist.hit.query.process",
        "subject": process,
        "time_us": NOW_US - 60_000_000,
        "sensor_id": sensor_id,
        "process_id": process,
        "segment_id": 1_700_000_400_000,
        "title": "Encoded PowerShell",
        "severity": 75,
        "level": "high",
        "tags": ("attack.execution",),
        "techniques": ("T1059.001",),
        "matched": {"CommandLine": "powershell -enc AAAA"},
        "event": {"Image": "c:\\windows\\powershell.exe", "User": "CORP\\anna"},
        "seq": 10,
    }
    return Detection(**(usual | values))
