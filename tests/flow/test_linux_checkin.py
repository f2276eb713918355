"""Report of failed orders in the next check-in of the Linux sensor."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.linux_sensor import write_settings
from tests.support.linux_server import PlayedServer, Signer, played_server
from vedette.sensor.checkin import CheckIn
from vedette.sensor.events.collection import Collection
from vedette.sensor.events.filters import Filters
from vedette.sensor.response import firewall
from vedette.sensor.response.bans import Bans, BlockCounts
from vedette.sensor.response.isolation import Isolation
from vedette.sensor.response.orders import Orders, Parts
from vedette.sensor.settings import read_settings
from vedette.sensor.transport.binary_copies import Binaries
from vedette.sensor.transport.disk_queue import DiskQueue
from vedette.sensor.transport.identity import Identity

SIGNER = Signer()


@pytest.fixture
def played(tmp_path: Path) -> Iterator[PlayedServer]:
    with played_server(tmp_path / "server") as made:
        made.enrol_answers = [(200, {"update_public_key": SIGNER.public_text})]
        yield made


class Bench:
    """The check-in of a sensor without sources; nothing on this host is changed."""

    def __init__(self, played: PlayedServer, folder: Path) -> None:
        path = write_settings(played.server, folder, "c.example", group_secret="s")
        settings = read_settings(path)
        self.parts = Parts(
            settings,
            Bans(folder / "bans.json"),
            Filters(folder / "filters.json"),
            Collection(folder / "collection.json"),
            Isolation(folder / "isolation.json", dns=True, dhcp=True),
            DiskQueue(folder / "queue", settings.disk_bytes),
            Binaries(lambda _: None, is_wanted=False),
            Identity(folder / "identity.json", settings),
            lambda _: None,
            lambda: None,
        )
        self.orders = Orders(self.parts, folder / "orders.json")
        self._checkin = CheckIn(self.parts, self.orders, BlockCounts(), list)
        self._played = played

    def check_in(self) -> dict[str, Any]:
        """One round of the check-in thread; returns what was reported."""
        self.orders.enforce_isolation()
        self._checkin.once()
        return self._played.check_ins[-1]

    def close(self) -> None:
        self._checkin._client.close()


@pytest.fixture
def bench(played: PlayedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setattr(firewall, "_SEARCH_PATH", "/nowhere")  # this host is not to be isolated
    made = Bench(played, tmp_path)
    yield made
    made.close()


def test_an_isolation_that_cannot_be_enforced_is_reported_and_not_as_isolating(
    bench: Bench, played: PlayedServer
) -> None:
    played.orders["isolate"] = True
    bench.check_in()
    for _ in range(3):
        report = bench.check_in()
        assert report["is_isolating"] is False
        assert "the nft program is missing" in report["health_message"]
    assert bench.parts.isolation.server_addresses(), "of the connection, for the next attempt"


@pytest.mark.parametrize("entries", ["10.0.0.1:80", 5, {"a": 1}, [None, 5, {}], None])
def test_a_list_of_endpoints_in_another_form_stops_nothing(
    bench: Bench, played: PlayedServer, entries: object
) -> None:
    played.orders |= {"isolate": True, "isolation_allow": entries}
    bench.check_in()
    assert "the nft program is missing" in bench.check_in()["health_message"]


def test_the_reason_of_a_refused_update_is_reported_until_the_order_is_withdrawn(
    bench: Bench, played: PlayedServer
) -> None:
    played.offer({**SIGNER.order(b"x", "9.0"), "signature": ""}, b"x")
    bench.check_in()
    assert "the update is not signed" in bench.check_in()["health_message"]
    played.offer(SIGNER.order(b"x", "0.1"), b"x")
    bench.check_in()
    assert "0.1 is not newer than" in bench.check_in()["health_message"]
    assert played.fetched == []
    del played.orders["update"]
    bench.check_in()
    assert bench.check_in()["health_message"] == "Healthy"


@pytest.mark.parametrize(
    "orders",
    [{"flush_before_us": "x"}, {"want_binaries": [5]}, {"bans": 5}, {"filters": [1]}],
)
def test_one_order_in_another_form_stops_no_other(
    bench: Bench, played: PlayedServer, orders: dict[str, object]
) -> None:
    played.orders |= {**orders, "not_collected": ["netconns"], "isolate": True}
    bench.check_in()
    message = bench.check_in()["health_message"]
    assert "the nft program is missing" in message
    assert "Error: " in message
    assert not bench.parts.collection.includes("netconns")


@pytest.mark.parametrize("order", [5, "x", [], {"version": 5}, {"version": None, "sha256": []}])
def test_an_update_order_in_another_form_is_refused(
    bench: Bench, played: PlayedServer, order: object
) -> None:
    played.orders["update"] = order
    bench.check_in()
    report = bench.check_in()
    assert report["health_message"] != "Healthy" or not order


def test_a_flush_to_the_same_time_under_another_number_is_carried_out_again(
    bench: Bench, played: PlayedServer
) -> None:
    played.orders = {"flush_before_us": 1_000, "flush_number": 1}
    assert bench.check_in()["flushed_number"] is None
    assert bench.check_in()["flushed_number"] == 1
    played.orders["flush_number"] = 2
    bench.parts.queue.add(b"{}")
    bench.parts.queue.close_block()
    assert bench.check_in()["flushed_number"] == 1
    assert bench.check_in()["flushed_number"] == 1  # the block still waits
    bench.parts.queue.sent(1)
    done = bench.check_in()
    assert (done["flushed_number"], done["flushed_before_us"]) == (2, 1_000)
    assert bench.orders.flush_count == 2


def test_a_server_without_numbers_gets_the_time_of_the_flush(
    bench: Bench, played: PlayedServer
) -> None:
    played.orders = {"flush_before_us": 1_000}
    bench.check_in()
    done = bench.check_in()
    assert (done["flushed_number"], done["flushed_before_us"]) == (None, 1_000)
    bench.check_in()
    assert bench.orders.flush_count == 1
