"""Splits files of rules into requests to `POST /api/v1/sigma/test`, and merges the responses.

A tree of rules may exceed the body of a request. Each request contains the filters of the whole
tree, because a filter narrows rules of other files.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import orjson

from vedette import limits
from vedette.alerting.rule_messages import RuleFile

_FILTER: Final = re.compile(r"^filter\s*:", re.MULTILINE)
_SUMMED: Final = (
    "events",
    "total_hits",
    "expected_alerts",
    "average_hits_per_day",
    "expected_alerts_per_day",
)


def past_requests(
    files: Iterable[RuleFile], bytes_max: int = limits.SIGMA_REQUEST_BYTES_MAX
) -> Iterator[list[dict[str, str]]]:
    """Yields the `files` of each request, at least one request."""
    found = list(files)
    filters = [_body(one) for one in found if _FILTER.search(one.text)]
    taken = list(filters)
    size = start = _size(taken)
    for body in (_body(one) for one in found if not _FILTER.search(one.text)):
        added = _size([body])
        if len(taken) > len(filters) and (
            size + added > bytes_max or len(taken) >= limits.SIGMA_REQUEST_FILES_MAX
        ):
            yield taken
            taken, size = list(filters), start
        taken.append(body)
        size += added
    yield taken


def merged(answers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Merges the responses to the requests of a tree."""
    first = answers[0]
    if len(answers) == 1:
        return first
    days: Counter[str] = Counter()
    hosts: dict[int, dict[str, Any]] = {}
    for answer in answers:
        for one in answer["hits_per_day"]:
            days[one["day"]] += one["hits"]
        for one in answer["hosts"]:
            known = hosts.setdefault(one["sensor_id"], {**one, "hits": 0})
            known["hits"] += one["hits"]
    samples = sorted(_all(answers, "samples"), key=lambda one: str(one["time"]), reverse=True)
    return {
        **first,
        **{name: sum(answer[name] for answer in answers) for name in _SUMMED},
        "documents": _all(answers, "documents"),
        "from": max(answer["from"] for answer in answers),
        "hits_per_day": [{"day": day, "hits": hits} for day, hits in sorted(days.items())],
        "total_hosts": max(len(hosts), *(answer["total_hosts"] for answer in answers)),
        "hosts": sorted(hosts.values(), key=lambda one: (-one["hits"], one["hostname"])),
        "rules": _all(answers, "rules"),
        "samples": samples[: limits.RULE_PAST_SAMPLES],
        "incomplete_results": any(answer["incomplete_results"] for answer in answers),
    }


def _all(answers: Iterable[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [one for answer in answers for one in answer[name]]


def _body(file: RuleFile) -> dict[str, str]:
    return {"name": file.name[: limits.MEMBER_CHARS_MAX], "text": file.text}


def _size(bodies: list[dict[str, str]]) -> int:
    """Returns the bytes of the files in a request, encoded as JSON."""
    return len(orjson.dumps(bodies))
