"""Which failures of the engine are bugs, and which pass."""

from vedette.store.engine.errors import unavailable

AWAY = "Mutation is not finished because some replicas are inactive right now: 1-2."


def test_what_a_server_that_is_away_has_not_done_yet_is_no_bug() -> None:
    found = unavailable(AWAY, 341)
    assert found is not None
    assert "is away" in str(found)
