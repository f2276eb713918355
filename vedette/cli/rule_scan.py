"""Sigma rules over files of telemetry, without a server.

Records are read as an import reads them, in order of event time, and completed from the context of
their host: first all records of a chunk are learned from, then each is judged. Rules choose their
anchors by the first `DETECT_SAMPLE_EVENTS` events.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from vedette import limits
from vedette.detect.frequency import FrequencySample
from vedette.detect.rule import Problem, Rule
from vedette.detect.rule_set import Hit, RuleSet
from vedette.detect.sigma.load import load_rules
from vedette.detect.views.event import Event, Lookup
from vedette.detect.views.unix import events_of_outcomes
from vedette.detect.views.windows import event_of_record
from vedette.errors import BadRequestError
from vedette.importer.file_sequence import Chunk
from vedette.ingest.context.host_context import HostContext
from vedette.ingest.decode import decode
from vedette.ingest.normalise import SOURCES
from vedette.ingest.normalise.normaliser import Keep
from vedette.ingest.platform import os_type_of
from vedette.ingest.record import Record, RecordError

_PRODUCTS = {"osx": "macos"}
_ENDINGS = (".yml", ".yaml")


@dataclass(slots=True)
class RuleFiles:
    """What lies under a path: rules that can be evaluated, and why others cannot."""

    rules: list[Rule] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    files: int = 0


def read_rules(paths: Iterable[Path]) -> RuleFiles:
    """Reads files of rules, and `.yml` files of directories. Raises BadRequestError for too many.

    A rule whose id stood before is a problem, `duplicate_id`.
    """
    found, ids = RuleFiles(), set[str]()
    for path in paths:
        for file in _files(path):
            found.files += 1
            if found.files > limits.SIGMA_FILES_MAX:
                raise BadRequestError(f"more than {limits.SIGMA_FILES_MAX} files of rules")
            try:
                text = file.read_text("utf-8")
            except (OSError, UnicodeDecodeError) as error:
                found.problems.append(Problem(str(file), "", "unreadable", str(error)))
                continue
            loaded = load_rules(text, str(file))
            found.problems += loaded.problems
            for rule in loaded.rules:
                if rule.id in ids:
                    message = f"{rule.id} stood before"
                    found.problems.append(Problem(str(file), rule.title, "duplicate_id", message))
                else:
                    ids.add(rule.id)
                    found.rules.append(rule)
    return found


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from sorted(one for one in path.rglob("*") if one.suffix in _ENDINGS)
    else:
        yield path


class RuleScan:
    """Judges records of many hosts by one set of rules."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules = tuple(rules)
        self._sample: FrequencySample | None = FrequencySample(self._rules)
        self._set = RuleSet(self._rules)
        self._contexts: dict[str, HostContext] = {}
        self.events = 0
        self.rejected: Counter[str] = Counter()
        """Records that cannot be decoded, by reason."""

    def judge(self, chunk: Chunk) -> Iterator[tuple[str, Hit]]:
        """The hits of a chunk's records, each with its host, in order."""
        records = list(self._decoded(chunk))
        for record in records:
            SOURCES[record.vedette_record].learn(record, self._context(record.host))
        for record in records:
            for event in self._events(record):
                self.events += 1
                self._sampled(event)
                for hit in self._set.judge(event):
                    yield record.host, hit

    def _decoded(self, chunk: Chunk) -> Iterator[Record]:
        for text in chunk.records:
            try:
                yield from decode(text)
            except RecordError as error:
                self.rejected[error.reason] += 1

    def _events(self, record: Record) -> Iterator[Event]:
        context = self._context(record.host)
        if record.vedette_record == "windows":
            guid = record.data.get("ProcessGuid") or record.data.get("SourceProcessGUID") or ""
            yield event_of_record(record, *_process(context, str(guid)))
            return
        try:
            outcomes = SOURCES[record.vedette_record].normalise(record, context, Keep())
        except RecordError as error:
            self.rejected[error.reason] += 1
            return
        os_type = os_type_of(record) or "linux"
        yield from events_of_outcomes(record, outcomes, _PRODUCTS.get(os_type, os_type))

    def _context(self, host: str) -> HostContext:
        context = self._contexts.get(host)
        if context is None:
            context = self._contexts[host] = HostContext(len(self._contexts) + 1)
        return context

    def _sampled(self, event: Event) -> None:
        """Counts the first events, and then chooses the anchors anew."""
        if self._sample is None:
            return
        self._sample.add(event)
        if self._sample.events >= limits.DETECT_SAMPLE_EVENTS:
            self._set = RuleSet(self._rules, self._sample.shares())
            self._sample = None


def _process(context: HostContext, guid: str) -> tuple[str, Lookup]:
    """Id of the acting process, and what is known of it beside the event."""
    known = context.named(guid) if guid else None
    if known is None:
        return "", lambda _field: ""
    values = {"Image": known.path, "User": known.username, "ParentImage": known.parent_path}
    return known.id, lambda name: values.get(name, "")
