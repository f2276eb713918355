"""Binaries: searching a million of them, the summary of one, rarity in process queries, what they
cost at ingest, and reading the bytes of files.

Runs in processes of their own, because one process can have one store open: `python -m
bench.binaries search DIR BINARIES SEGMENTS`, `read DIR FILES`, `sightings`.
"""

import io
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from bench.figure import Figure, Outcome, Part
from tests.support.code_signing import CODE_SIGNING, identity, signed
from tests.support.pe_file import icon_image, pe_file
from vedette.binaries.file_reader import FileReader
from vedette.binaries.trust_store import TrustStore
from vedette.ingest.fold import BinarySighting
from vedette.model.columns import RANK_LENGTH
from vedette.model.event import BinarySeen
from vedette.model.scope import EVERYTHING
from vedette.pipeline.batch.binary_sightings import SightingDeduplicator
from vedette.search.binaries import binary_search
from vedette.search.processes.process_search import search_processes
from vedette.search.search_request import SearchRequest, Sort
from vedette.settings import Settings
from vedette.store.engine.client import Engine
from vedette.store.engine.open import open_engine
from vedette.store.schema.create import create_tables
from vedette.store.schema.tables import CMDLINE_SHAPE

BINARIES: Final = 1_000_000
SEGMENTS: Final = 1_000_000
FILES: Final = 200
FILE_BYTES: Final = 1_000_000
ROUNDS: Final = 40
SIGHTINGS: Final = 500_000
INGEST_CPU_US: Final = 36.0
"""Processor time of an event from request to disk: two cores at 56,000 events a second."""
SIGHTINGS_AN_EVENT: Final = 0.5
"""Half of the events of a fleet name a file: starts and module loads."""

_DEADLINE_S: Final = 60.0
_QUERIES: Final = (
    "md5:{md5}",
    "product_name:suite{word}",
    "company_name:corp{small} digsig_result:Unsigned",
    "observed_filename:tool{word}.exe",
    "digsig_publisher:publisher{small} is_64bit:true",
)
_RARE: Final = (
    "prevalence:[1 TO 3]",
    "prevalence_parent:1",
    "first_seen:-1d",
    "prevalence_pair:[1 TO 3]",
    "prevalence_cmdline:1",
)
_SEGMENT_TABLE: Final = f"""
INSERT INTO segment (partition_ms, window_ms, sensor_id, process_id, segment_id, hostname, os_type,
    path_claim, process_name_claim, process_md5_claim, parent_name_claim, parent_path_claim,
    parent_md5_claim, username_claim, cmdline_claim, cmdline_shape_claim, start_claim, last_update,
    last_server_update)
WITH repeat(char(0), {RANK_LENGTH:d}) AS rank,
    concat('tool', toString(kind), '.exe --type=renderer --handle=', toString(number),
        ' --id=', lower(hex(MD5(toString(number)))), if(number % 50000 = 0, ' --rare', ''))
        AS cmdline
SELECT 1780300800000, 1780300800000 + (number % 2000) * 300000, number % 2000 + 1,
    lower(hex(MD5(toString(number)))), 1, concat('host', toString(number % 2000)), 'windows',
    concat(rank, 'c:\\\\tools\\\\tool', toString(kind), '.exe'),
    concat(rank, 'tool', toString(kind), '.exe'), concat(rank, lower(hex(MD5(toString(kind))))),
    concat(rank, 'tool', toString(other), '.exe'),
    concat(rank, 'c:\\\\tools\\\\tool', toString(other), '.exe'),
    concat(rank, lower(hex(MD5(toString(other))))),
    concat(rank, 'user', toString(number % 4000)), concat(rank, cmdline),
    toUInt128(xxHash64({CMDLINE_SHAPE})), toUInt128(1780300800 + number) * 1000000,
    toDateTime64(1780300800 + number, 6, 'UTC'), toDateTime64(1780300800 + number, 6, 'UTC')
FROM (SELECT number, number % 7 = 0 ? number % 20000 : number % 300 AS kind,
    intHash32(number) % 100 = 0 ? number % 3000 : number % 40 AS other
    FROM numbers({{segments}}))
"""
_TABLE: Final = """
INSERT INTO binary (hash, sensor_id, md5, sha256, product_name, company_name, digsig_result,
    digsig_publisher, is_executable_image, is_64bit, orig_mod_len, first_seen, last_seen, added,
    os_type, `group`, hostname, seq, observed_filename)
SELECT lower(hex(MD5(toString(number)))), number % 2000 + 1, lower(hex(MD5(toString(number)))),
    lower(hex(SHA256(toString(number)))), concat('suite', toString(number % 100000), ' tools'),
    concat('corp', toString(number % 5000)), if(number % 10 = 0, 'Unsigned', 'Signed'),
    concat('publisher', toString(number % 1000)), 1, number % 3 > 0, number,
    toDateTime64(1780300800 + number, 6, 'UTC'), toDateTime64(1780300800 + number, 6, 'UTC'),
    toDateTime64(1780300800 + number, 6, 'UTC'), 'windows', 'Default Group',
    concat('host', toString(number % 2000)), number,
    [concat('c:\\\\tools\\\\tool', toString(number % 200000), '.exe')]
FROM numbers({binaries})
"""


def run(folder: Path) -> Outcome:
    """All measurements."""
    searched = _child("search", str(folder / "store"), str(BINARIES), str(SEGMENTS))
    read = _child("read", str(folder), str(FILES))
    seen = _child("sightings")
    share = 100 * seen["cpu_us"] * SIGHTINGS_AN_EVENT / INGEST_CPU_US
    return Outcome(
        f"{BINARIES:,} binaries, {SEGMENTS:,} segments, {FILES} signed files of 1 MB",
        (
            Figure("binary search, p95", searched["search_ms"], "ms", at_most=100),
            Figure("summary, p95", searched["summary_ms"], "ms", at_most=20),
            Figure(
                "query with a rarity term, p95 of the slowest",
                searched["rare_ms"],
                "ms",
                at_most=300,
            ),
            Figure("records of binaries, of the cost of ingest", share, "%", at_most=10),
            Figure("files read", read["files_a_second"], "/s", at_least=20),
        ),
    )


PART = Part("binaries", run)


def _child(*words: str) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.binaries", *words]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _p95_ms(questions: Sequence[Callable[[], object]]) -> float:
    taken = []
    for ask in questions:
        begin = time.perf_counter()
        ask()
        taken.append((time.perf_counter() - begin) * 1_000)
    return sorted(taken)[int(len(taken) * 0.95)]


def _search(folder: Path, binaries: int, segments: int) -> dict[str, float]:
    engine = open_engine(folder)
    create_tables(engine)
    engine.command(_TABLE.replace("{binaries}", str(binaries)))
    engine.command(_SEGMENT_TABLE.replace("{segments}", str(segments)))
    md5s = [
        str(row[0])
        for row in engine.query(
            "SELECT hash FROM binary ORDER BY cityHash64(hash) LIMIT {rows:UInt32}",
            {"rows": ROUNDS},
        ).rows
    ]
    found = {
        "search_ms": _p95_ms(
            [
                _binary_question(engine, text.format(md5=md5, word=number * 37, small=number * 13))
                for number, md5 in enumerate(md5s)
                for text in _QUERIES
            ]
        ),
        "summary_ms": _p95_ms([_summary_question(engine, md5) for md5 in md5s]),
        "rare_ms": max(
            _p95_ms([_process_question(engine, text)] * (ROUNDS // 4)) for text in _RARE
        ),
    }
    engine.close()
    return found


def _request(text: str, sort: str) -> SearchRequest:
    return SearchRequest((("q", text),), 10, 0, (Sort(sort, is_descending=True),))


def _binary_question(engine: Engine, text: str) -> Callable[[], object]:
    settings, now_us = Settings(search_deadline_s=_DEADLINE_S), time.time_ns() // 1_000
    request = _request(text, "server_added_timestamp")
    return lambda: binary_search.search(engine, EVERYTHING, request, settings, now_us)


def _summary_question(engine: Engine, md5: str) -> Callable[[], object]:
    return lambda: binary_search.summary(engine, EVERYTHING, md5)


def _process_question(engine: Engine, text: str) -> Callable[[], object]:
    settings, now_us = Settings(search_deadline_s=_DEADLINE_S), time.time_ns() // 1_000
    request = _request(text, "last_update")
    return lambda: search_processes(engine, EVERYTHING, request, settings, now_us)


def _read(folder: Path, files: int) -> dict[str, float]:
    program = pe_file(icon=icon_image(48, 48), padding=FILE_BYTES)
    content = signed(folder, program, identity(folder, "bench", usage=CODE_SIGNING))
    reader = FileReader(TrustStore())
    reader.read(io.BytesIO(content), len(content))
    begin = time.perf_counter()
    for _ in range(files):
        reader.read(io.BytesIO(content), len(content))
    seconds = time.perf_counter() - begin
    reader.close()
    return {"files_a_second": files / seconds}


def _seen(time_us: int, md5: str) -> BinarySeen:
    values = {"digsig_result": "Signed", "is_executable_image": "1"}
    return BinarySeen(time_us, md5, "", "", f"/bin/{md5}", values)


def _sightings() -> dict[str, float]:
    """Processor time of a sighting, of files of which one in a hundred is new."""
    known = SightingDeduplicator()
    batches = [
        {
            (1, key): BinarySighting(1, _seen(at, key), at, {f"/bin/{key}"})
            for key in (f"{(at * 7 + number) % 20_000:032x}" for number in range(1_000))
        }
        for at in range(SIGHTINGS // 1_000)
    ]
    begin = time.process_time()
    for batch in batches:
        known.new(batch)
    return {"cpu_us": (time.process_time() - begin) * 1_000_000 / SIGHTINGS}


if __name__ == "__main__":
    what, *words = sys.argv[1:]
    if what == "search":
        result = _search(Path(words[0]), int(words[1]), int(words[2]))
    elif what == "read":
        result = _read(Path(words[0]), int(words[1]))
    else:
        result = _sightings()
    print(json.dumps(result))
