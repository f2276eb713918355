"""Formats watchlist and feed hits as members of process and binary objects
(docs/api-objects.md#tags). Objects without hits have no such members."""

from collections.abc import Iterable, Mapping
from typing import Any

from vedette.model.findings.tag import TAGS, Tag
from vedette.web.json.wire_values import instant

Body = dict[str, Any]


def tag_members(row: Mapping[str, Any]) -> Body:
    """Returns the members for a process; empty if it has no tags."""
    tags = row.get(TAGS, ())
    return {"watchlists": watchlist_members(tags)} | alliance_members(tags) if tags else {}


def watchlist_members(tags: Iterable[Tag]) -> list[Body]:
    """Returns the watchlists that tagged the document, by id."""
    found = {tag.name: tag.time_us for tag in tags if tag.family == "watchlist"}
    return [{"wid": name, "value": instant(found[name])} for name in sorted(found, key=int)]


def feed_hits(tags: Iterable[Tag]) -> Body:
    """Returns the hits of each feed: its highest score, and every report with its indicator."""
    body: Body = {}
    hits = {(tag.name, tag.report, tag.ioc): tag for tag in tags if tag.family == "alliance"}
    for (feed, report, ioc), tag in sorted(hits.items()):
        found = body.setdefault(feed, {"score": tag.score, "hits": []})
        found["score"] = max(found["score"], tag.score)
        found["hits"].append(
            {
                "report_id": report,
                "ioc_value": ioc,
                "score": tag.score,
                "link": tag.link,
                "updated": instant(tag.time_us),
            }
        )
    return body


def alliance_members(tags: Iterable[Tag]) -> Body:
    """Returns the highest score, the reports, a link and the latest update of every feed that has
    one of the document's indicators."""
    by_feed: dict[str, list[Tag]] = {}
    for tag in tags:
        if tag.family == "alliance":
            by_feed.setdefault(tag.name, []).append(tag)
    body: Body = {}
    for feed, found in sorted(by_feed.items()):
        worst = max(found, key=lambda tag: (tag.score, tag.time_us, tag.report))
        body[f"alliance_score_{feed}"] = worst.score
        body[f"alliance_data_{feed}"] = sorted({tag.report for tag in found})
        body[f"alliance_link_{feed}"] = worst.link or max(tag.link for tag in found)
        body[f"alliance_updated_{feed}"] = instant(max(tag.time_us for tag in found))
    return body
