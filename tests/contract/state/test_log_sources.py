"""Log sources: which event classes have arrived, since when, and when they stopped."""

from vedette.state.db.database import Database
from vedette.state.policy.sigma import log_sources
from vedette.state.policy.sigma.log_sources import LOG_SOURCE_SILENT_S, NEVER, LogSource

DAY_US = LOG_SOURCE_SILENT_S * 1_000_000
CREATION, SECURITY = "windows/process_creation", "windows//security"


def test_events_of_a_class_are_added(database: Database) -> None:
    log_sources.add(database, {CREATION: 3, SECURITY: 1}, 50)
    log_sources.add(database, {CREATION: 2}, 90)
    log_sources.add(database, {CREATION: 1}, 70)  # of a server whose clock is behind
    assert log_sources.load(database) == {
        CREATION: LogSource(6, 50, 90),
        SECURITY: LogSource(1, 50, 50),
    }


def test_a_rule_has_the_events_of_all_its_classes(database: Database) -> None:
    log_sources.add(database, {CREATION: 3}, 50)
    log_sources.add(database, {SECURITY: 4}, 60)
    arrived = log_sources.load(database)
    assert log_sources.joined(arrived, (CREATION, SECURITY, "linux//auditd")).events == 7
    assert log_sources.joined(arrived, (CREATION, SECURITY)).last_us == 60
    assert log_sources.joined(arrived, ("linux//auditd",)) == NEVER


def test_a_source_without_an_event_for_a_day_has_stopped() -> None:
    source = LogSource(1, 5, 5)
    assert source.arrival(5 + DAY_US - 1) == "arrives"
    assert source.arrival(5 + DAY_US) == "stopped"
    assert NEVER.arrival(5) == "never"
