"""Completeness of a period includes the records before and after it."""

import pytest

from tests.contract.pipeline.requests import sysmon
from tests.contract.pipeline.write_path import WritePath
from tests.support.sysmon import Host
from vedette.clock import DrivenClock
from vedette.search.completeness.completeness import (
    ChannelReport,
    completeness,
    whole_windows,
    without,
)

HOUR_S = 3_600


def made(count: int) -> list[dict[str, object]]:
    host = Host("numbers.example", began_s=1_700_040_000)
    parent = host.process(4, "System")
    return [host.created(host.process(100 + n, f"C:\\{n}.exe"), parent) for n in range(count)]


def asked(path: WritePath, hour: int, began_us: int) -> ChannelReport | None:
    """Returns the report of the only channel in one hour, or None."""
    from_us = began_us + hour * HOUR_S * 1_000_000
    window = whole_windows(from_us, from_us + HOUR_S * 1_000_000)
    (report,) = completeness(path.engine, [1], window, {}, {})
    return report.channels[0] if report.channels else None


def test_a_gap_at_the_edge_of_a_time_is_found(path: WritePath, clock: DrivenClock) -> None:
    began_us, records = clock.now_us(), made(30)
    path.post(records[:10])
    clock.advance(HOUR_S)
    path.post(records[12:20])
    clock.advance(HOUR_S)
    path.post(records[21:30])
    first, second, third = (asked(path, hour, began_us) for hour in range(3))
    assert first is not None
    assert second is not None
    assert third is not None
    assert first.gaps == ((11, 12),)
    assert second.gaps == ((11, 12), (21, 21))
    assert (second.below, second.above, second.missing) == (10, 22, 3)
    assert (third.verdict, third.gaps) == ("gaps", ((21, 21),))
    path.post(records[10:12] + records[20:21])  # late, but there
    assert [getattr(asked(path, hour, began_us), "verdict", "") for hour in range(3)] == [
        "complete",
        "complete",
        "open",
    ]


def test_a_silent_time_between_numbers_that_do_not_join_is_a_gap(
    path: WritePath, clock: DrivenClock
) -> None:
    began_us, records = clock.now_us(), made(20)
    path.post(records[:5])
    clock.advance(2 * HOUR_S)
    path.post(records[9:])
    found = asked(path, 1, began_us)
    assert found is not None
    assert (found.received, found.gaps) == (0, ((6, 9),))


def test_a_silent_time_between_numbers_that_join_says_nothing(
    path: WritePath, clock: DrivenClock
) -> None:
    began_us, records = clock.now_us(), made(10)
    path.post(records[:5])
    clock.advance(2 * HOUR_S)
    path.post(records[5:])
    assert asked(path, 1, began_us) is None


def test_other_hosts_say_nothing_of_a_host(path: WritePath, clock: DrivenClock) -> None:
    path.post(sysmon())
    window = whole_windows(clock.now_us(), clock.now_us() + 1)
    (report,) = completeness(path.engine, [999], window, {}, {})
    assert (report.verdict, report.channels) == ("nothing", ())


@pytest.mark.parametrize(
    ("numbers", "rest"),
    [
        ((), [(5, 9)]),
        ((5,), [(6, 9)]),
        ((9,), [(5, 8)]),
        ((7,), [(5, 6), (8, 9)]),
        ((1, 4, 10), [(5, 9)]),
        ((5, 6, 7, 8, 9), []),
    ],
)
def test_numbers_fill_a_gap(numbers: tuple[int, ...], rest: list[tuple[int, int]]) -> None:
    assert list(without((5, 9), numbers)) == rest
