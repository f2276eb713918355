"""Turns hits into tags on documents, and into detections.

A document with the tag of a watchlist was hit before and is not reported again. A tag may come from
an interrupted round, so only tags up to the time of the last saved round count.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from vedette.limits import Limit
from vedette.model.address import address_text
from vedette.model.findings.detection import Detection, Source
from vedette.model.findings.tag import SegmentKey, Tag
from vedette.query.match import value_predicate
from vedette.query.nodes import And, Or
from vedette.query.typed import Checked, JoinTest, Match, TagTest, Test, source_of
from vedette.record.objects.watchlist import Watchlist
from vedette.state.policy.watchlists import Executed
from vedette.watchlists.judge import Outcome

WATCHLIST_HITS_A_GROUP: Limit[int] = 1_000
"""Hits of one watchlist in one group of commits that are reported individually. The rest are tagged
and counted, and one detection of the server states their number."""

WATCHLIST_MATCHED_MAX: Limit[int] = 20
"""Matched values that a detection shows."""

WATCHLIST_VALUE_CHARS_MAX: Limit[int] = 1_000
"""Characters of each value in a detection; the telemetry has the rest."""


SHOWN_COLUMNS: Final = (
    "hostname",
    "group",
    "os_type",
    "path",
    "process_name",
    "cmdline",
    "username",
    "process_pid",
    "process_md5",
    "process_sha256",
    "start",
    "last_update",
    "parent_name",
    "parent_path",
    "parent_cmdline",
    "parent_pid",
)
"""Columns of a segment that its detection includes."""

_SHOWN_OF_BINARY: Final = (
    "md5",
    "sha256",
    "observed_filename",
    "original_filename",
    "product_name",
    "company_name",
    "file_version",
    "digsig_result",
    "digsig_publisher",
    "hostname",
    "orig_mod_len",
)


@dataclass(frozen=True, slots=True)
class RoundTime:
    """Time (epoch us) of a round's tags, and of the last saved round, which is earlier."""

    now_us: int
    saved_us: int


@dataclass(slots=True)
class Tally:
    """Results of one watchlist over the batches of one group."""

    watchlist: Watchlist
    hits: int = 0
    tags: list[Tag] = field(default_factory=list)
    detections: list[Detection] = field(default_factory=list)
    unreported: int = 0
    """New hits beyond `WATCHLIST_HITS_A_GROUP`."""
    seconds: float = 0.0
    error: str = ""

    def add(self, outcome: Outcome) -> None:
        self.seconds += outcome.seconds
        self.error = self.error or outcome.error
        self.hits += len(outcome.hits)

    def tag(self, document: SegmentKey | str, at: RoundTime) -> None:
        name = str(self.watchlist.id)
        self.tags.append(Tag(document=document, family="watchlist", name=name, time_us=at.now_us))

    def report(self, detection: Callable[[], Detection]) -> None:
        """Adds a detection; above the limit, only counts it without building it."""
        if len(self.detections) < WATCHLIST_HITS_A_GROUP:
            self.detections.append(detection())
        else:
            self.unreported += 1

    def executed(self, stopped: str) -> Executed:
        return Executed(
            key=self.watchlist.key,
            id=self.watchlist.id,
            hits=self.hits,
            tags=len(self.tags),
            cost_us=round(self.seconds * 1_000_000),
            error=self.error,
            stopped=stopped,
        )


def is_tagged(tags: Iterable[Tag], watchlist: Watchlist, at: RoundTime) -> bool:
    """Whether a saved round has tagged the document."""
    name = str(watchlist.id)
    return any(
        tag.name == name and tag.family == "watchlist" and tag.time_us <= at.saved_us
        for tag in tags
    )


def process_detection(
    watchlist: Watchlist,
    checked: Checked,
    key: SegmentKey,
    values: Mapping[str, Any],
    seq: int,
) -> Detection:
    """Returns the detection of a segment with these columns; identical for all segments of a
    process."""
    return Detection(
        **_of(watchlist),
        alert_type="watchlist.hit.query.process",
        subject=key.process_id,
        time_us=values.get("last_update") or values.get("start") or 0,
        sensor_id=key.sensor_id,
        process_id=key.process_id,
        segment_id=key.segment_id,
        md5=values.get("process_md5") or "",
        sha256=values.get("process_sha256") or "",
        matched=matched_values(checked, values),
        event=_shown(values, SHOWN_COLUMNS),
        seq=seq,
    )


def binary_detection(
    watchlist: Watchlist, checked: Checked, row: Mapping[str, Any], sensor_id: int, seq: int
) -> Detection:
    """Returns the detection of a binary on one host; 0 for no particular host."""
    return Detection(
        **_of(watchlist),
        alert_type="watchlist.hit.query.binary",
        subject=row["hash"],
        time_us=row["last_seen"],
        sensor_id=sensor_id,
        md5=row["md5"],
        sha256=row["sha256"],
        matched=matched_values(checked, row),
        event=_shown(row, _SHOWN_OF_BINARY),
        seq=seq,
    )


def server_detection(watchlist: Watchlist, what: str, text: str, now_us: int) -> Detection:
    """Returns a detection of the server about a watchlist; `what` distinguishes it from others."""
    return Detection(
        source=Source("server", f"watchlist {what}"),
        source_name="Server",
        alert_type="watchlist.hit.query.process",
        subject=f"{what} {watchlist.id}",
        time_us=now_us,
        sensor_id=0,
        title=f"Watchlist {watchlist.name!r}: {text}"[:WATCHLIST_VALUE_CHARS_MAX],
        description=text,
        rule_text=watchlist.search_query,
    )


def matched_values(checked: Checked, values: Mapping[str, Any]) -> dict[str, str]:
    """Returns values that made a document match, by column: those of tests that are not negated."""
    found: dict[str, str] = {}
    for test in _positive_tests(checked):
        source = source_of(test)
        if (
            isinstance(test, JoinTest | TagTest)
            or source in found
            or len(found) >= WATCHLIST_MATCHED_MAX
        ):
            continue
        stored = values.get(source)
        meets = value_predicate([test])
        for value in stored if isinstance(stored, list | tuple) else [stored]:
            if value not in (None, "", 0) and meets(value, {}):
                found[source] = _text(value)
                break
    return found


def _positive_tests(node: Checked) -> Iterable[Test]:
    match node:
        case Match(tests):
            yield from tests
        case And(children) | Or(children):
            for child in children:
                yield from _positive_tests(child)


def _of(watchlist: Watchlist) -> dict[str, Any]:
    return {
        "source": Source("watchlist", str(watchlist.id)),
        "source_name": watchlist.name,
        "title": watchlist.name,
        "description": watchlist.description or "",
        "rule_text": watchlist.search_query,
    }


def _shown(values: Mapping[str, Any], names: Sequence[str]) -> dict[str, str]:
    return {name: _text(value) for name in names if (value := values.get(name)) not in _NOTHING}


_NOTHING: Final[tuple[Any, ...]] = (None, "", 0, [], ())


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value[:WATCHLIST_MATCHED_MAX]))[:WATCHLIST_VALUE_CHARS_MAX]
    if isinstance(value, bytes):
        return address_text(value)
    return str(value).replace("\x1f", " ").replace("\x1c", " ")[:WATCHLIST_VALUE_CHARS_MAX]
