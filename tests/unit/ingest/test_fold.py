"""Outcomes of records become drafts of processes."""

import pytest

from vedette.ingest.fold import Folded, check_times, fold
from vedette.ingest.record import RecordError
from vedette.model.event import BinarySeen, Facts, Kept, Outcome, Pipe, Regmod
from vedette.model.metadata_rank import Rank

A, B = "00000001-aaaa", "00000001-bbbb"


def test_events_of_one_process_come_together_whatever_their_kind() -> None:
    folded = Folded()
    fold(folded, [Regmod(A, 5, 2, "x"), Pipe(A, 9, 1, "y")], 1, 70, 3)
    draft = folded.drafts[A]
    assert (draft.event_count(), draft.last_update_us) == (2, 9)
    assert draft.record_keys == [70]


def test_a_record_is_keyed_once_though_it_tells_of_two_processes() -> None:
    folded = Folded()
    fold(folded, [Regmod(A, 5, 2, "x"), Regmod(B, 5, 2, "x")], 1, 70, 3)
    assert (folded.drafts[A].record_keys, folded.drafts[B].record_keys) == ([70], [])


def test_records_without_a_number_are_keyed_by_their_request_once() -> None:
    folded = Folded()
    fold(folded, [Regmod(A, 5, 2, "x")], 1, 0, 3)
    fold(folded, [Regmod(A, 6, 2, "x")], 1, 0, 3)
    assert folded.drafts[A].request_keys == [3]


def test_a_record_without_a_process_is_kept_apart() -> None:
    folded = Folded()
    assert not fold(folded, [Kept(5, "System", 104, 8, "p", {})], 1, 70, 3)
    assert folded.kept[0].record_key == 70


@pytest.mark.parametrize("order", [1, -1])
def test_facts_merge_the_same_in_any_order(order: int) -> None:
    claims: list[Outcome] = [
        Facts(A, 5, {"path": "a", "uid": ""}, Rank.CREATION),
        Facts(A, 2, {"path": "b", "process_pid": 4}),
    ]
    folded = Folded()
    fold(folded, claims[::order], 1, 70, 3)
    facts = folded.drafts[A].facts
    assert (facts["path"], facts["process_pid"]) == ("a", 4)


def test_binaries_of_a_batch_merge_by_hash_and_sensor() -> None:
    folded = Folded()
    for path, time_us in (("c:\\a", 9), ("c:\\b", 5)):
        fold(folded, [BinarySeen(time_us, "m", "", "", path, {})], 1, 0, 3)
    (sighting,) = folded.binaries.values()
    assert sighting.paths == {"c:\\a", "c:\\b"}
    assert (sighting.binary.time_us, sighting.last_seen_us) == (5, 9)


@pytest.mark.parametrize("time_us", [0, -11_644_473_600_000_000, 253_402_300_799_000_000])
def test_a_time_that_cannot_be_is_refused_before_anything_is_folded(time_us: int) -> None:
    with pytest.raises(RecordError) as refusal:
        check_times([Regmod(A, time_us, 2, "x")], 2_000_000_000_000_000)
    assert refusal.value.reason == "bad_time"


def test_a_fact_may_have_no_time_of_its_own() -> None:
    check_times([Facts(A, 0, {"path": "x"})], 1)
