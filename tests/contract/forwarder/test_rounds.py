"""Forwarders miss no alert and double none, in directories and in a real object store, whatever
happens to them in between."""

import random
import time
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.contract.alerting.conftest import NOW_US
from tests.contract.forwarder.conftest import ORG, Here
from tests.support.forms import in_form
from tests.support.object_store import RealBucket, records_of
from tests.support.unsteady_proxy import Mode, unsteady
from vedette.forwarder import alert_source, http_delivery, record_files
from vedette.forwarder.configuration import Wanted
from vedette.forwarder.rounds import FORWARD_BACKOFF_MAX_S, backoff_s
from vedette.model.scope import EVERYTHING
from vedette.search.alerts import cloud_search
from vedette.search.alerts.cloud_search import AlertFilter
from vedette.settings import Settings
from vedette.state.jobs import forwarders
from vedette.store.read.detection.cloud_alerts import AlertSpan


def test_alerts_are_written_once_in_the_order_they_were_made(here: Here) -> None:
    before = here.write(3)
    one = here.add()
    ids = [*here.write(5), *here.write(4)]
    here.run(lambda: here.stream(one).records == 9)
    assert here.ids() == ids
    assert not set(before) & set(ids)
    assert here.stream(one).failures == 0


def test_a_record_is_that_of_alert_search(here: Here) -> None:
    one = here.add(path="{org}/{type}/{date}/{hour}")
    here.write(1)
    here.run(lambda: here.stream(one).records == 1)
    (file,) = (here.root / "one").rglob("*.jsonl.gz")
    at = datetime.fromtimestamp(NOW_US / 1_000_000, UTC)
    folder = f"{ORG}/alert/{at:%Y-%m-%d}/{at:%H}"
    assert str(file.parent.relative_to(here.root / "one")) == folder
    (record,) = records_of(file.read_bytes())
    found = cloud_search.search(
        here.engine, EVERYTHING, AlertFilter(AlertSpan(0)), (), Settings(), NOW_US, start=0, rows=5
    )
    source = here.parts.sources["alert"]
    assert isinstance(source, alert_source.AlertSource)
    assert source.render["native"](found.rows) == [record]


def test_a_forwarder_can_begin_in_the_past(here: Here) -> None:
    ids = here.write(7)
    one = here.add(since_us=0)
    here.run(lambda: here.stream(one).records == 7)
    assert here.ids() == ids


def test_a_query_selects_and_the_position_passes_over_the_rest(here: Here) -> None:
    one = here.add(query="alert_severity:[80 TO 100]")
    here.write(10, severity=10)
    ids = here.write(4, severity=90)
    here.write(10, severity=10)
    newest = here.parts.sources["alert"].newest()
    here.run(lambda: here.stream(one).position == newest)
    assert here.ids() == ids


def test_each_hour_has_files_of_its_own(here: Here) -> None:
    one = here.add(path="{hour}")
    here.write(2)
    here.clock.set_wall(NOW_US + 3_600_000_000)
    here.write(2)
    here.run(lambda: here.stream(one).records == 4)
    folders = {file.parent.name for file in (here.root / "one").rglob("*.jsonl.gz")}
    assert len(folders) == 2


def test_a_disabled_forwarder_stops_and_goes_on_where_it_was(here: Here) -> None:
    one = here.add()
    ids = here.write(2)
    here.run(lambda: here.stream(one).records == 2)
    here.parts.change(one.id, Wanted(enabled=False))
    ids += here.write(2)
    with closing(here.rounds()) as rounds:
        rounds.dispatch()
        time.sleep(0.3)
    assert here.stream(one).records == 2
    here.parts.change(one.id, Wanted(enabled=True))
    here.run(lambda: here.stream(one).records == 4)
    assert here.ids() == ids


@pytest.mark.parametrize("seed", range(in_form(1, 3)))
def test_files_that_are_full_and_alerts_that_come_in_between(
    here: Here, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    draw = random.Random(seed)
    monkeypatch.setattr(alert_source, "FORWARD_READ_ROWS", draw.randrange(3, 9))
    monkeypatch.setattr(record_files, "FORWARD_FILE_RECORDS_MAX", draw.randrange(2, 6))
    one = here.add()
    ids: list[str] = []
    with closing(here.rounds()) as rounds:
        for _ in range(8):
            ids += here.write(draw.randrange(1, 30))
            rounds.dispatch()
            time.sleep(draw.random() / 4)
    here.run(lambda: here.stream(one).records == len(ids))
    assert here.ids() == ids


def test_an_object_store_has_every_alert_once(here: Here, bucket: RealBucket) -> None:
    one = here.add(destination=bucket.destination())
    ids = here.write(2_345)
    here.run(lambda: here.stream(one).records == len(ids))
    assert bucket.ids() == ids
    assert all(key.startswith(f"{ORG}/alert/") for key in bucket.objects())


@pytest.mark.parametrize("mode", ["down", "error", "cut request", "cut answer", "hang", "trickle"])
def test_a_store_that_breaks_gets_everything_once_it_is_back(
    here: Here, bucket: RealBucket, monkeypatch: pytest.MonkeyPatch, mode: Mode
) -> None:
    monkeypatch.setattr(http_delivery, "FORWARD_SEND_S", 1.5)
    with unsteady(bucket.url) as proxy:
        proxy.mode = mode
        one = here.add(destination=bucket.destination(proxy.url))
        ids = here.write(20)
        here.run(lambda: here.stream(one).failures >= 2)
        failing = here.stream(one)
        assert failing.error
        assert failing.position < here.parts.sources["alert"].newest()
        ids += here.write(20)
        proxy.mode = "pass"
        here.run(lambda: here.stream(one).records == len(ids))
        if mode == "error":
            assert "HTTP 503 Slow down" in failing.error
    assert bucket.ids() == ids
    assert (here.stream(one).failures, here.stream(one).error) == (0, "")


def test_a_store_that_fails_now_and_then_has_every_alert_once(
    here: Here, bucket: RealBucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alert_source, "FORWARD_READ_ROWS", 7)
    monkeypatch.setattr(http_delivery, "FORWARD_SEND_S", 1.5)
    draw = random.Random(5)
    modes: list[Mode] = ["pass", "pass", "down", "error", "cut request", "cut answer"]
    ids: list[str] = []
    with unsteady(bucket.url) as proxy:
        one = here.add(destination=bucket.destination(proxy.url))
        with closing(here.rounds()) as rounds:
            for _ in range(40):
                proxy.mode = draw.choice(modes)
                ids += here.write(draw.randrange(0, 6))
                rounds.dispatch()
                time.sleep(draw.random() / 10)
                here.clock.advance(draw.randrange(400))
        proxy.mode = "pass"
        here.run(lambda: here.stream(one).position == here.parts.sources["alert"].newest())
    assert bucket.ids() == ids


def test_a_destination_that_hangs_delays_no_other(here: Here, bucket: RealBucket) -> None:
    with unsteady(bucket.url) as proxy:
        proxy.mode = "hang"
        hanging = [
            here.add(f"hangs {number}", destination=bucket.destination(proxy.url))
            for number in range(3)
        ]
        ids = here.write(5)
        with closing(here.rounds()) as rounds:
            rounds.dispatch()
            deadline = time.monotonic() + 30
            while not proxy.counts and time.monotonic() < deadline:
                time.sleep(0.05)
            works = here.add("works", since_us=0)
            while here.stream(works).records < 5 and time.monotonic() < deadline:
                rounds.dispatch()
                time.sleep(0.05)
            assert here.ids("works") == ids
            assert all(here.stream(one).records == 0 for one in hanging)
            proxy.ends.set()


def test_one_server_of_many_sends(here: Here) -> None:
    one = here.add()
    ids = here.write(30)
    servers = [here.rounds() for _ in range(3)]
    deadline = time.monotonic() + 30
    while here.stream(one).records < 30 and time.monotonic() < deadline:
        for server in servers:
            server.dispatch()
        time.sleep(0.05)
    for server in servers:
        server.close()
    assert here.ids() == ids
    assert here.stream(one).records == 30


def test_a_position_is_saved_only_by_who_has_it(here: Here) -> None:
    one = here.add()
    before = here.stream(one)
    assert forwarders.advance(here.database, before, before.position + 10, 1, 1, NOW_US)
    assert not forwarders.advance(here.database, before, before.position + 5, 1, 1, NOW_US)
    stale = replace(before, position=before.position + 10)
    forwarders.remove(here.database, one.id)
    assert not forwarders.advance(here.database, stale, before.position + 20, 1, 1, NOW_US)


def test_pauses_grow_to_a_bound() -> None:
    pauses = [backoff_s(failures) for failures in range(40)]
    assert pauses[0] <= 2.0
    assert FORWARD_BACKOFF_MAX_S * 0.8 <= pauses[-1] <= FORWARD_BACKOFF_MAX_S
