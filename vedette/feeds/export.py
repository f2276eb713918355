"""Exports feeds and reports in the cbfeeds format, according to the rules of its public validator.
Values that the rules forbid are rewritten if an equivalent form exists, else omitted and
counted."""

import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl, quote, unquote

from vedette.query.parse.query_params import is_part_of_query

_WORD: Final = re.compile(r"[a-zA-Z0-9]{1,32}")
_ID: Final = re.compile(r"[a-zA-Z0-9\-_.]+")
_PARAMETER: Final = re.compile(r"(?:^|&)(?:q=|cb\.q\.)")
_OTHERS: Final = re.compile(r"[^a-zA-Z0-9]")
_LABEL: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,61}[a-z0-9]?")
_UNRESERVED: Final = "*()"
"""Characters of a query that need no percent-encoding, besides letters, digits, `-`, `_`, `.` and
`~`."""
_IMAGE: Final = re.compile(
    rb"\x89PNG\r\n\x1a\n|GIF8[79]a|\xff\xd8\xff\xdb|\xff\xd8\xff...(?:JFIF|Exif)", re.DOTALL
)

Body = dict[str, Any]


def exported_info(feed: Mapping[str, Any]) -> Body:
    """Returns the `feedinfo` of a feed's record (docs/api-detection.md#feed)."""
    name = str(feed["name"])
    info: Body = {
        "name": _OTHERS.sub("", name) or "feed",
        "display_name": feed.get("display_name") or name,
        "provider_url": feed.get("provider_url") or "",
        "summary": feed.get("summary") or name,
        "tech_data": feed.get("tech_data") or "There are no requirements to use this feed.",
        "category": feed.get("category") or "Other",
    }
    if feed.get("provider_rating") is not None:
        info["provider_rating"] = feed["provider_rating"]
    icons = {one: feed[one] for one in ("icon", "icon_small") if _is_image(feed.get(one))}
    return info | icons


def exported_reports(report: Mapping[str, Any]) -> tuple[list[Body], int]:
    """Converts a report of the API to exported reports, and returns them with the number of omitted
    indicators: networks, names with `_`, and queries without a `q=` form. A report with queries
    over processes and over binaries becomes two."""
    iocs = dict(report["iocs"])
    asked = iocs.pop("query", [])
    total = len(asked) + sum(map(len, iocs.values()))
    if not _ID.fullmatch(report["id"]):
        return [], total
    values = {kind: good for kind, some in iocs.items() if (good := _allowed(kind, some))}
    groups = [*([values] if values else ()), *_query_groups(asked)]
    kept = sum(_count(group) for group in groups)
    found = []
    for number, group in enumerate(groups):
        suffix = f".{group['query']['index_type']}-queries" if number else ""
        found.append(_report(report, group) | {"id": f"{report['id']}{suffix}"})
    return found, total - kept


def _count(group: Body) -> int:
    if "query" in group:
        return len(group["query"]["search_query"])
    return sum(map(len, group.values()))


def _allowed(kind: str, values: list[str]) -> list[str]:
    if kind in ("ipv4", "ipv6"):
        return [one for one in values if "/" not in one]
    if kind == "dns":
        return [one for one in values if all(map(_LABEL.fullmatch, one.split(".")))]
    return values


def _query_groups(queries: list[Mapping[str, str]]) -> Iterator[Body]:
    for index_type in ("events", "modules"):
        asked = (one["search_query"] for one in queries if one["index_type"] == index_type)
        texts = [text for one in asked if (text := _encoded(one))]
        if texts:
            yield {"query": {"index_type": index_type, "search_query": texts}}


def _encoded(query: str) -> str:
    """Returns a stored query in percent-encoded form; "" for a query that has no form with `q=` or
    `cb.q.`."""
    pairs = parse_qsl(query, keep_blank_values=True)
    if not any(is_part_of_query(key) for key, _ in pairs):
        return f"q={quote(unquote(query), safe=_UNRESERVED)}"
    named = ((key.replace("svc.", "cb.", 1), value) for key, value in pairs)
    text = "&".join(f"{quote(key)}={quote(value, safe=_UNRESERVED)}" for key, value in named)
    return text if _PARAMETER.search(text) else ""


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


def _is_image(icon: object) -> bool:
    """Whether it is an image in the canonical base64 form that the rules require."""
    if not isinstance(icon, str):
        return False
    try:
        data = b64decode(icon, validate=True)
    except (Base64Error, ValueError):
        return False
    return b64encode(data).decode() == icon and _IMAGE.match(data) is not None
