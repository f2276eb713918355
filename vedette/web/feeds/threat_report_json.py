"""Formats threat reports for the API (docs/api-detection.md#threat-report)."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from vedette.limits import REPORT_IOCS_SHOWN_MAX
from vedette.model.address import address_text
from vedette.search.document_search import Results
from vedette.search.reports.report_search import report_id
from vedette.store.read.detection.tag_counts import IocHits
from vedette.web.json.wire_values import instant, known_instant
from vedette.web.processes.search_results_json import document_results_body

Body = dict[str, Any]

_VALUES: Final = {"md5": "md5", "sha256": "sha256", "ja3": "ja3", "ja3s": "ja3s", "dns": "domain"}


def report_body(row: Mapping[str, Any], iocs_max: int = REPORT_IOCS_SHOWN_MAX) -> Body:
    """Returns a report. `ioc_count` counts all indicators; `iocs` lists the first of each type."""
    updated = known_instant(row["update_time"])
    return {
        "_internal_id": report_id(row),
        "id": row["report_id"],
        "report_id": row["report_id"],
        "feed_id": row["feed_id"],
        "feed_name": row["feed_name"],
        "feed_category": row["feed_category"] or None,
        "title": row["title"],
        "description": row["description"],
        "link": row["link"],
        "tags": row["tags"],
        "score": row["score"],
        "report_score": row["score"],
        "timestamp": row["update_time"] // 1_000_000,
        "create_time": known_instant(row["create_time"]),
        "update_time": updated,
        "last_update": updated,
        "is_ignored": bool(row["is_ignored"]),
        "is_deleted": bool(row["is_deleted"]),
        "has_query": bool(row["has_query"]),
        "ioc_count": row["ioc_count"],
        "iocs": report_iocs(row, iocs_max),
    }


def report_iocs(row: Mapping[str, Any], most: int) -> Body:
    """Returns indicators by type in cbfeeds format, without empty types."""
    found: Body = {kind: row[column][:most] for kind, column in _VALUES.items() if row[column]}
    networks = row["network"]
    for kind, column in (("ipv4", "ipaddr"), ("ipv6", "ipv6addr")):
        spans = {one.partition("/")[0]: one for one in networks if (":" in one) == (kind == "ipv6")}
        texts = [address_text(packed) for packed in row[column]]
        if texts:
            found[kind] = [spans.get(text, text) for text in texts][:most]
    queries = list(zip(row["query_index"], row["query"], strict=True))[:most]
    if queries:
        found["query"] = [
            {"index_type": index_type, "search_query": text} for index_type, text in queries
        ]
    return found


def matches_body(one: IocHits) -> Body:
    """Returns the matches of an indicator."""
    return {
        "ioc": one.ioc,
        "segments": one.segments,
        "hosts": one.hosts,
        "last": instant(one.last_ms * 1_000),
    }


def changed_reports_body(
    changed: int, found_count: int, unknown: Sequence[tuple[int, str]]
) -> Body:
    """Returns the response to a change of reports. `unknown` has feed and report ids without a
    report."""
    not_found: dict[str, list[str]] = {}
    for feed_id, name in sorted(unknown):
        not_found.setdefault(str(feed_id), []).append(name)
    counts = {"updated": changed, "unchanged": found_count - changed}
    return {"result": "success", **counts, "not_found": not_found}


def report_results_body(found: Results) -> Body:
    """Returns the response of a report search."""
    return document_results_body(found, [report_body(row) for row in found.rows])
