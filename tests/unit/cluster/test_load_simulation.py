"""The simulation of a cluster: no event is lost or made, and more load is never easier."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.forms import in_form
from vedette.cluster.load_simulation import Load, Simulation, saturation

SMALL = Load(20_000, seconds=20, servers=4, shards=6)


@settings(max_examples=in_form(6, 25))
@given(
    st.builds(
        Load,
        events_s=st.integers(1_000, 2_000_000),
        seconds=st.just(15.0),
        servers=st.integers(1, 6),
        shards=st.integers(1, 12),
        replicas=st.integers(1, 3),
        quorum=st.just(1),
        failures=st.integers(0, 8),
        commit_wait_s=st.sampled_from([0.05, 0.5, 2.0]),
        down_s=st.sampled_from([2.0, 20.0]),
        seed=st.integers(0, 1_000),
    )
)
def test_every_event_is_in_one_place(load: Load) -> None:
    counts = Simulation(load).run().counts
    assert counts.is_whole
    assert min(counts.acknowledged, counts.waiting, counts.committing, counts.unsent) >= 0
    assert abs(counts.offered - load.events_s * load.seconds) < 0.1 * load.events_s * load.seconds


def test_the_same_seed_is_the_same_run() -> None:
    load = replace(SMALL, failures=4, seed=7)
    assert Simulation(load).run() == Simulation(load).run()
    assert Simulation(load).run() != Simulation(replace(load, seed=8)).run()


def test_a_load_that_is_kept_up_with_is_acknowledged_within_the_wait() -> None:
    found = Simulation(SMALL).run()
    assert not found.is_saturated
    assert found.acknowledged_s > 0.9 * SMALL.events_s
    assert 0 < found.delay_p50_s <= found.delay_p99_s < 2 * SMALL.commit_wait_s + 1


def test_more_load_uses_more_and_more_machines_less() -> None:
    shares = [Simulation(replace(SMALL, events_s=rate)).run() for rate in (10_000, 40_000, 160_000)]
    assert [one.server_share for one in shares] == sorted(one.server_share for one in shares)
    assert [one.shard_share for one in shares] == sorted(one.shard_share for one in shares)
    assert Simulation(replace(SMALL, servers=8)).run().server_share < shares[0].server_share * 2
    few, many = (saturation(replace(SMALL, servers=one))[0] for one in (1, 4))
    assert few < many


def test_machines_keep_up_with_what_is_said_also_where_the_first_load_is_too_much() -> None:
    load = replace(SMALL, servers=1)
    most, beyond = saturation(replace(load, events_s=saturation(load)[0] * 4))
    assert not Simulation(replace(load, events_s=most)).run().is_saturated
    assert beyond.is_saturated


def test_failures_delay_and_lose_nothing() -> None:
    calm, stormy = (Simulation(replace(SMALL, seconds=60, failures=n)).run() for n in (0, 8))
    assert stormy.delay_p99_s > calm.delay_p99_s
    assert stormy.counts.is_whole
    assert not stormy.is_saturated


def test_a_quorum_that_needs_every_replica_waits_for_the_one_that_is_away() -> None:
    load = replace(SMALL, replicas=2, failures=2, seconds=60, seed=3)
    wants_one, wants_all = (Simulation(replace(load, quorum=n)).run() for n in (1, 2))
    assert wants_one.delay_p99_s < wants_all.delay_p99_s
    assert wants_all.delay_p99_s > load.down_s / 2
