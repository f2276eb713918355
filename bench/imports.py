"""`vedette import` of JSON lines and of EVTX, into an empty data directory."""

import gzip
import os
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from evtx import PyEvtxParser

from bench.figure import Figure, Outcome, Part
from vedette.simulate.day import iter_events
from vedette.simulate.fleet import build_fleet

JSON_EVENTS = 600_000
EVTX_RECORDS = 300_000
_RECORDS_MIN = 100
"""Records of a file that is worth a copy: sparse files measure how fast files are opened."""

_START_US = 1_780_300_800 * 1_000_000
_SHARED = Path(os.environ.get("VEDETTE_SHARED", Path(__file__).resolve().parents[2] / "shared"))


def run(room: Path) -> Outcome:
    notes = []
    lines = room / "events.jsonl"
    events = _write_json_lines(lines)
    figures = [
        Figure("JSON lines", events / _import_s(room / "a", lines), "events/s", at_least=60_000)
    ]
    notes.append(f"JSON lines: {events:,} events, {lines.stat().st_size / events:,.0f} bytes each")
    lines.unlink()
    archive = room / "logs.tar"
    records, files = _write_evtx_archive(archive, room / "evtx")
    if records:
        rate = records / _import_s(room / "b", archive)
        figures.append(Figure("EVTX", rate, "events/s", at_least=50_000))
        notes.append(f"EVTX: {records:,} records in {files:,} files, each host name a new one")
    else:
        notes.append(f"EVTX: left out, no .evtx files under {_SHARED}")
    return Outcome(f"{JSON_EVENTS:,} events of the simulated fleet", tuple(figures), tuple(notes))


def _import_s(data: Path, path: Path) -> float:
    """Seconds from start to end of the whole command. What it reads is on disk before: or the
    kernel would write that meanwhile."""
    os.sync()
    data.mkdir()
    command = [sys.executable, "-m", "vedette", "import", "--data", str(data), str(path)]
    begin = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    seconds = time.monotonic() - begin
    shutil.rmtree(data)
    return seconds


def _write_json_lines(path: Path) -> int:
    fleet = build_fleet(1, 200, only="windows")
    written = 0
    with path.open("wb") as file:
        events = iter_events(fleet, _START_US, events=JSON_EVENTS, stories=())
        for at_us, stream, body in islice(events, JSON_EVENTS):
            file.write(b"".join(stream.frame(at_us, body)).partition(b"\n")[2])
            written += 1
    return written


def _write_evtx_archive(archive: Path, folder: Path) -> tuple[int, int]:
    """Replicates the shared EVTX files until there are enough records.

    Every copy gets a host name of its own, of the same length, in place of the real one: what
    is imported twice would only be recognised, not stored.
    """
    originals = _originals(folder)
    total = sum(count for _, _, count in originals)
    if not total:
        return 0, 0
    copies = -(-EVTX_RECORDS // total)
    with tarfile.open(archive, "w") as tar:
        for number in range(copies):
            for index, (content, computers, _) in enumerate(originals):
                path = folder / "copy.evtx"
                path.write_bytes(_renamed(content, computers, number))
                tar.add(path, f"{number:03d}/{index:04d}.evtx")
    return total * copies, len(originals) * copies


def _originals(folder: Path) -> list[tuple[bytes, set[str], int]]:
    """Content, computer names and number of records of the dense shared EVTX files."""
    folder.mkdir()
    found = []
    for archive in sorted((_SHARED / "data/telemetry").glob("*.tar.gz")):
        for content in _members(archive):
            path = folder / "one.evtx"
            path.write_bytes(content)
            try:
                texts = [record["data"] for record in PyEvtxParser(str(path)).records() if record]
            except (RuntimeError, OSError):
                continue  # damaged on purpose
            computers = {
                text.partition("<Computer>")[2].partition("</Computer>")[0] for text in texts
            }
            if len(texts) >= _RECORDS_MIN:
                found.append((content, computers - {""}, len(texts)))
    return found


def _members(archive: Path) -> Iterator[bytes]:
    with gzip.open(archive) as stream, tarfile.open(fileobj=stream) as tar:
        for member in tar:
            file = tar.extractfile(member) if member.name.endswith(".evtx") else None
            if file is not None:
                yield file.read()


def _renamed(content: bytes, computers: set[str], number: int) -> bytes:
    for name in computers:
        digits = f"{number:03d}"[-len(name) :]
        other = digits + name[len(digits) :]
        content = content.replace(name.encode("utf-16-le"), other.encode("utf-16-le"))
    return content


PART = Part("import", run)
