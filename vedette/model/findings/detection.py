"""What detection found, whoever found it: a rule, an indicator of a feed, a watchlist.

A `Detection` becomes an alert where the alert action of its source is on, and messages where its
other actions are (`alerting/detection_writer.py`). Its id is made from what was found where, never
from when it was noticed: finding it again after a crash, or in a record that was sent twice, is the
same detection.
"""

from hashlib import sha256
from typing import Literal

from msgspec import Struct, field

AlertType = Literal[
    "watchlist.hit.query.process",
    "watchlist.hit.query.binary",
    "watchlist.hit.ingress.process",
    "watchlist.hit.ingress.binary",
    "watchlist.hit.ingress.host",
]
"""The `alert_type` of docs/api-objects.md: `query` for watchlists, rules and query indicators,
`ingress` for indicators that are values; `host` for what belongs to no process."""

SourceKind = Literal["rule", "feed", "watchlist", "server"]
"""`server` is the server itself, e.g. of a rule that was stopped because of its cost."""


class Source(Struct, frozen=True, gc=False):
    """What found something: `id` is the id of the rule, or the number of the feed or watchlist."""

    kind: SourceKind
    id: str


class Detection(Struct, frozen=True, kw_only=True):
    """Something that was found on a host. Text that is not known is "", a number 0.

    Host, user, path and counts of the process are not here: the writer reads them from the store.
    """

    source: Source
    source_name: str = ""
    """Name of the rule, feed or watchlist."""
    feed_rating: float = 0.0
    """What the feed's provider is worth, 0 to 5."""
    alert_type: AlertType
    subject: str
    """What was hit, stable: a process id, a hash, or a record's key as text."""
    time_us: int
    """When it happened on the host."""
    sensor_id: int
    """0 for what belongs to no host."""
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
    """Of a rule: informational, low, medium, high or critical."""
    tags: tuple[str, ...] = ()
    techniques: tuple[str, ...] = ()
    """Of ATT&CK, as `T1059.001`."""
    false_positives: tuple[str, ...] = ()
    rule_text: str = ""
    """What was looked for: the rule's YAML, the query of a watchlist."""
    rule_version: str = ""
    report_id: str = ""
    report_score: int = 0
    ioc_type: str = ""
    ioc_value: str = ""
    ioc_confidence: float = 0.5
    """0 to 1."""
    matched: dict[str, str] = field(default_factory=dict)
    """Values that made it a hit, by field."""
    event: dict[str, str] = field(default_factory=dict)
    """The whole event as it was judged, so that an alert outlives its telemetry."""
    count: int = 1
    """How many events it stands for."""
    seq: int = 0
    """Commit that it was found in, so that what is found again is not counted again; 0 where there
    is none. Detections of one commit are written together, and commits in order."""

    @property
    def id(self) -> str:
        """32 hex digits: the same for the same source, host, subject and indicator."""
        parts = (self.source.kind, self.source.id, str(self.sensor_id), self.subject)
        text = "\x00".join((*parts, self.report_id, self.ioc_value))
        return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


class RuleHit(Struct, kw_only=True):
    """What a rule hit in one commit: one value a (rule, process or record). It is stored with the
    events themselves and becomes a detection later (`alerting/rule_hits.py`). Texts that are not
    known are ""."""

    rule_id: str
    generation: int
    """Of the rules that judged it."""
    sensor_id: int
    subject: str
    """What was hit, stable: the process id, or a name of the record."""
    process_id: str
    segment_id: int = 0
    md5: str = ""
    time_us: int
    """Of the first event, on the host."""
    last_us: int
    count: int = 1
    """Events it stands for."""
    matched: dict[str, str]
    """Values that made the first one a hit, by field."""
    event: dict[str, str]
    """All values of the first event, and those of its process that the rule asked for."""


class RuleCost(Struct, frozen=True, gc=False):
    """What a rule cost and found in some commits."""

    rule_id: str
    events: int
    """Events that were compared with all of it."""
    hits: int
    verify_ns: int
    """CPU time of that, estimated from a sample."""
