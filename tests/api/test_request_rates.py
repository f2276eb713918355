"""How many requests a token and an address may make."""

from collections.abc import Iterator

import pytest

from tests.support.served import Server, hire, start_server
from vedette.api.request_rates import RequestRates
from vedette.limits import RATES_KEPT_MAX
from vedette.model.principal import Role

SECOND_US = 1_000_000


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    flags = ("--set", "requests_per_minute=30", "--set", "failures_per_minute=5")
    yield from start_server(
        tmp_path_factory.mktemp("rates"), *flags, "--set", "trusted_proxies=127.0.0.1"
    )


def test_a_token_above_its_rate_is_429_and_others_go_on(strict: Server) -> None:
    tokens = [hire(strict, name, {1: Role.VIEWER}) for name in ("busy", "calm")]
    with strict.client(**{"X-Auth-Token": tokens[0]}) as client:
        answers = [client.get("/api/info") for _ in range(45)]
    refused = [one for one in answers if one.status_code == 429]
    assert answers[29].status_code == 200
    assert refused
    assert refused[0].json()["reason"] == "too_many_requests"
    assert int(refused[0].headers["retry-after"]) > 0
    with strict.client(**{"X-Auth-Token": tokens[1]}) as client:
        assert client.get("/api/info").status_code == 200


def test_senders_are_not_counted(strict: Server) -> None:
    with strict.sender() as sender:
        assert {sender.get("/_license").status_code for _ in range(60)} == {200}


def test_bad_tokens_are_429_above_the_rate_and_good_ones_from_there_go_on(strict: Server) -> None:
    bad = {"X-Auth-Token": "0" * 40, "X-Forwarded-For": "192.0.2.7"}
    with strict.client(**bad) as client:
        statuses = [client.get("/api/info").status_code for _ in range(10)]
    assert statuses[:5] == [401] * 5
    assert 429 in statuses[5:]
    good = {"X-Auth-Token": strict.token, "X-Forwarded-For": "192.0.2.7"}
    with strict.client(**good) as client:
        assert client.get("/api/info").status_code == 200
    with strict.client(**bad | {"X-Forwarded-For": "192.0.2.8"}) as client:
        assert client.get("/api/info").status_code == 401


def test_a_bucket_holds_a_minute_and_fills_with_time() -> None:
    rates = RequestRates()
    assert [rates.take("a", 3, 0) for _ in range(5)] == [True, True, True, False, False]
    assert rates.take("b", 3, 0)
    assert [rates.take("a", 3, 20 * SECOND_US) for _ in range(2)] == [True, False]
    assert [rates.take("a", 3, 600 * SECOND_US) for _ in range(4)] == [True, True, True, False]
    # A clock that was set back neither fills a bucket nor empties one.
    assert not rates.take("a", 3, 0)
    assert all(rates.take("any", 0, 0) for _ in range(100))


def test_a_flood_of_addresses_is_forgotten_in_order() -> None:
    rates = RequestRates()
    for number in range(RATES_KEPT_MAX + 10):
        assert rates.take(str(number), 1, 0)
    assert rates.take("0", 1, 0)
    assert not rates.take(str(RATES_KEPT_MAX + 9), 1, 0)
