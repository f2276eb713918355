"""Rate limits of requests by token and by address."""

from collections.abc import Iterator

import pytest

from tests.support.served import Server, hire, start_server, state_of
from vedette.clock import SystemClock
from vedette.model.principal import Role
from vedette.state.accounts import audit_trail, tokens, users
from vedette.state.accounts.tokens import NewToken
from vedette.state.shares.quota_list import API_TOKENS_OF_USER_MAX
from vedette.web.http.request_rates import OWN_CHANGES_PER_MINUTE_MAX, RATES_KEPT_MAX, RequestRates

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


def test_changes_of_a_user_are_counted_with_all_tokens_together(strict: Server) -> None:
    """A viewer wrote 300 entries of the audit log a second by noting exports."""
    first = hire(strict, "noter", {1: Role.VIEWER})
    with state_of(strict) as database:
        user_id = users.id_of(database, "noter")
        new = NewToken("api", user_id=user_id)
        issued = [tokens.issue(database, new, SystemClock().now_us()) for _ in range(9)]
        before = audit_trail.head(database).number
    statuses = []
    for token in [first, *(one.secret for one in issued)]:
        with strict.client(**{"X-Auth-Token": token}) as client:
            body = {"view": "alerts", "params": "q=a", "format": "csv"}
            answers = [client.post("/api/v1/export", json=body) for _ in range(20)]
            statuses += [one.status_code for one in answers]
            reasons = {one.json()["reason"] for one in answers if one.status_code == 429}
    assert reasons == {"too_many_changes"}
    assert statuses[:100] == [200] * 100
    assert statuses.count(200) < OWN_CHANGES_PER_MINUTE_MAX + 60
    with state_of(strict) as database:
        assert audit_trail.head(database).number - before < OWN_CHANGES_PER_MINUTE_MAX + 60
    with strict.client(**{"X-Auth-Token": hire(strict, "other", {1: Role.VIEWER})}) as client:
        assert client.put("/api/v1/me/preferences", json={}).status_code == 200


def test_tokens_of_a_user_are_counted(strict: Server) -> None:
    """A viewer made 1,200 tokens in nine seconds."""
    with state_of(strict) as database:
        user = users.add(database, users.NewUser("hoarder"), SystemClock().now_us())
        new = NewToken("api", user_id=user.id)
        for _ in range(API_TOKENS_OF_USER_MAX):
            issued = tokens.issue(database, new, SystemClock().now_us())
    with strict.client(**{"X-Auth-Token": issued.secret}) as client:
        answer = client.post("/api/v1/token", json={"name": "one more"})
        assert (answer.status_code, answer.json()["reason"]) == (409, "quota")
        assert client.delete(f"/api/v1/token/{issued.id}").status_code == 200


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
