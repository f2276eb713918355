"""Hosts and times on the receipt of an import."""

from vedette.ingest.record import Record
from vedette.pipeline.receipt_outcomes import EVENTS, REJECTED, merge_hosts, note_hosts
from vedette.pipeline.receipt_report import report
from vedette.pipeline.submission import Receipt


def record(time_us: int) -> Record:
    return Record("windows", "a", time_us, "Security")


def test_hosts_have_their_records_and_the_span_of_their_events() -> None:
    receipt = Receipt(bytearray())
    records = [record(time_us) for time_us in (50, 20, 0, 90, 70)]
    outcomes = [EVENTS, EVENTS, EVENTS, REJECTED, EVENTS]
    note_hosts(receipt, ["a", "a", "a", "a", "b"], records, outcomes)
    assert report(receipt)["hosts"] == [["a", 3, 20, 50], ["b", 1, 70, 70]]


def test_hosts_of_portions_are_merged_and_an_unknown_time_changes_nothing() -> None:
    hosts = {"a": (2, 20, 50)}
    merge_hosts(hosts, {"a": (1, 0, 0), "b": (1, 0, 0)})
    merge_hosts(hosts, {"a": (1, 10, 40), "b": (2, 5, 6)})
    assert hosts == {"a": (4, 10, 50), "b": (3, 5, 6)}


def test_a_receipt_of_a_sender_has_no_hosts() -> None:
    assert "hosts" not in report(Receipt(bytearray()))
