"""Detections of any source: rules, indicators of feeds, watchlists, and the server itself.

A `Detection` becomes an alert if its source's alert action is enabled, and a message for each other
enabled action (`alerting/detection_writer.py`). Its id depends on the source and the object, not on
the time of discovery. Repeated discovery, after a crash or by a record that was sent twice, yields
the same detection.
"""

from hashlib import sha256
from typing import Final, Literal

from msgspec import Struct, field

AlertType = Literal[
    "watchlist.hit.query.process",
    "watchlist.hit.query.binary",
    "watchlist.hit.ingress.process",
    "watchlist.hit.ingress.binary",
    "watchlist.hit.ingress.host",
]
"""The `alert_type` of docs/api-detection.md: `query` for watchlists, rules and query indicators;
`ingress` for value indicators; `host` for detections without a process."""

SourceKind = Literal["rule", "feed", "watchlist", "server"]
"""`server` is the server itself, for example if it stopped a rule because of its cost."""


class Source(Struct, frozen=True, gc=False):
    """Source of a detection. `id` is the id of the rule, or the number of the feed or watchlist."""

    kind: SourceKind
    id: str


class Detection(Struct, frozen=True, kw_only=True):
    """A detection on a host. An unknown text is "", an unknown number 0.

    Host, user, path and event counts of the process are not included; the writer reads them from
    the store.
    """

    source: Source
    source_name: str = ""
    """Name of the rule, feed or watchlist."""
    feed_rating: float = 0.0
    """Rating of the feed's provider, 0 to 5."""
    alert_type: AlertType
    subject: str
    """Stable identifier of the detected object: a process id, a hash, or a record's key as text."""
    time_us: int
    """Time of the first event, host's clock."""
    last_us: int = 0
    """Time of the last event; 0 if equal to `time_us`."""
    sensor_id: int
    """0 if the detection belongs to no host."""
    process_id: str = ""
    segment_id: int = 0
    md5: str = ""
    sha256: str = ""
    title: str
    description: str = ""
    link: str = ""
    severity: int = 50
    """0 to 100."""
    level: str = ""
    """Level of the rule: informational, low, medium, high or critical."""
    tags: tuple[str, ...] = ()
    techniques: tuple[str, ...] = ()
    """ATT&CK techniques, as `T1059.001`."""
    false_positives: tuple[str, ...] = ()
    rule_text: str = ""
    """Text of the search: the rule's YAML or the watchlist's query."""
    rule_version: str = ""
    report_id: str = ""
    report_score: int = 0
    ioc_type: str = ""
    ioc_value: str = ""
    ioc_confidence: float = 0.5
    """0 to 1."""
    matched: dict[str, str] = field(default_factory=dict)
    """Values that matched, by field."""
    event: dict[str, str] = field(default_factory=dict)
    """All fields of the evaluated event, so that an alert outlives its telemetry."""
    count: int = 1
    """Number of events."""
    seq: int = 0
    """Commit of the detection, or 0. Prevents repeated discovery from being counted twice.
    Detections of one commit are written together, and commits are written in order."""

    @property
    def until_us(self) -> int:
        """Time of the last event."""
        return max(self.time_us, self.last_us)

    @property
    def id(self) -> str:
        """Id of 32 hex digits. Depends only on source, host, subject, report and indicator."""
        return detection_id(
            self.source, self.sensor_id, self.subject, self.report_id, self.ioc_value
        )


def detection_id(
    source: Source, sensor_id: int, subject: str, report_id: str = "", ioc_value: str = ""
) -> str:
    """Returns the id of a detection, which is also the id of its alert."""
    parts = (source.kind, source.id, str(sensor_id), subject, report_id, ioc_value)
    return sha256("\x00".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


UNCORRELATED: Final = "uncorrelated"
"""Member of `RuleHit.event` that marks a per-host count that no correlation uses."""

FURTHER_HITS: Final = "further hits"
"""`RuleHit.subject` of hits that a commit only counts, per rule and host, because it has more hits
than it stores individually."""


class RuleHit(Struct, kw_only=True):
    """Hits of a rule on one process or record in one commit. Stored with the events and converted
    to a detection later (`alerting/rule_hits.py`). An unknown text is ""."""

    rule_id: str
    generation: int
    """Generation of the rule set that was evaluated."""
    sensor_id: int
    subject: str
    """Stable identifier of the detected object: the process id, a name of the record, or
    `FURTHER_HITS`."""
    process_id: str
    segment_id: int = 0
    md5: str = ""
    time_us: int
    """Time of the first event, host's clock."""
    last_us: int
    count: int = 1
    """Number of events."""
    matched: dict[str, str]
    """Values of the first event that matched, by field."""
    event: dict[str, str]
    """All values of the first event, and the process values that the rule uses. Beyond
    `RULE_HITS_A_COMMIT_MAX`, only the values that correlations group by."""
    rule_name: str = ""
    """Title of the rule when it fired."""
    level: str = ""
    """Level of the rule when it fired."""
    process_name: str = ""
    username: str = ""

    @property
    def alert_id(self) -> str:
        """Id of the alert that the hit makes or adds to, whether or not there is one."""
        return detection_id(Source("rule", self.rule_id), self.sensor_id, self.subject)

    @property
    def is_counted_per_host(self) -> bool:
        """Whether the hits are only counted, per rule and host."""
        return self.subject == FURTHER_HITS


class RuleCost(Struct, frozen=True, gc=False):
    """Cost and hits of a rule over some commits."""

    rule_id: str
    events: int
    """Events that passed the prefilter and were compared with the whole rule."""
    hits: int
    verify_ns: int
    """CPU time of those comparisons (ns), estimated from a sample."""
