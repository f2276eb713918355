"""The bound of memory for request bodies."""

import gzip

import pytest

from vedette.errors import BusyError, CallerError, TooLargeError
from vedette.web.http.bodies.body_budget import BodyBudget, BodyLease
from vedette.web.http.bodies.request_bodies import inflate_within

MIB = 1 << 20


def test_bodies_beyond_the_budget_are_refused_and_cost_nothing() -> None:
    budget = BodyBudget(8 * MIB)
    first, second = BodyLease(budget), BodyLease(budget)
    first.charge(6 * MIB)
    with pytest.raises(BusyError):
        second.charge(2 * MIB)
    assert budget.bytes_in_flight == 6 * MIB
    first.release()
    second.charge(2 * MIB)
    assert budget.bytes_in_flight == 2 * MIB


def test_small_bodies_have_a_reserve_that_large_ones_cannot_take() -> None:
    budget = BodyBudget(8 * MIB)
    BodyLease(budget).charge(7 * MIB)
    with pytest.raises(BusyError):
        BodyLease(budget).charge(MIB)
    BodyLease(budget).charge(1_000)


def test_a_request_that_grows_in_small_pieces_is_large() -> None:
    budget = BodyBudget(8 * MIB)
    lease = BodyLease(budget)
    for _ in range(7 * MIB // 4_096):
        lease.charge(4_096)
    with pytest.raises(BusyError):
        lease.charge(4_096)
    assert budget.bytes_in_flight <= 7 * MIB


def test_a_released_lease_owes_nothing() -> None:
    budget = BodyBudget(MIB)
    lease = BodyLease(budget)
    lease.charge(1_000)
    lease.release()
    lease.release()
    assert budget.bytes_in_flight == 0


def test_an_inflated_body_is_charged_for_what_it_has() -> None:
    budget = BodyBudget(64 * MIB)
    lease = BodyLease(budget)
    body = inflate_within(lease, gzip.compress(b"x" * 100_000), "gzip", 4 * MIB)
    assert budget.bytes_in_flight == len(body) == 100_000


def test_a_body_that_inflates_more_than_expected_is_inflated_with_its_limit() -> None:
    budget = BodyBudget(64 * MIB)
    lease = BodyLease(budget)
    body = inflate_within(lease, gzip.compress(bytes(8 * MIB)), "gzip", 16 * MIB)
    assert len(body) == 8 * MIB


@pytest.mark.parametrize("encoding", ["gzip", "br", ""])
def test_a_refused_body_owes_nothing(encoding: str) -> None:
    budget = BodyBudget(64 * MIB)
    with pytest.raises(CallerError):
        inflate_within(BodyLease(budget), gzip.compress(bytes(MIB)) * 2, encoding, 1_000)
    assert budget.bytes_in_flight == 0


def test_no_memory_for_what_a_body_inflates_to_is_busy() -> None:
    budget = BodyBudget(4 * MIB)
    with pytest.raises(BusyError):
        inflate_within(BodyLease(budget), gzip.compress(bytes(2 * MIB)), "gzip", 16 * MIB)
    with pytest.raises(TooLargeError):
        inflate_within(BodyLease(budget), gzip.compress(bytes(2 * MIB)), "gzip", MIB)
