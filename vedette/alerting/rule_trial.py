"""Tries rules on records without storing anything: the batch processor of ingest, with an empty
store.

A trial and ingest therefore agree on events, process metadata and hits.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyroaring import BitMap

from vedette.detect.judged_rule import JudgedRule
from vedette.detect.rule import Rule
from vedette.detect.verify import matched_fields
from vedette.detect.views.event import Event
from vedette.ingest.normalise.normaliser import Keep
from vedette.limits import Limit
from vedette.model.host import HostProcess, SensorRef, Sighting
from vedette.pipeline.batch.batch_processor import BatchProcessor
from vedette.pipeline.batch.decoded_batch import decode_submission
from vedette.pipeline.batch.deduplicate import Deduplicator
from vedette.pipeline.batch.host_cache import Host, HostCache
from vedette.pipeline.batch.segment_assigner import SegmentAssigner, SegmentPlace
from vedette.pipeline.submission import Submission, request_key
from vedette.pipeline.time_windows import TimeWindows

RULE_TRIAL_PROCESSES_MAX: Limit[int] = 200_000
"""Processes whose metadata a trial of rules caches."""


_GROUP = 1


@dataclass(frozen=True, slots=True)
class TrialHit:
    """A rule that fired on an event."""

    rule_id: str
    hostname: str
    time_us: int
    process_id: str
    matched: dict[str, str]


class RuleTrial:
    """Judges records of any hosts, chunk by chunk. Process metadata in a chunk applies to it and to
    later chunks. Not thread-safe."""

    def __init__(self, rules: Sequence[JudgedRule], now_us: int) -> None:
        nothing = _Nothing()
        assigner = SegmentAssigner(nothing, RULE_TRIAL_PROCESSES_MAX)
        assigner.begin_empty()
        self._processor = BatchProcessor(
            HostCache(nothing, nothing),
            nothing,
            assigner,
            Deduplicator(now_us),
            TimeWindows(1, 1),
            Keep(),
        )
        self._processor.rules.use(1, rules)
        self._now_us = now_us
        self._seq = 0
        self.rejected: Counter[str] = Counter()
        """Unusable records, by reason."""

    @property
    def events(self) -> int:
        """Events that were compared with any rule."""
        return self._processor.rules.events

    def judge(
        self, records: Iterable[bytes], host: str = "", identity: bytes = b""
    ) -> list[TrialHit]:
        """Returns the hits of one chunk, in the order of its records. `host` overrides the host
        names in the records. `identity` distinguishes chunks whose records have no numbers."""
        self._seq += 1
        texts = list(records)
        key = request_key(identity or self._seq.to_bytes(8, "big"))
        submission = Submission(
            texts, _GROUP, key, sum(map(len, texts)), in_sequence=True, host=host, any_group=True
        )
        batch = decode_submission(submission)
        found: list[TrialHit] = []

        def on_hit(rule: Rule, event: Event, where: Host, process_id: str) -> None:
            matched = matched_fields(rule.condition, event)
            hostname = where.sensor.hostname
            found.append(TrialHit(rule.id, hostname, event.time_us, process_id, matched))

        self._processor.try_rules([batch], self._seq, self._now_us, on_hit)
        self._processor.seen.durable(self._seq)
        for refusal in batch.receipt.refusals:
            self.rejected[refusal.reason] += 1
        return found


class _Nothing:
    """An empty store and state. Numbers hosts as they appear."""

    def __init__(self) -> None:
        self._sensors: dict[str, SensorRef] = {}
        self._channels: dict[str, int] = {}

    def resolve(
        self,
        hosts: Mapping[str, Sighting],
        group_id: int,
        now_us: int,
        *,
        any_group: bool = False,
        sensor_id: int = 0,
    ) -> dict[str, SensorRef]:
        del now_us, any_group, sensor_id
        for name, sighting in hosts.items():
            known = self._sensors.get(name)
            if known is None:
                number = len(self._sensors) + 1
                self._sensors[name] = SensorRef(number, name, group_id, "", sighting.os_type)
        return {name: self._sensors[name] for name in hosts}

    def note(
        self,
        sensor_id: int,
        seen_us: int,
        *,
        interface_ip: str = "",
        host_type: str = "",
        computer_sid: str = "",
        adapters: str = "",
    ) -> None:
        """Does nothing: trials need no contact times."""

    def codes(self, names: Iterable[str], group_id: int) -> dict[str, int]:
        del group_id
        return {name: self._channels.setdefault(name, len(self._channels) + 1) for name in names}

    def processes(
        self, process_ids: list[str]
    ) -> dict[str, tuple[dict[str, object], list[SegmentPlace]]]:
        del process_ids
        return {}

    def process_hashes(self) -> BitMap | None:
        return BitMap()

    def host_processes(self, sensor_ids: Sequence[int]) -> list[HostProcess]:
        del sensor_ids
        return []
