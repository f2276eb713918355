"""Converts reports and indicators to rows of the telemetry store."""

from collections.abc import Iterable
from typing import Any, Final

import msgspec
import xxhash

from vedette.model.address import pack_address
from vedette.model.event import UNKNOWN_IP
from vedette.model.threat.feed import Ioc, Report
from vedette.record.objects.feed import Feed
from vedette.store.read.threat.reports import KnownReport

Row = dict[str, Any]

_COLUMN_OF: Final = {"dns": "domain"}
_MAPPED_BITS: Final = 96
_ADDRESS_BITS: Final = 128
_ENCODER: Final = msgspec.msgpack.Encoder()


def content_of(report: Report) -> int:
    """Returns a hash of a report's contents, except the start of its indicators' validity: a report
    that is not valid yet has no indicators."""
    said = msgspec.structs.asdict(report)
    del said["valid_from_us"]
    return xxhash.xxh3_64_intdigest(_ENCODER.encode(said))


def report_row(
    feed: Feed, report: Report, known: KnownReport | None, *, sync: int, version: int
) -> Row:
    """Returns the row of a report; a report without indicators is marked as deleted."""
    row: Row = {
        "feed_id": feed.id,
        "report_id": report.id,
        "feed_name": feed.name,
        "feed_category": feed.category or "",
        "title": report.title,
        "description": report.description,
        "link": report.link,
        "score": report.score,
        "create_time": known.create_us if known is not None else version,
        "update_time": report.time_us,
        "is_ignored": int(known is not None and known.is_ignored),
        "is_deleted": int(not report.iocs),
        "ioc_count": len(report.iocs),
        "content": content_of(report),
        "sync": sync,
        "version": version,
    }
    return row | _lists(report)


def indicator_rows(feed: Feed, report: Report, known: Iterable[Row], version: int) -> list[Row]:
    """Returns the rows that update the stored indicators of a report: new, changed and removed
    ones."""
    stored = {(row["ioc_type"], row["value"]): row for row in known}
    rows = []
    for ioc in report.iocs:
        before = stored.pop((ioc.type, ioc.value), None)
        row = _indicator(feed, report, ioc, version)
        if before is not None and not before["is_deleted"]:
            row["added"] = before["added"]
            if all(row[name] == before[name] for name in row if name != "version"):
                continue
        rows.append(row)
    gone = (row for row in stored.values() if not row["is_deleted"])
    return rows + [row | {"is_deleted": 1, "version": version} for row in gone]


def packed_network(ioc_type: str, value: str) -> tuple[bytes, int]:
    """Returns first address and prefix bits (of 128) of an indicator; zeros if it is not an
    address."""
    if ioc_type not in ("ipv4", "ipv6"):
        return UNKNOWN_IP, 0
    address, _, bits = value.partition("/")
    packed = pack_address(address)
    if not bits:
        return packed, _ADDRESS_BITS
    return packed, int(bits) + (_MAPPED_BITS if ioc_type == "ipv4" else 0)


def _indicator(feed: Feed, report: Report, ioc: Ioc, version: int) -> Row:
    network, bits = packed_network(ioc.type, ioc.value)
    return {
        "feed_id": feed.id,
        "report_id": report.id,
        "ioc_type": ioc.type,
        "value": ioc.value,
        "index_type": ioc.index_type,
        "network": network,
        "bits": bits,
        "confidence": round(ioc.confidence * 1000),
        "score": report.score,
        "expires": ioc.expires_us,
        "is_deleted": 0,
        "added": version,
        "version": version,
    }


def _lists(report: Report) -> Row:
    lists: Row = {
        name: []
        for name in (
            "md5",
            "sha256",
            "ja3",
            "ja3s",
            "domain",
            "query",
            "query_index",
            "network",
            "ipaddr",
            "ipv6addr",
        )
    }
    for ioc in report.iocs:
        match ioc.type:
            case "ipv4" | "ipv6":
                packed, _ = packed_network(ioc.type, ioc.value)
                lists["ipaddr" if ioc.type == "ipv4" else "ipv6addr"].append(packed)
                if "/" in ioc.value:
                    lists["network"].append(ioc.value)
            case "query":
                lists["query"].append(ioc.value)
                lists["query_index"].append(ioc.index_type)
            case _:
                lists[_COLUMN_OF.get(ioc.type, ioc.type)].append(ioc.value)
    return lists | {"tags": list(report.tags), "has_query": int(bool(lists["query"]))}
