"""Which alerts were open at a time."""

from typing import Any

from vedette.search.alerts.host_risk import weights_at

DAY_US = 86_400_000_000


def alert(created_day: int, status: str = "Unresolved", closed_day: int = 0) -> dict[str, Any]:
    return {
        "alert_severity": 100_000,
        "sensor_criticality": 3_000,
        "created_time": created_day * DAY_US,
        "last_event_time": created_day * DAY_US,
        "status": status,
        "resolved_time": closed_day * DAY_US,
    }


def test_an_alert_counts_from_when_it_was_made_until_it_was_closed() -> None:
    rows = [alert(10), alert(12, "Resolved", 14), alert(12, "False Positive", 13)]
    counts = [len(weights_at(rows, day * DAY_US)) for day in range(9, 16)]
    assert counts == [0, 1, 1, 3, 2, 1, 1]


def test_what_was_opened_again_counts_as_if_it_had_never_been_closed() -> None:
    assert len(weights_at([alert(10, "In Progress", 12)], 13 * DAY_US)) == 1


def test_what_happened_later_makes_nothing_younger_than_the_time_it_is_looked_at() -> None:
    row = alert(10) | {"last_event_time": 20 * DAY_US}
    assert weights_at([row], 11 * DAY_US) == [1.0]
