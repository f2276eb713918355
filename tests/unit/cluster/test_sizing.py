"""The sizing model: more of anything never needs less."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from vedette.cli.main import app
from vedette.cluster.sizing import ONE_MACHINE_EVENTS_S, Fleet, Machines, plan
from vedette.errors import BadRequestError

FITS = ("enough", "at its limit", "not enough")

FLEETS = st.builds(
    Fleet,
    endpoints=st.integers(1, 2_000_000),
    days=st.integers(1, 400),
    events_a_day=st.integers(100, 100_000),
    peak=st.floats(1, 10),
    commit_wait_s=st.just(5.0),
)


ROW = re.compile(
    r"^\| ([\d,]+) \| ([\d,]+); ([\d,]+) \| ([\d.]+ [GT]B) \| (.*?) ?\| (\d+) \| (\d+) \|$", re.M
)


def test_the_table_of_the_document_is_what_the_command_prints() -> None:
    rows = ROW.findall(Path("docs/scaling.md").read_text())
    assert len(rows) == 4
    for endpoints, mean, peak, size, one_machine, servers, shards in rows:
        words = ["cluster", "plan", "--endpoints", endpoints.replace(",", ""), "--days", "30"]
        reported = " ".join(CliRunner().invoke(app, words).stdout.split())
        found = plan(Fleet(int(words[3]), days=30))
        for number, shown in (found.events_s, mean), (found.peak_events_s, peak):
            assert abs(number / int(shown.replace(",", "")) - 1) < 0.02
        assert f"30 days: {size} a copy" in reported
        assert f"one machine {one_machine or 'not enough'}: " in reported
        assert f"servers {servers} with" in reported
        assert f"shards {shards} of" in reported


@pytest.mark.parametrize(
    "words",
    [
        *(["plan", "--endpoints", "9", option, "inf"] for option in ("--peak", "--commit-wait")),
        ["plan", "--endpoints", "9", "--searches", "inf"],
        ["plan", "--endpoints", "1" + "0" * 400],
        ["simulate", "--commit-wait", "inf"],
        ["simulate", "--events-per-second", "1" + "0" * 400],
    ],
    ids=" ".join,
)
def test_numbers_without_bounds_are_refused(words: list[str]) -> None:
    assert CliRunner().invoke(app, ["cluster", *words]).exit_code == 2


def test_the_disk_of_a_replica_has_room_beside_what_fills_it() -> None:
    found = plan(Fleet(200_000, days=400))
    assert found.replica_bytes == found.stored_bytes / found.shards
    assert found.replica_disk_bytes == pytest.approx(found.replica_bytes / Machines().disk_share)


@given(FLEETS, st.sampled_from(["endpoints", "days", "events_a_day"]), st.integers(2, 5))
def test_a_larger_fleet_never_needs_less(fleet: Fleet, name: str, times: int) -> None:
    roomy = Machines(server_cores=512, replica_cores=512)
    more = replace(fleet, **{name: getattr(fleet, name) * times})
    few, many = plan(fleet, machines=roomy), plan(more, machines=roomy)
    assert (few.servers, few.shards) <= (many.servers, many.shards)
    assert few.servers <= many.servers
    assert few.shards <= many.shards
    assert few.stored_bytes <= many.stored_bytes
    assert FITS.index(few.one_machine) <= FITS.index(many.one_machine)


@given(FLEETS)
def test_no_machine_is_used_more_than_it_may(fleet: Fleet) -> None:
    machines = Machines(server_cores=512, replica_cores=512)
    found = plan(fleet, machines=machines)
    assert found.replica_disk_bytes <= machines.replica_disk_bytes * 1.000_001
    others = (found.servers - 1) * machines.server_cores * machines.used_share
    assert found.peak_events_s * 50e-6 <= others or found.servers == 2
    assert found.one_machine == "not enough" or found.peak_events_s <= ONE_MACHINE_EVENTS_S


def test_servers_that_insert_too_often_are_told_so() -> None:
    with pytest.raises(BadRequestError, match="commits rarer"):
        plan(Fleet(5_000_000, 30, commit_wait_s=0.05))
