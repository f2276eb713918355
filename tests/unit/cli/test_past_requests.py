"""Trees of rules of any size are tried in requests that a server takes."""

from typing import Any

from vedette.alerting.rule_messages import RuleFile
from vedette.cli.rules.past_requests import merged, past_requests

FILTER = RuleFile("quiet.yml", "title: quiet\nfilter:\n  rules: any\n", "")


def _rules(count: int) -> list[RuleFile]:
    return [RuleFile(f"{n}.yml", "x" * 100, "") for n in range(count)]


def test_each_request_stays_within_its_bytes_and_has_the_filters() -> None:
    requests = list(past_requests([*_rules(10), FILTER], bytes_max=700))
    assert {one[0]["name"] for one in requests} == {"quiet.yml"}
    names = [file["name"] for one in requests for file in one[1:]]
    assert names == [f"{n}.yml" for n in range(10)]
    assert [len(one) for one in requests] == [5, 5, 3]


def test_a_file_that_is_larger_than_a_request_is_sent_alone() -> None:
    assert [len(one) for one in past_requests(_rules(3), bytes_max=10)] == [1, 1, 1]
    assert list(past_requests([])) == [[]]


def test_answers_of_several_requests_are_added_up() -> None:
    first, second = _answer("a", 3, "2026-01-02"), _answer("b", 5, "2026-01-01")
    found = merged([first, second])
    assert (found["total_hits"], found["total_hosts"], found["from"]) == (8, 1, "2026-01-02")
    assert found["hosts"] == [{"sensor_id": 1, "hostname": "h", "hits": 8}]
    assert [one["day"] for one in found["hits_per_day"]] == ["2026-01-01", "2026-01-02"]
    assert [one["rule_id"] for one in found["rules"]] == ["a", "b"]
    assert found["incomplete_results"]
    assert merged([first]) == first


def _answer(rule: str, hits: int, day: str) -> dict[str, Any]:
    return {
        "documents": [{"id": rule}],
        "from": day,
        "to": "2026-01-03",
        "by": "event",
        "events": 10,
        "total_hits": hits,
        "hits_per_day": [{"day": day, "hits": hits}],
        "average_hits_per_day": 1.5,
        "total_hosts": 1,
        "hosts": [{"sensor_id": 1, "hostname": "h", "hits": hits}],
        "expected_alerts": hits,
        "expected_alerts_per_day": 1.5,
        "rules": [{"rule_id": rule}],
        "samples": [{"time": day}],
        "incomplete_results": rule == "b",
    }
