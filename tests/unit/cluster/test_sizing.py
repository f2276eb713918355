"""The sizing model: more of anything never needs less."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.cluster.sizing import Fleet, Machines, plan
from vedette.errors import BadRequestError
from vedette.limits import ONE_MACHINE_EVENTS_S

FLEETS = st.builds(
    Fleet,
    endpoints=st.integers(1, 2_000_000),
    days=st.integers(1, 400),
    events_a_day=st.integers(100, 100_000),
    peak=st.floats(1, 10),
    commit_wait_s=st.just(5.0),
)


@pytest.mark.parametrize(
    ("endpoints", "one_machine", "servers", "shards"),
    [
        (1_000, True, 2, 1),
        (20_000, False, 2, 3),
        (200_000, False, 3, 21),
        (1_000_000, False, 9, 274),
    ],
)
def test_the_table_of_the_document_is_what_the_model_says(
    endpoints: int, one_machine: bool, servers: int, shards: int
) -> None:
    found = plan(Fleet(endpoints, days=30))
    assert (found.is_one_machine, found.servers, found.shards) == (one_machine, servers, shards)


@given(FLEETS, st.sampled_from(["endpoints", "days", "events_a_day"]), st.integers(2, 5))
def test_a_larger_fleet_never_needs_less(fleet: Fleet, name: str, times: int) -> None:
    roomy = Machines(server_cores=512, replica_cores=512)
    more = replace(fleet, **{name: getattr(fleet, name) * times})
    few, many = plan(fleet, machines=roomy), plan(more, machines=roomy)
    assert (few.servers, few.shards) <= (many.servers, many.shards)
    assert few.servers <= many.servers
    assert few.shards <= many.shards
    assert few.stored_bytes <= many.stored_bytes
    assert few.is_one_machine >= many.is_one_machine


@given(FLEETS)
def test_no_machine_is_used_more_than_it_may(fleet: Fleet) -> None:
    machines = Machines(server_cores=512, replica_cores=512)
    found = plan(fleet, machines=machines)
    assert found.replica_disk_bytes <= machines.replica_disk_bytes * machines.disk_share
    others = (found.servers - 1) * machines.server_cores * machines.used_share
    assert found.peak_events_s * 50e-6 <= others or found.servers == 2
    assert not found.is_one_machine or found.peak_events_s <= ONE_MACHINE_EVENTS_S


def test_servers_that_insert_too_often_are_told_so() -> None:
    with pytest.raises(BadRequestError, match="commits rarer"):
        plan(Fleet(5_000_000, 30, commit_wait_s=0.05))
