"""A trial of rules and ingest agree: the same records, the same hits."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.contract.pipeline.write_path import (
    NOON_S,
    WritePath,
    submission,
    worker_processor,
    write_path,
)
from tests.recorded.sets import FOLDER, NEEDED
from vedette.alerting.rule_trial import RuleTrial
from vedette.clock import DrivenClock
from vedette.detect.narrowed_rules import narrowed_rules
from vedette.detect.rule import Rule
from vedette.detect.sigma.load import load_rules
from vedette.detect.starter_pack import starter_texts
from vedette.importer.file_sequence import Sequence as Files
from vedette.simulate.day import iter_events
from vedette.simulate.fleet import build_fleet
from vedette.simulate.stories import STORIES
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.read.detection.rule_hits import hits_after

Hits = Counter[tuple[str, str, str]]
"""Events by rule, host, and process without its sensor."""

EVENTS = 4_000

ANY_EVENT = """title: {title}
logsource: {{product: {product}, category: {category}}}
detection:
  a:
    Image|contains: e
  b:
    CommandLine|contains: '{text}'
  c:
    ParentCommandLine|contains: '{text}'
  condition: a and (b or c)
"""


def rules() -> list[Rule]:
    """The starter pack, and rules that ask every kind of event for its process and parent."""
    texts = [text for _, text in starter_texts()]
    texts += [
        ANY_EVENT.format(
            title=f"{product} {category}", product=product, category=category, text="."
        )
        for product, categories in {
            "windows": (
                "process_creation",
                "network_connection",
                "image_load",
                "registry_set",
                "file_event",
                "dns_query",
                "process_access",
                "create_remote_thread",
            ),
            "linux": ("process_creation", "network_connection", "file_event"),
            "macos": ("process_creation", "file_event"),
        }.items()
        for category in categories
    ]
    found = []
    for text in texts:
        loaded = load_rules(text, "rules")
        assert loaded.problems == ()
        found += loaded.rules
    return found


def tried(chunks: Sequence[Sequence[bytes]], now_us: int) -> Hits:
    trial = RuleTrial(narrowed_rules(rules()), now_us)
    found = [
        hit
        for number, chunk in enumerate(chunks)
        for hit in trial.judge(chunk, identity=b"%d" % number)
    ]
    return Counter((one.rule_id, one.hostname, one.process_id[8:]) for one in found)


def ingested(path: WritePath, chunks: Sequence[Sequence[bytes]]) -> Hits:
    path.processor.rules.use(1, narrowed_rules(rules()))
    for chunk in chunks:
        sent = submission(chunk)
        sent.in_sequence = True
        path.ingest_queue.enqueue(sent).result(120)
    names = dict(path.engine.query("SELECT DISTINCT sensor_id, hostname FROM hit").rows)
    found: Hits = Counter()
    for one in hits_after(path.engine, 0, path.ingest_queue.settled_seq, 1_000_000).hits:
        hit = one.hit
        found[hit.rule_id, names[hit.sensor_id], hit.process_id[8:]] += hit.count
    return found


def test_on_the_simulated_fleet(engine: ClickHouseEngine, tmp_path: Path) -> None:
    fleet = build_fleet(3, 12)
    day = iter_events(fleet, NOON_S * 1_000_000, events=EVENTS, hours=1, stories=STORIES)
    lines = [
        b"".join(stream.frame(at_us, body)).partition(b"\n")[2].strip()
        for at_us, stream, body in day
    ]
    chunks = [lines[at : at + 500] for at in range(0, len(lines), 500)]
    assert json.loads(chunks[0][0])
    clock = DrivenClock((NOON_S + 86_400) * 1_000_000)
    wanted = tried(chunks, clock.now_us())
    with write_path(engine, tmp_path, clock, prepared=worker_processor) as path:
        assert ingested(path, chunks) == wanted
    assert len({rule for rule, _, _ in wanted}) >= 10


@NEEDED
@pytest.mark.parametrize("name", ["s01_sigma_regression.tar.gz"])
def test_on_recorded_logs(name: str, engine: ClickHouseEngine, tmp_path: Path) -> None:
    with Files(FOLDER / name) as files:
        chunks = [chunk.records for chunk in files.chunks()]
    clock = DrivenClock(1_900_000_000 * 1_000_000)
    wanted = tried(chunks, clock.now_us())
    with write_path(engine, tmp_path, clock) as path:
        assert ingested(path, chunks) == wanted
    assert wanted
