"""A rule that one of two servers is told is in force when both judge by it."""

import signal
from typing import Any

import pytest

from tests.flow.conftest import LEASE_S, TWO_SERVERS
from tests.flow.test_servers import administrator, running
from tests.support.served import wait_for
from tests.support.server_cluster import ServerCluster
from vedette.limits import SERVER_GRACE_S
from vedette.state.policy import rules
from vedette.state.servers import server_list

pytestmark = TWO_SERVERS

SIGMA = "/api/v1/sigma"
TIMEOUT_S = 60.0


@pytest.fixture(scope="module")
def cluster(two_servers: ServerCluster) -> ServerCluster:
    assert wait_for(two_servers.is_shared_out, True, TIMEOUT_S)
    return two_servers


def rule(number: int) -> tuple[str, dict[str, Any]]:
    """Its id, and the body that adds it."""
    rule_id = f"44444444-4444-4444-8444-{number:012d}"
    text = (
        f"title: Rule {number}\nid: {rule_id}\nlevel: high\n"
        "logsource: {product: windows, category: process_creation}\n"
        f"detection: {{a: {{Image: 'C:\\\\{number}.exe'}}, condition: a}}\n"
    )
    return rule_id, {"text": text}


def test_a_rule_is_pending_until_every_server_judges_by_it(cluster: ServerCluster) -> None:
    one, other = cluster.members
    rule_id, body = rule(1)
    assert one.server is not None
    with one.server.client(**{"X-Auth-Token": administrator(cluster)}) as client:

        def reported() -> tuple[str, int]:
            found = client.get(SIGMA, params={"state": "in_force", "q": rule_id}).json()
            state = client.get(f"{SIGMA}/{rule_id}").json()["state"]
            return state, found["total_results"]

        def judges_by() -> int | None:
            return running(cluster, one).rules_generation

        other.signal(signal.SIGSTOP)
        try:
            client.post(SIGMA, json=body).raise_for_status()
            newest = rules.generation(cluster.state)
            assert wait_for(judges_by, newest, TIMEOUT_S) == newest
            assert reported() == ("pending", 0)
        finally:
            other.signal(signal.SIGCONT)
        assert wait_for(reported, ("in_force", 1), TIMEOUT_S) == ("in_force", 1)
        in_force = client.get(SIGMA).json()["in_force"]
    assert in_force["generation"] == newest
    assert in_force["seq"] > 0
    assert {row.rules_generation for row in server_list.running(cluster.state)} == {newest}


def test_a_server_that_is_ended_keeps_no_rule_pending_and_takes_no_hosts_without_it(
    cluster: ServerCluster,
) -> None:
    one, other = cluster.members
    rule_id, body = rule(2)
    ended = running(cluster, other).id
    assert one.server is not None
    with one.server.client(**{"X-Auth-Token": administrator(cluster)}) as client:

        def state() -> str:
            return str(client.get(f"{SIGMA}/{rule_id}").json()["state"])

        other.signal(signal.SIGSTOP)
        try:
            client.post(SIGMA, json=body).raise_for_status()
            waits_s = TIMEOUT_S + LEASE_S + SERVER_GRACE_S
            assert wait_for(state, "in_force", waits_s) == "in_force"
            assert ended not in {row.id for row in server_list.running(cluster.state)}
        finally:
            other.signal(signal.SIGCONT)

        def is_shared_out() -> bool:
            """And nobody says that it judges by older rules than are in force."""
            least = rules.in_force(cluster.state).generation
            for row in server_list.running(cluster.state):
                assert row.rules_generation is None or row.rules_generation >= least
            return cluster.is_shared_out()

        def judged_by() -> set[int | None]:
            return {row.rules_generation for row in server_list.running(cluster.state)}

        assert wait_for(is_shared_out, True, TIMEOUT_S)
        newest = rules.generation(cluster.state)
        # Slots are given first; the rules are loaded before records of them are accepted.
        assert wait_for(judged_by, {newest}, TIMEOUT_S) == {newest}
        assert state() == "in_force"
