"""Feeds: synchronising 800,000 indicators, and matching a million with stored telemetry.

Runs in processes of their own, because one process can have one store open. Matching is measured as
processor time an event, beside what taking in an event costs (`make bench PART=ingest`).
"""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import numpy as np

from bench.figure import Figure, Outcome, Part
from vedette.clock import SystemClock
from vedette.feeds.fetch import Fetcher, FetchRules
from vedette.feeds.schedule import Schedule
from vedette.feeds.synchronise import Parts
from vedette.state.db.database import open_database
from vedette.state.db.sealing import open_sealing
from vedette.state.jobs.leases import Leases
from vedette.state.policy import feeds
from vedette.state.start import start
from vedette.store.engine.open import open_engine
from vedette.store.read.threat.indicator_matches import (
    MatchedRows,
    common_keys,
    indicator_keys,
    keys_of_rows,
)
from vedette.store.schema.create import create_tables

REPORTS: Final = 80_000
IOCS_A_REPORT: Final = 10
MILLION: Final = 1_000_000
SEGMENTS: Final = 40_000
EVENTS_A_SEGMENT: Final = 30
BITS: Final = (120, 128)
INGEST_CPU_US: Final = 36.0
"""Processor time of an event from request to disk: two cores at 56,000 events a second."""


def run(folder: Path) -> Outcome:
    """Both measurements."""
    synced = _child("sync", folder / "sync")
    subprocess.run(
        [sys.executable, "-m", "bench.segments", str(folder / "match"), str(SEGMENTS)], check=True
    )
    matched = _child("match", folder / "match")
    share = 100 * matched["cpu_us_an_event"] / INGEST_CPU_US
    return Outcome(
        f"{REPORTS:,} reports with {IOCS_A_REPORT} indicators; "
        f"{SEGMENTS * EVENTS_A_SEGMENT:,} events",
        (
            Figure("feed of 800,000 indicators synchronised", synced["seconds"], "s", at_most=300),
            Figure("the same again, nothing new", synced["again"], "s"),
            Figure("memory of the second half", synced["growth_mb"], "MB", at_most=100),
            Figure("matching a million indicators", matched["cpu_us_an_event"], "us/event"),
            Figure("of the cost of ingest", share, "%", at_most=10),
            Figure("memory of a million keys", matched["keys_mb"], "MB", at_most=100),
        ),
    )


PART = Part("feeds", run)


def _child(what: str, folder: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.feeds", what, str(folder)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _document(path: Path) -> None:
    with path.open("w") as file:
        file.write('{"feedinfo": {"name": "large"}, "reports": [')
        for number in range(REPORTS):
            first = number * IOCS_A_REPORT
            iocs = {"md5": [f"{n * 7919:032x}" for n in range(first, first + IOCS_A_REPORT // 2)]}
            iocs["dns"] = [
                f"c{n}.evil{number % 977}.example"
                for n in range(first + IOCS_A_REPORT // 2, first + IOCS_A_REPORT)
            ]
            report = {
                "id": f"r-{number}",
                "title": f"Report {number}",
                "link": "https://intel.example/",
                "timestamp": 1_700_000_000,
                "score": 50,
                "iocs": iocs,
            }
            file.write(("," if number else "") + json.dumps(report))
        file.write("]}")


def _synchronise(folder: Path) -> dict[str, float]:
    folder.mkdir(parents=True)
    _document(folder / "feed.json")
    engine, clock = open_engine(folder / "store"), SystemClock()
    create_tables(engine)
    database = open_database("", folder)
    start(database, clock.now_us())
    sealing = open_sealing(folder)
    parts = Parts(engine, database, sealing, Fetcher(FetchRules(files=folder)), clock)
    members = {
        "name": "large",
        "feed_url": (folder / "feed.json").absolute().as_uri(),
        "enabled": True,
        "manually_added": True,
    }
    feed = feeds.add(database, members, sealing, clock.now_us())
    schedule = Schedule(parts, Leases(database, clock), interval_s=3600)
    clock_s = time.monotonic()
    schedule.run(feed)
    seconds = time.monotonic() - clock_s
    half = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.monotonic()
    schedule.run(feeds.get(database, feed.id))
    again = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    engine.close()
    return {"seconds": seconds, "again": again, "growth_mb": (after - half) / 1024}


def _match(folder: Path) -> dict[str, float]:
    engine = open_engine(folder)
    create_tables(engine)
    random = np.random.default_rng(7)
    keys = np.sort(random.integers(0, 2**63, MILLION, dtype=np.uint64))
    indicator_keys(engine, [1], 0)
    low, high = engine.query("SELECT min(window_ms), max(window_ms) FROM segment").rows[0]
    params = {"after": low - 1, "until": high}
    rows = MatchedRows("window_ms > {after:UInt64} AND window_ms <= {until:UInt64}", params, False)
    count: int = engine.query("SELECT count() FROM segment FINAL").rows[0][0]
    before = time.process_time()
    found = keys_of_rows(engine, rows, BITS)
    common_keys(found, keys)
    spent_s = time.process_time() - before
    engine.close()
    events = count * EVENTS_A_SEGMENT
    return {"cpu_us_an_event": spent_s / events * 1_000_000, "keys_mb": keys.nbytes / 2**20}


if __name__ == "__main__":
    measure = {"sync": _synchronise, "match": _match}[sys.argv[1]]
    print(json.dumps(measure(Path(sys.argv[2]))))
