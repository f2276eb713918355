"""When the wall clock is trusted."""

import pytest

from vedette.clock import DrivenClock
from vedette.errors import UnavailableError
from vedette.state.clock.guard import ClockGuard, Reading

NOW_US = 1_800_000_000_000_000
DAY_S = 86_400
DAY_US = DAY_S * 1_000_000


class Booted(DrivenClock):
    """A clock of a machine whose boots have names."""

    def __init__(self, now_us: int, boot_id: str) -> None:
        super().__init__(now_us)
        self._boot_id = boot_id

    def boot_id(self) -> str:
        return self._boot_id


@pytest.mark.parametrize("days", [40, 0.01, -0.01, -2])
def test_a_clock_that_is_set_is_in_doubt_until_it_is_set_back(days: float) -> None:
    clock = DrivenClock(NOW_US)
    guard = ClockGuard(clock)
    clock.set_wall(NOW_US + int(days * DAY_US))
    with pytest.raises(UnavailableError) as refusal:
        guard.check()
    assert refusal.value.reason == "clock_in_doubt"
    assert guard.deletion_hold()
    assert guard.trusted_reading() is None
    clock.set_wall(NOW_US)
    guard.check()
    assert not guard.deletion_hold()


def test_time_that_passes_is_no_jump_however_much_it_is() -> None:
    clock = DrivenClock(NOW_US)
    guard = ClockGuard(clock)
    clock.advance(40 * DAY_S)
    guard.check()
    assert not guard.deletion_hold()


def test_small_corrections_do_not_add_up() -> None:
    clock = DrivenClock(NOW_US)
    guard = ClockGuard(clock)
    for _ in range(1_000):
        clock.advance(3_600)
        clock.set_wall(clock.now_us() + 5_000_000)
        guard.check()


def test_a_confirmed_time_is_trusted() -> None:
    clock = DrivenClock(NOW_US)
    guard = ClockGuard(clock)
    clock.set_wall(NOW_US + 40 * DAY_US)
    assert guard.doubt()
    guard.confirm()
    assert not guard.doubt()
    assert not guard.deletion_hold()
    clock.set_wall(NOW_US)
    assert guard.doubt()


@pytest.mark.parametrize("days", [40, -2])
def test_a_jump_while_the_server_is_stopped_is_detected(days: int) -> None:
    clock = Booted(NOW_US, "boot")
    saved = ClockGuard(clock).trusted_reading()
    clock.advance(3_600)
    assert not ClockGuard(clock, saved).doubt()
    clock.set_wall(clock.now_us() + days * DAY_US)
    guard = ClockGuard(clock, saved)
    assert guard.doubt()
    assert guard.trusted_reading() is None


def test_a_long_stop_without_a_reboot_is_no_jump() -> None:
    clock = Booted(NOW_US, "boot")
    saved = ClockGuard(clock).trusted_reading()
    clock.advance(40 * DAY_S)
    assert not ClockGuard(clock, saved).deletion_hold()


@pytest.mark.parametrize(
    ("days", "ingests", "deletes"),
    [(2, True, True), (40, True, False), (-2, False, False)],
)
def test_over_a_reboot_a_clock_that_went_back_is_in_doubt_and_a_long_absence_holds_deletion(
    days: int, ingests: bool, deletes: bool
) -> None:
    saved = Reading(NOW_US, 5_000_000, "earlier")
    guard = ClockGuard(Booted(NOW_US + days * DAY_US, "later"), saved)
    assert (not guard.doubt()) is ingests
    assert (not guard.deletion_hold()) is deletes
    assert (guard.trusted_reading() is not None) is deletes
    guard.confirm()
    assert not guard.deletion_hold()


def test_a_clock_that_is_corrected_after_a_reboot_is_trusted_again() -> None:
    clock = Booted(0, "later")
    guard = ClockGuard(clock, Reading(NOW_US, 5_000_000, "earlier"))
    assert guard.doubt()
    clock.set_wall(NOW_US + DAY_US)
    assert not guard.doubt()
    assert not guard.deletion_hold()
