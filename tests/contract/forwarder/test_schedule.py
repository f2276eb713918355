"""Forwarders and their streams take turns: none waits for another that has much to send, is slow or
fails."""

import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress

import pytest

from tests.contract.alerting.detections import detection
from tests.contract.forwarder.conftest import Here
from tests.contract.store.rows import file
from tests.support.object_store import RealBucket
from tests.support.unsteady_proxy import unsteady
from vedette.errors import UnavailableError
from vedette.forwarder import alert_source, event_source, rounds, schedule
from vedette.forwarder.configuration import Wanted
from vedette.forwarder.delivery import DeliveryError
from vedette.forwarder.rounds import FORWARD_TRIALS, ForwarderRounds
from vedette.model.findings.detection import Source
from vedette.state.jobs import forwarders

TIMEOUT_S = 30


def until(running: ForwarderRounds, holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not holds():
        assert time.monotonic() < deadline
        running.dispatch()
        time.sleep(0.02)


def test_a_stream_that_never_ends_delays_no_other_of_its_forwarder(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_source, "FORWARD_READ_EVENTS", 1)
    monkeypatch.setattr(rounds, "FORWARD_TURN_S", 0.0)
    one = here.add(types=("endpoint.event", "watchlist.hit"), path="{type}")
    for number in range(20):
        here.commit(number, file(f"{number}"))
    here.detect([detection(1, source=Source("watchlist", "1"), source_name="W", seq=1)])

    def sent() -> dict[str, int]:
        return {some.type: some.records for some in forwarders.streams(here.database, one.id)}

    with closing(here.rounds()) as running:
        until(running, lambda: sent()["watchlist.hit"] == 1)
        assert sent()["endpoint.event"] < 20


def test_a_forwarder_with_much_to_send_delays_no_other(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedule, "FORWARD_THREADS", 1)
    monkeypatch.setattr(alert_source, "FORWARD_READ_ROWS", 1)
    monkeypatch.setattr(rounds, "FORWARD_TURN_S", 0.0)
    here.write(60)
    much, little = here.add("a", since_us=0), here.add("b", since_us=0)
    with closing(here.rounds()) as running:
        until(running, lambda: here.stream(little).records >= 2)
        assert here.stream(much).records < 30


def test_slow_destinations_leave_their_place_to_others(
    here: Here, bucket: RealBucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedule, "FORWARD_THREADS", 1)
    monkeypatch.setattr(schedule, "FORWARD_SLOW_S", 0.2)
    here.write(3)
    with unsteady(bucket.url) as proxy, closing(here.rounds()) as running:
        proxy.mode = "hang"
        slow = here.add("a", destination=bucket.destination(proxy.url), since_us=0)
        until(running, lambda: bool(proxy.counts))
        works = here.add("b", since_us=0)
        until(running, lambda: here.stream(works).records == 3)
        hanging = here.stream(slow)
        assert (hanging.records, hanging.failures) == (0, 0)
        proxy.ends.set()


def test_few_tests_of_forwarders_run_at_the_same_time(here: Here, bucket: RealBucket) -> None:
    with unsteady(bucket.url) as proxy, closing(here.rounds()) as running:
        proxy.mode = "hang"
        one = here.add("a", destination=bucket.destination(proxy.url))
        trials = [
            threading.Thread(target=lambda: suppress_delivery(running, one), daemon=True)
            for _ in range(FORWARD_TRIALS)
        ]
        for trial in trials:
            trial.start()
        deadline = time.monotonic() + TIMEOUT_S
        while sum(proxy.counts.values()) < FORWARD_TRIALS and time.monotonic() < deadline:
            time.sleep(0.02)
        with pytest.raises(UnavailableError, match="are being tested"):
            running.send_trial(here.add("b"))
        proxy.ends.set()
        for trial in trials:
            trial.join()
        running.send_trial(here.add("c"))


def suppress_delivery(running: ForwarderRounds, one: forwarders.Forwarder) -> None:
    with suppress(DeliveryError):
        running.send_trial(one)


def test_what_fails_is_tried_again_soon_however_seldom_it_is_looked_at(here: Here) -> None:
    here.root.write_text("a file where the directory is to be")
    one = here.add(interval_s=3_600, since_us=0)
    ids = here.write(2)
    with closing(here.rounds()) as running:
        until(running, lambda: here.stream(one).failures == 1)
        here.root.unlink()
        here.clock.advance(5)
        until(running, lambda: here.stream(one).records == 2)
    assert here.ids() == ids


def test_a_change_is_in_force_at_once_however_seldom_it_is_looked_at(here: Here) -> None:
    one = here.add(interval_s=3_600, since_us=0)
    here.write(1)
    with closing(here.rounds()) as running:
        until(running, lambda: here.stream(one).records == 1)
        here.write(1)
        here.clock.advance(1)
        here.parts.change(one.id, Wanted(interval_s=3_600))
        until(running, lambda: here.stream(one).records == 2)
