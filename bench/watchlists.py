"""One round of a thousand watchlists over fifty thousand segments that commits touched: a minute of
ten thousand endpoints.

Segments are generated in the store (`bench/segments.py`), so nothing of the write path is measured.
The watchlists are published queries where the shared folder is there, and made ones: most name a
program, a file or a domain; one in five has nothing to look up by (addresses, counts, binaries,
negations).
"""

import os
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import Final

from bench.figure import Figure, Outcome, Part
from bench.segments import BEGIN_MS, fill
from vedette.alerting.detection_writer import DetectionWriter
from vedette.clock import DrivenClock
from vedette.errors import VedetteError
from vedette.record.objects.watchlist import Watchlist
from vedette.state.db.database import Database, open_database
from vedette.state.jobs import watermarks
from vedette.state.policy import watchlists
from vedette.state.start import migrate
from vedette.store.engine.open import open_engine
from vedette.watchlists.rounds import FOLLOWER, WatchlistRounds
from vedette.watchlists.watch_query import EVENTS, stored_query

WATCHLISTS: Final = 1_000
SEGMENTS: Final = int(os.environ.get("VEDETTE_BENCH_TOUCHED", "50000"))
COMMITS: Final = 12
_PUBLISHED: Final = 400
_NOW_US: Final = BEGIN_MS * 1_000
_QUERIES: Final = (
    Path(os.environ.get("VEDETTE_SHARED", Path(__file__).resolve().parents[2] / "shared"))
    / "data/queries/public.txt"
)
_WORDS: Final = ("mimikatz", "psexec", "rundll32", "certutil", "bitsadmin", "cobalt", "implant")


def run(room: Path) -> Outcome:
    """In a process of its own, because one process can have one store open."""
    command = [sys.executable, "-m", "bench.watchlists", str(room)]
    reported = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    seconds, hits, documents, slowest = map(float, reported.split()[-4:])
    return Outcome(
        f"{WATCHLISTS:,} watchlists, {documents:,.0f} segments in {COMMITS} commits",
        (
            Figure("one round", seconds, "s", at_most=20 * SEGMENTS / 50_000),
            Figure("the dearest watchlist", slowest, "s", at_most=2),
        ),
        (f"{hits:,.0f} new hits, tagged and told of",),
    )


def main(room: Path) -> None:
    """Prints seconds, hits, documents and the seconds of the dearest watchlist."""
    engine = open_engine(room / "telemetry")
    fill(engine, SEGMENTS)
    engine.command(
        f"ALTER TABLE segment UPDATE seq = 1 + cityHash64(process_id) % {COMMITS} "
        "WHERE 1 SETTINGS mutations_sync = 2"
    )
    database = open_database("", room)
    migrate(database)
    _save(database, list(_queries(Random(20))))
    clock = DrivenClock(_NOW_US)
    writer = DetectionWriter(engine, database, clock)
    rounds = WatchlistRounds(engine, database, clock, writer, lambda: COMMITS)
    began = time.perf_counter()
    hits = rounds.run()
    seconds = time.perf_counter() - began
    documents = engine.query("SELECT uniqExact(key_hash) FROM segment").rows[0][0]
    with database.reading() as connection:
        slowest = max(one.cost_us for one in watchlists.all_watchlists(connection)) / 1e6
    print(seconds, hits, documents, slowest)
    engine.close()


def _save(database: Database, queries: list[str]) -> None:
    """Watchlists without a stored past: the round is to be measured."""
    with database.writing() as connection:
        for query in queries:
            new = Watchlist(name=query[:80], search_query=query, index_type=EVENTS)
            made = watchlists.add(connection, new, _NOW_US)
            known = watchlists.get(connection, made)
            watchlists.past_judged(connection, known, 0)
        watermarks.save(connection, FOLLOWER, 0)


def _queries(draw: Random) -> list[str]:
    found = [one for one in _published() if _is_understood(one)][:_PUBLISHED]
    while len(found) < WATCHLISTS:
        found.append(_made(draw, len(found)))
    return found


def _published() -> list[str]:
    if not _QUERIES.exists():
        return []
    return [one for one in _QUERIES.read_text().splitlines() if one and not one.startswith("#")]


def _is_understood(query: str) -> bool:
    try:
        stored_query(query, EVENTS, _NOW_US)
    except VedetteError:
        return False
    return True


def _made(draw: Random, number: int) -> str:
    word = f"{draw.choice(_WORDS)}{number}"
    octets = f"{draw.randrange(1, 223)}.{draw.randrange(256)}.{draw.randrange(256)}"
    return draw.choice(
        (
            f"process_name:{word}.exe",
            f"process_name:cmd.exe cmdline:{word}",
            f"filemod:{word}.tmp OR filemod:{word}.dat",
            f"domain:{word}.example -process_name:chrome.exe",
            f"modload:{word}.dll username:anna",
            f'cmdline:"{word} --run" -path:c:\\windows\\*',
            f"regmod:software\\{word}\\* process_name:reg.exe",
            f"childproc_name:{word}.exe parent_name:winword.exe",
            f"ipaddr:{octets}.7",
            f"ipaddr:{octets}.0/24 -process_name:chrome.exe",
            f"netconn_count:[{500 + number} TO *]",
            f"digsig_result_modload:Unsigned process_name:{word}.exe",
        )
    )


PART = Part("watchlists", run)

if __name__ == "__main__":
    main(Path(sys.argv[1]))
