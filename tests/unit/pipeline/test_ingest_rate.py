"""The rate of what comes in."""

from vedette.pipeline.ingest_rate import IngestRate, PerSecond


def test_the_rate_is_a_mean_over_the_last_minute() -> None:
    rate = IngestRate(100.0)
    for second in range(200):
        rate.note(30, 6_000, 100.5 + second)
    assert rate.per_second(299.9) == PerSecond(30.0, 6_000.0)
    assert rate.per_second(299.9 + 60) == PerSecond(0.0, 0.0)


def test_a_server_that_just_started_divides_by_the_time_it_has_run() -> None:
    rate = IngestRate(100.0)
    assert rate.per_second(100.0) == PerSecond(0.0, 0.0)
    rate.note(30, 600, 104.0)
    assert rate.per_second(110.0) == PerSecond(3.0, 60.0)
