"""Distributes the texts of a commit to processes, and merges their receipts."""

import pytest

from vedette.pipeline.submission import NO_OUTCOME, Outcome, Receipt, Refusal, Submission
from vedette.pipeline.workers.host_sharding import HostSharding, ShardedCommit
from vedette.pipeline.workers.ownership import UnownedSensors

EVENTS, REJECTED = Outcome.EVENTS, Outcome.REJECTED


def submission(*hosts: str, key: int = 7) -> Submission:
    """One text of each of these hosts."""
    texts = [b'{"n":%d,"hostname":"%b"}' % (n, host.encode()) for n, host in enumerate(hosts)]
    return Submission(texts, 1, key, 100, in_sequence=True, comms_ip="192.0.2.1")


def shared(submissions: list[Submission], shares: HostSharding) -> ShardedCommit:
    return ShardedCommit([shares.distribute(one) for one in submissions], shares)


def portions(commit: ShardedCommit, process: int) -> list[Submission]:
    return [one.portion(process) for one in commit.portions(process)]


def got(commit: ShardedCommit) -> dict[int, list[list[int]]]:
    """Returns the numbers of the texts by process and submission."""
    return {
        process: [
            [int(text[5 : text.index(b",")]) for text in one.records]
            for one in portions(commit, process)
        ]
        for process in commit.processes
    }


def test_one_process_gets_all_as_it_came() -> None:
    submissions = [submission("a", "b"), submission("c")]
    commit = shared(submissions, HostSharding(1))
    assert portions(commit, 0) == submissions


def test_texts_of_a_host_go_to_one_process_and_hosts_to_the_one_with_the_fewest() -> None:
    shares = HostSharding(2)
    assert got(shared([submission("a", "b", "a", "b", "a")], shares)) == {
        0: [[0, 2, 4]],
        1: [[1, 3]],
    }
    assert got(shared([submission("c", "a")], shares)) == {0: [[1]], 1: [[0]]}


def test_hosts_that_are_new_together_are_shared_out_by_how_many_texts_they_have() -> None:
    commit = shared([submission("a", "b", "c", "c", "c")], HostSharding(2))
    assert got(commit) == {0: [[2, 3, 4]], 1: [[0, 1]]}


def test_names_beyond_the_bound_are_guessed_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vedette.pipeline.workers.host_sharding.SHARDED_HOST_NAMES_MAX", 2)
    shares = HostSharding(2)
    for hosts in (("a", "b"), ("b", "c"), ("a", "b", "c", "d")):
        portions = got(shared([submission(*hosts)], shares)).values()
        assert sum(len(texts) for one in portions for texts in one) == len(hosts)


def test_a_process_without_texts_takes_no_part() -> None:
    commit = shared([submission("a", "a"), submission()], HostSharding(3))
    assert commit.processes == [0]
    assert len(commit.portions(0)) == 1


def test_the_options_of_a_request_go_with_each_of_its_portions() -> None:
    (whole,) = submissions = [submission("a", "b")]
    commit = shared(submissions, HostSharding(2))
    for process in commit.processes:
        (some,) = portions(commit, process)
        assert (some.request_key, some.group_id) == (whole.request_key, whole.group_id)
        assert some.in_sequence
        assert some.comms_ip == whole.comms_ip


def test_a_host_that_another_process_has_is_shared_out_anew_and_from_then_on() -> None:
    shares = HostSharding(2)
    commit = shared([submission("a", "A", "b")], shares)
    assert got(commit) == {0: [[0, 2]], 1: [[1]]}
    met: dict[int, UnownedSensors] = {0: {31: [(0, 0)], 32: [(0, 1)]}, 1: {31: [(0, 0)]}}
    assert commit.resolve_claims(met) is None
    # Anyone who had the text decodes it too: it might hold records of several hosts.
    assert got(commit) == {0: [[0, 1, 2]], 1: [[1]]}
    assert portions(commit, 1)[0].reported_elsewhere == [0]
    assert portions(commit, 0)[0].reported_elsewhere == []
    assert (commit.granted(0), commit.granted(1)) == ([31, 32], [])
    assert got(shared([submission("A", "b")], shares)) == {0: [[0, 1]]}


def test_right_guesses_grant_each_worker_its_own() -> None:
    commit = shared([submission("a", "b")], HostSharding(2))
    assert commit.resolve_claims({0: {5: [(0, 0)]}, 1: {6: [(0, 0)]}}) == {0: [5], 1: [6]}
    assert commit.granted(0) is None


def test_receipts_are_those_of_the_whole_request() -> None:
    submissions = [submission("a", "b", "a"), submission("b"), submission()]
    commit = shared(submissions, HostSharding(2))
    first = Receipt(
        bytearray([EVENTS, REJECTED]),
        [Refusal(1, "bad_time", "of the third")],
        {("c", 1, EVENTS): 1, ("c", 1, REJECTED): 1},
    )
    second = Receipt(bytearray([EVENTS]), [], {("c", 1, EVENTS): 1})
    whole = Receipt(bytearray([REJECTED]), [Refusal(0, "no_host", "")])
    assert commit.receipts({0: [first], 1: [second, whole]}) == [
        Receipt(
            bytearray([EVENTS, EVENTS, REJECTED]),
            [Refusal(2, "bad_time", "of the third")],
            {("c", 1, EVENTS): 2, ("c", 1, REJECTED): 1},
        ),
        whole,
        Receipt(bytearray()),
    ]


def test_a_text_of_several_hosts_gets_the_best_of_its_outcomes() -> None:
    submissions = [submission("a", "A")]
    commit = shared(submissions, HostSharding(2))
    commit.resolve_claims({0: {5: [(0, 0)]}, 1: {5: [(0, 0)], 6: [(0, 0)]}})
    by_process = {0: bytearray([EVENTS, Outcome.DUPLICATE]), 1: bytearray([EVENTS])}
    (whole,) = commit.receipts({n: [Receipt(found)] for n, found in by_process.items()})
    assert whole.outcomes == bytearray([EVENTS, EVENTS])
    assert NO_OUTCOME not in whole.outcomes


def test_one_name_of_two_groups_is_two_hosts_and_an_enrolled_one_is_its_own() -> None:
    names = [b"web", b""]
    mine, theirs = Submission([], 1, 7, 0), Submission([], 2, 7, 0)
    own = Submission([], 1, 7, 0, host="web", sensor_id=9)
    keys = [tuple(one.keys(names)) for one in (mine, theirs)]
    assert keys == [(b"1 web", b""), (b"2 web", b"")]
    assert own.keys(names) == [b"#9", b"#9"]
    assert Submission([], 1, 7, 0, any_group=True).keys(names) == names


def test_what_is_learned_of_a_name_in_one_group_is_not_learned_of_another() -> None:
    shares = HostSharding(2)
    mine = submission("web", "db")
    theirs = Submission(mine.records, 2, 8, 100)
    shared([mine], shares)
    for name in mine.keys([b"web", b"db"]):
        shares.learn(name, 0)
    assert list(got(shared([mine], shares))) == [0]
    assert list(got(shared([theirs], shares))) == [1], "the process that got the fewest texts"


def test_a_portion_names_the_sensor_of_its_credential() -> None:
    shares = HostSharding(2)
    sent = Submission([b"{}", b"{}"], 1, 7, 4, host="web", sensor_id=9)
    commit = shared([sent], shares)
    (process,) = commit.processes
    commit.portions(process)[0].add_workers([(0, 1 - process)])
    assert {one.sensor_id for at in commit.processes for one in portions(commit, at)} == {9}
