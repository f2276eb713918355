"""Stored reports follow the document of a feed: incrementally, in full, and after a crash."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.contract.feeds.publisher import NOW_US, Publisher, a_report
from vedette.feeds.synchronise import Progress, synchronise
from vedette.state.policy import feeds
from vedette.state.policy.feeds import CHANGES, EVERYTHING
from vedette.store.read.threat.reports import report, report_counts
from vedette.store.write.reports import mark_ignored

MD5 = "ab" * 16


def test_new_and_newer_reports_are_taken_others_are_not(publisher: Publisher) -> None:
    publisher.publish(a_report("a", md5=[MD5]), a_report("b", dns=["evil.example"]))
    done = publisher.sync()
    assert (done.reports_read, done.reports_changed, done.iocs_read, done.errors) == (2, 2, 2, 0)
    assert publisher.stored() == {"a": "Report a", "b": "Report b"}
    newer = a_report("a", 2, ipv4=["10.1.0.0/16", "10.1.0.0/16", "8.8.8.8"])
    publisher.publish(newer, a_report("b", dns=["other.example"]))
    assert publisher.sync().reports_changed == 1
    assert publisher.indicators("a") == {"10.1.0.0/16", "8.8.8.8"}
    assert publisher.indicators("b") == {"evil.example"}, "its timestamp is the same"
    assert report_counts(publisher.parts.engine) == {publisher.id: (2, 3)}


def test_a_full_synchronisation_sees_edits_and_deletions(publisher: Publisher) -> None:
    publisher.publish(a_report("a", md5=[MD5]), a_report("b", dns=["evil.example"]))
    publisher.sync()
    publisher.publish(a_report("b", dns=["other.example"]))
    assert publisher.sync().reports_deleted == 0
    assert "a" in publisher.stored()
    done = publisher.sync(EVERYTHING)
    assert (done.reports_changed, done.reports_deleted) == (1, 1)
    assert publisher.stored() == {"b": "Report b"}
    assert publisher.indicators("a") == set()
    assert publisher.indicators("b") == {"other.example"}
    publisher.publish(a_report("a", md5=[MD5]), a_report("b", dns=["other.example"]))
    assert publisher.sync().reports_changed == 1
    assert publisher.indicators("a") == {MD5}


def test_a_report_without_indicators_is_withdrawn(publisher: Publisher) -> None:
    publisher.publish(a_report("a", md5=[MD5]))
    publisher.sync()
    publisher.publish(a_report("a", 2))
    publisher.sync()
    assert publisher.stored() == {}
    assert publisher.indicators("a") == set()
    publisher.publish(a_report("a", 3, md5=[MD5]))
    publisher.sync()
    assert publisher.indicators("a") == {MD5}


@pytest.mark.parametrize("how", [CHANGES, EVERYTHING])
def test_an_indicator_counts_from_when_it_is_valid(publisher: Publisher, how: int) -> None:
    def indicator(number: int, valid_from: str) -> dict[str, Any]:
        return {
            "type": "indicator",
            "id": f"indicator--{number}",
            "pattern": f"[domain-name:value = 'evil{number}.example']",
            "modified": "2020-01-02T03:04:05Z",
            "valid_from": valid_from,
        }

    later = datetime.fromtimestamp(NOW_US / 1_000_000 + 1_500_000, UTC).isoformat()
    objects = [indicator(1, later), indicator(2, "2020-01-02T03:04:05Z")]
    publisher.path.write_text(json.dumps({"type": "bundle", "objects": objects}))
    done = publisher.sync(how)
    assert (done.etag, publisher.indicators("indicator--1")) == ("", set())
    assert publisher.indicators("indicator--2") == {"evil2.example"}
    assert publisher.sync(how).reports_changed == 1
    assert publisher.indicators("indicator--1") == {"evil1.example"}


@pytest.mark.parametrize(
    "document",
    [
        {"feedinfo": {"name": "Intel"}, "reports": []},
        {"response": {"Attribute": []}},
        {"type": "bundle", "objects": []},
    ],
)
def test_a_document_without_indicators_is_a_problem_until_it_has_one(
    publisher: Publisher, document: Any
) -> None:
    publisher.path.write_text(json.dumps(document))
    for how in (CHANGES, EVERYTHING):
        done = publisher.sync(how)
        assert "has no indicators" in done.last_error
        assert (done.errors, done.failures, done.etag) == (1, 0, "")
        assert [one.place for one in feeds.errors_of(publisher.parts.database, done.id)] == [
            "document"
        ]
    publisher.publish(a_report("a", md5=[MD5]))
    done = publisher.sync()
    assert (done.last_error, done.errors, done.iocs_read) == ("", 0, 1)


def test_a_broken_report_costs_only_itself_and_is_named_with_its_place(
    publisher: Publisher,
) -> None:
    publisher.publish(a_report("a", md5=[MD5]), a_report("b", md5=[MD5]))
    publisher.sync()
    good = [json.dumps(a_report(f"r{number}", md5=[MD5])) for number in range(3)]
    lost = a_report("b") | {"score": "high"}
    odd = a_report("odd", md5=["xyz", "cd" * 16], email=["a@b.example"])
    texts = [*good, '{"id": "no json", oops}', json.dumps(lost), json.dumps(odd)]
    publisher.path.write_text(f'{{"reports": [{",".join(texts)}]}}')
    done = publisher.sync(EVERYTHING)
    assert done.last_error == ""
    assert set(publisher.stored()) == {"r0", "r1", "r2", "odd", "b"}, "a broken one is not deleted"
    assert publisher.indicators("odd") == {"cd" * 16}
    found = feeds.errors_of(publisher.parts.database, publisher.id)
    assert [one.place.split(" at ")[0] for one in found] == [
        "reports[3]",
        "reports[4]",
        "reports[5]",
        "reports[5]",
    ]
    assert "email" in found[3].problem
    assert found[1].report_id == "b"


def test_a_document_that_ends_early_deletes_nothing(publisher: Publisher) -> None:
    publisher.publish(a_report("a", md5=[MD5]), a_report("b", md5=[MD5]))
    publisher.sync()
    whole = publisher.path.read_text()
    publisher.path.write_text(whole[: whole.index('"b"')])
    failed = publisher.sync(EVERYTHING)
    assert "ends too early" in failed.last_error
    assert failed.failures == 1
    assert set(publisher.stored()) == {"a", "b"}


@pytest.mark.parametrize("how", [CHANGES, EVERYTHING])
def test_a_crash_in_the_middle_is_repaired_by_the_next_run(
    publisher: Publisher, how: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    publisher.publish(a_report("a", md5=[MD5]), a_report("gone", md5=[MD5]))
    publisher.sync()
    publisher.publish(
        a_report("a", 2, md5=["cd" * 16]),
        *[a_report(f"n{number}", md5=[f"{number:032x}"]) for number in range(5)],
    )
    engine = publisher.parts.engine
    feed = feeds.get(publisher.parts.database, publisher.id)
    for step in range(1, 12):
        left = [step]
        with monkeypatch.context() as patch:
            for name in ("insert_arrow", "command"):
                patch.setattr(engine, name, _dies_after(left, getattr(engine, name)))
            try:
                synchronise(
                    publisher.parts, feed, Progress(), lambda: None, is_full=how == EVERYTHING
                )
            except KeyboardInterrupt:
                continue
        break
    publisher.sync(how)
    assert publisher.indicators("a") == {"cd" * 16}
    names = {"a", *(f"n{number}" for number in range(5))}
    assert set(publisher.stored()) == (names if how == EVERYTHING else names | {"gone"})
    for number in range(5):
        assert publisher.indicators(f"n{number}") == {f"{number:032x}"}


def _dies_after(left: list[int], call: Any) -> Any:
    def dying(*arguments: Any, **named: Any) -> Any:
        left[0] -= 1
        if left[0] <= 0:
            raise KeyboardInterrupt
        return call(*arguments, **named)

    return dying


def test_what_analysts_ignore_stays_ignored_through_synchronisations(
    publisher: Publisher,
) -> None:
    publisher.publish(a_report("a", md5=[MD5]))
    publisher.sync()
    mark_ignored(
        publisher.parts.engine, [(publisher.id, "a")], publisher.clock.now_us() + 1, ignored=True
    )
    publisher.publish(a_report("a", 5, md5=["cd" * 16]))
    publisher.sync()
    publisher.sync(EVERYTHING)
    found = report(publisher.parts.engine, publisher.id, "a")
    assert found is not None
    assert found["is_ignored"]
    assert found["md5"] == ["cd" * 16]


def test_an_id_that_comes_twice_is_taken_once(publisher: Publisher) -> None:
    publisher.publish(a_report("a", md5=[MD5]), a_report("a", 9, md5=["cd" * 16]))
    assert publisher.sync().errors == 1
    assert publisher.indicators("a") == {MD5}


def test_reports_of_a_feed_that_was_deleted_meanwhile_do_not_stay(publisher: Publisher) -> None:
    publisher.publish(a_report("a", md5=[MD5]))
    publisher.sync()
    other = feeds.add(
        publisher.parts.database,
        {
            "name": "Other",
            "feed_url": publisher.path.as_uri(),
            "enabled": True,
            "manually_added": True,
        },
        publisher.parts.sealing,
        NOW_US,
    )
    feeds.remove(publisher.parts.database, publisher.id)
    publisher.schedule.run_due()
    assert report_counts(publisher.parts.engine) == {other.id: (1, 1)}
