"""Turns indicator hits into tags on segments and binaries, and into detections."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from vedette.limits import INDICATOR_HITS_PAGE, Limit
from vedette.model.findings.detection import Detection, Source
from vedette.model.findings.tag import Tag
from vedette.store.read.threat.indicator_matches import BinaryHit, SegmentHit
from vedette.store.read.threat.record_matches import RecordHit

IOC_CHARS_SHOWN: Limit[int] = 1_000
"""Characters of an indicator in tags and alerts; only queries are longer."""


_FIELDS: Final = {
    "md5": "md5",
    "sha256": "sha256",
    "ja3": "ja3",
    "ja3s": "ja3s",
    "dns": "domain",
    "ipv4": "ipaddr",
    "ipv6": "ipv6addr",
    "query": "query",
}
"""Search field of each indicator type."""

Indicator = Mapping[str, Any]
"""A row of `indicators_with`."""


@dataclass(slots=True)
class Hits:
    """Hits of one group of rows."""

    by_key: dict[int, list[Indicator]] = field(default_factory=dict)
    """Maps row key to indicators."""
    segments: list[SegmentHit] = field(default_factory=list)
    binaries: list[BinaryHit] = field(default_factory=list)
    records: list[RecordHit] = field(default_factory=list)
    names: Mapping[int, str] = field(default_factory=dict)
    """Maps feed id to name."""
    ratings: Mapping[int, float] = field(default_factory=dict)
    """Maps feed id to rating, 0 to 5; omits feeds without a rating."""
    reports: Mapping[tuple[int, str], Mapping[str, Any]] = field(default_factory=dict)
    written: set[tuple[str, int, str, str, str]] = field(default_factory=set)
    """Tags of earlier rounds (`written_tags`)."""

    tagged: set[tuple[str, str, str, str]] = field(default_factory=set)
    """Existing tags of binaries (`written_binary_tags`)."""

    def has_room_for(self, other: "Hits") -> bool:
        """Whether both fit into one page."""
        return self.count + other.count <= INDICATOR_HITS_PAGE

    @property
    def count(self) -> int:
        return len(self.segments) + len(self.binaries) + len(self.records)

    def joined(self, other: "Hits") -> "Hits":
        """Returns the hits of both, before further facts are loaded."""
        return Hits(
            self.by_key | other.by_key,
            [*self.segments, *other.segments],
            [*self.binaries, *other.binaries],
            [*self.records, *other.records],
        )

    def report_keys(self) -> list[tuple[int, str]]:
        return [(one["feed_id"], one["report_id"]) for some in self.by_key.values() for one in some]

    def indicators(self, keys: tuple[int, ...]) -> Iterator[tuple[Indicator, Mapping[str, Any]]]:
        """Yields the indicators with these keys, each with its report."""
        for key in sorted(keys):
            for one in self.by_key.get(key, ()):
                report = self.reports.get((one["feed_id"], one["report_id"]))
                if report is not None and one["feed_id"] in self.names:
                    yield one, report


def tags_of(hits: Hits) -> list[Tag]:
    """Returns the missing tags of segments and binaries."""
    tags = [_tag(hits, hit.segment.key, one, report) for hit, one, report in _new(hits)]
    found: dict[tuple[str, str, str, str], Tag] = {}
    for hit in hits.binaries:
        for one, report in hits.indicators(hit.keys):
            found[(hit.digest, *_said(hits, one))] = _tag(hits, hit.digest, one, report)
    return [*tags, *(tag for key, tag in found.items() if key not in hits.tagged)]


def detections_of(hits: Hits) -> list[Detection]:
    """Returns a detection per process, report and indicator; per binary on a host; and per commit,
    host and kind of records."""
    found = [_detection(hits, hit, one, report) for hit, one, report in _new(hits)]
    of_binaries = {
        (hit.digest, hit.sensor_id, *_said(hits, one)): _of_binary(hits, hit, one, report)
        for hit in hits.binaries
        for one, report in hits.indicators(hit.keys)
    }
    of_records = [
        _of_record(hits, hit, one, report)
        for hit in hits.records
        for one, report in hits.indicators((hit.key,))
    ]
    return [*found, *of_binaries.values(), *of_records]


def _new(hits: Hits) -> Iterator[tuple[SegmentHit, Indicator, Mapping[str, Any]]]:
    written = set(hits.written)
    for hit in hits.segments:
        key = hit.segment.key
        for one, report in hits.indicators(hit.keys):
            said = (key.process_id, key.segment_id, *_said(hits, one))
            if said not in written:
                written.add(said)
                yield hit, one, report


def _said(hits: Hits, one: Indicator) -> tuple[str, str, str]:
    """Returns feed, report and indicator in the form of tags."""
    return hits.names[one["feed_id"]].lower(), one["report_id"], _shown(one["value"])


def _shown(value: str) -> str:
    return value[:IOC_CHARS_SHOWN]


def _tag(hits: Hits, document: Any, one: Indicator, report: Mapping[str, Any]) -> Tag:
    return Tag(
        document=document,
        family="alliance",
        name=hits.names[one["feed_id"]].lower(),
        time_us=report["updated_us"],
        score=report["score"],
        report=one["report_id"],
        ioc=_shown(one["value"]),
        link=report["link"],
    )


def _detection(hits: Hits, hit: SegmentHit, one: Indicator, report: Mapping[str, Any]) -> Detection:
    key, is_query = hit.segment.key, one["ioc_type"] == "query"
    return Detection(
        **_of_report(hits, one, report),
        alert_type="watchlist.hit.query.process" if is_query else "watchlist.hit.ingress.process",
        subject=key.process_id,
        time_us=hit.last_update_us,
        sensor_id=key.sensor_id,
        process_id=key.process_id,
        segment_id=key.segment_id,
        md5=hit.shown.get("process_md5", ""),
        sha256=hit.shown.get("process_sha256", ""),
        event={name: str(text) for name, text in hit.shown.items() if text},
        seq=hit.segment.seq,
    )


def _of_binary(hits: Hits, hit: BinaryHit, one: Indicator, report: Mapping[str, Any]) -> Detection:
    is_query = one["ioc_type"] == "query"
    return Detection(
        **_of_report(hits, one, report),
        alert_type="watchlist.hit.query.binary" if is_query else "watchlist.hit.ingress.binary",
        subject=hit.digest,
        time_us=hit.last_seen_us,
        sensor_id=hit.sensor_id,
        md5=hit.shown.get("md5", ""),
        sha256=hit.shown.get("sha256", ""),
        event={name: str(text) for name, text in hit.shown.items() if text},
        seq=hit.seq,
    )


def _of_record(hits: Hits, hit: RecordHit, one: Indicator, report: Mapping[str, Any]) -> Detection:
    """Returns a detection of records. Records of one kind become one alert per host and day:
    password guessing causes thousands of records."""
    known = {"Channel": hit.channel, "EventID": str(hit.event_id), "Provider_Name": hit.provider}
    return Detection(
        **_of_report(hits, one, report),
        alert_type="watchlist.hit.ingress.host",
        subject=f"records:{hit.channel}/{hit.event_id}/{hit.day}",
        time_us=hit.first_us,
        sensor_id=hit.sensor_id,
        event={name: text for name, text in (known | dict(hit.fields)).items() if text},
        count=hit.count,
        seq=hit.seq,
    )


def _of_report(hits: Hits, one: Indicator, report: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields of detections that come from feed and report."""
    value = _shown(one["value"])
    return {
        "source": Source("feed", str(one["feed_id"])),
        "source_name": hits.names[one["feed_id"]],
        "feed_rating": hits.ratings.get(one["feed_id"], 0.0),
        "title": report["title"],
        "description": report["description"],
        "link": report["link"],
        "severity": max(0, report["score"]),
        "tags": tuple(report["tags"]),
        "rule_text": one["value"] if one["ioc_type"] == "query" else "",
        "report_id": one["report_id"],
        "report_score": report["score"],
        "ioc_type": one["ioc_type"],
        "ioc_value": value,
        "ioc_confidence": one["confidence"] / 1000,
        "matched": {_FIELDS[one["ioc_type"]]: value},
    }
