"""Feeds and reports in the cbfeeds format, by the rules of its public validator: what these rules
do not allow is left out, and counted."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

_WORD: Final = re.compile(r"[a-zA-Z0-9]{1,32}")
_ID: Final = re.compile(r"[a-zA-Z0-9\-_.]+")
_PARAMETER: Final = re.compile(r"(?:^|&)(?:q=|cb\.q\.)")
_OTHERS: Final = re.compile(r"[^a-zA-Z0-9]")

Body = dict[str, Any]


def exported_info(feed: Mapping[str, Any]) -> Body:
    """`feedinfo` of the record of a feed (docs/api-objects.md#feed)."""
    name = str(feed["name"])
    info: Body = {
        "name": _OTHERS.sub("", name) or "feed",
        "display_name": feed.get("display_name") or name,
        "provider_url": feed.get("provider_url") or "",
        "summary": feed.get("summary") or name,
        "tech_data": feed.get("tech_data") or "There are no requirements to use this feed.",
        "category": feed.get("category") or "Other",
    }
    icons = {one: feed[one] for one in ("icon", "icon_small") if feed.get(one)}
    return info | icons


def exported_reports(report: Mapping[str, Any]) -> tuple[list[Body], int]:
    """The reports that an object of the API becomes, and how many of its indicators are left out:
    networks, and queries without `q=`. A report with queries on processes and on binaries becomes
    two."""
    iocs, left_out = dict(report["iocs"]), 0
    for kind in ("ipv4", "ipv6"):
        if kind in iocs:
            single = [one for one in iocs[kind] if "/" not in one]
            left_out += len(iocs[kind]) - len(single)
            iocs[kind] = single
    queries = iocs.pop("query", [])
    good = [one for one in queries if _PARAMETER.search(one["search_query"])]
    left_out += len(queries) - len(good)
    groups = list(_query_groups(good))
    values = {kind: found for kind, found in iocs.items() if found}
    groups = [values, *groups] if values else groups
    if not _ID.fullmatch(report["id"]):
        return [], left_out + sum(map(len, values.values())) + len(good)
    found = []
    for number, group in enumerate(groups):
        suffix = f".{number}" if number else ""
        found.append(_report(report, group) | {"id": f"{report['id']}{suffix}"})
    return found, left_out


def _query_groups(queries: list[Mapping[str, str]]) -> Iterator[Body]:
    for index_type in ("events", "modules"):
        texts = [one["search_query"] for one in queries if one["index_type"] == index_type]
        if texts:
            yield {"query": {"index_type": index_type, "search_query": texts}}


def _report(report: Mapping[str, Any], iocs: Body) -> Body:
    body: Body = {
        "id": report["id"],
        "title": report["title"],
        "link": report["link"],
        "timestamp": report["timestamp"],
        "score": max(0, report["score"]),
        "iocs": iocs,
    }
    tags = [_OTHERS.sub("", one)[:32] for one in report["tags"]]
    good = list(dict.fromkeys(one for one in tags if _WORD.fullmatch(one)))
    return body | ({"tags": good} if good else {}) | _description(report)


def _description(report: Mapping[str, Any]) -> Body:
    return {"description": report["description"]} if report["description"] else {}
