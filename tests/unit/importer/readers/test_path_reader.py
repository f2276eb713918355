"""Parts of files that other processes read are what one process would have read."""

import hashlib
import json
import os
import signal
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.children import children
from vedette.bootstrap.reader_processes import ReaderLauncher
from vedette.importer.file_sequence import Chunk, Sequence
from vedette.importer.readers.reader_pool import Reader, ReaderPool
from vedette.importer.scan.file_ranges import FileRange, split_offsets
from vedette.importer.sources.archives import Extent

PART_BYTES = 4_000


def sysmon(number: int, **more: Any) -> dict[str, Any]:
    return {
        "EventID": 11,
        "Channel": "Microsoft-Windows-Sysmon/Operational",
        "Hostname": f"PC{number % 3}",
        "TimeCreated": f"2024-01-01T{number % 3:02}:00:00Z",  # of each host another clock
        "UtcTime": f"2024-01-01 08:{number // 60 % 60:02}:{number % 60:02}.016",
        "RecordNumber": number,
        "TargetFilename": f"C:\\{number}",
        **more,
    }


def security(number: int) -> dict[str, Any]:
    host = f"PC{number % 3}"
    time = f"2024-01-01T0{number % 3}:{number % 60:02}:30Z"
    return {"EventID": 4688, "Channel": "Security", "Hostname": host, "TimeCreated": time}


def lines(count: int) -> list[bytes]:
    objects = (security(n) if n % 17 == 5 else sysmon(n) for n in range(count))
    return [json.dumps(one).encode() for one in objects]


def beats_without_a_time_of_its_own(number: int) -> bytes:
    log = {
        "channel": "Security",
        "computer_name": "PC1",
        "event_id": "4624",
        "record_id": str(number),
        "event_data": {"N": str(number)},
    }
    return json.dumps({"@timestamp": "2024-01-01T12:00:00.016Z", "winlog": log}).encode()


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vedette.importer.scan.file_ranges.IMPORT_PART_BYTES", PART_BYTES)


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> Iterator[ReaderLauncher]:
    """Two processes, whatever the machine has."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1})
    processes = ReaderLauncher()
    yield processes
    processes.close()


def reported(sequence: Sequence) -> tuple[list[tuple[str, list[bytes]]], list[Any], Any]:
    chunks: list[Chunk] = list(sequence.chunks())
    places = [sorted(zip(chunk.records, chunk.places, strict=True)) for chunk in chunks]
    refused = [(one.file, one.position, one.reason) for one in sequence.refused]
    return (
        [(chunk.source, chunk.records) for chunk in chunks],
        places,
        (refused, sequence.reasons, sequence.refusals, sequence.files, sequence.count),
    )


CONTENTS = {
    "lines": b"\n".join(lines(300)),
    "newest first": b"\n".join(reversed(lines(300))) + b"\n",
    "broken lines": b"\n".join([*lines(100), b'{"cut": ', *lines(80), b'{"what": 1}', *lines(60)]),
    "indented": b"\n".join(json.dumps(sysmon(n), indent=2).encode() for n in range(120)),
    "an array": b"[\n" + b",\n".join(lines(200)) + b"\n]",
    "decoded": b"\n".join(map(beats_without_a_time_of_its_own, range(200))),
    "no log": b"\n".join([b'{"pid": 4}'] * 3_000),
    "XML": b"\n".join(
        b"<Event><System><EventID>7</EventID><Channel>System</Channel>"
        b"<TimeCreated SystemTime='2024-01-01T08:00:%02d.5Z'/><EventRecordID>%d</EventRecordID>"
        b"<Computer>PC1</Computer></System></Event>" % (n % 60, n)
        for n in range(200)
    ),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_it_does_not_matter_who_reads(name: str, tmp_path: Path, processes: ReaderLauncher) -> None:
    content = CONTENTS[name]
    (tmp_path / "a.json").write_bytes(content)
    (tmp_path / "b.json").write_bytes(content[: len(content) // 3].rpartition(b"\n")[0])
    with Sequence(tmp_path) as alone:
        wanted = reported(alone)
    with Sequence(tmp_path, launch=processes.launch) as together:
        assert reported(together) == wanted
        assert together.key == alone.key


def test_texts_in_a_tar_are_read_where_they_lie(tmp_path: Path, processes: ReaderLauncher) -> None:
    folder, packed = tmp_path / "logs", tmp_path / "logs.tar"
    folder.mkdir()
    for name, content in CONTENTS.items():
        (folder / f"{name}.json").write_bytes(content)
    with tarfile.open(packed, "w") as tar:
        tar.add(folder, "logs")
    with Sequence(folder) as unpacked:
        chunks, _, _ = reported(unpacked)
    for launch in (list, processes.launch):
        with Sequence(packed, launch=launch) as sequence:
            assert sequence.key == unpacked.key
            assert reported(sequence)[0] == chunks


def test_a_position_counts_from_the_begin_of_the_file(
    tmp_path: Path, processes: ReaderLauncher
) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"\n".join([*lines(250), b'{"what": 1}', *lines(30)]))
    with Sequence(path, launch=processes.launch) as sequence:
        assert [one.position for one in sequence.refused] == [251]
        places = [place for chunk in sequence.chunks() for place in chunk.places]
    assert sorted(places) == [(0, n) for n in range(1, 282) if n != 251]


def test_the_digest_is_of_what_was_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(CONTENTS["lines"])
    real = split_offsets

    def grown(place: Extent) -> list[int]:
        with place.path.open("ab") as file:
            file.write(b"\n" + lines(1)[0])
        return real(place)

    monkeypatch.setattr("vedette.importer.readers.path_reader.split_offsets", grown)
    with Sequence(path) as sequence:
        assert sequence.key == hashlib.sha256(CONTENTS["lines"]).hexdigest()
        assert sequence.count == 300


@pytest.mark.parametrize("is_split", [False, True])
def test_a_file_that_is_gone_costs_only_itself(
    is_split: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_bytes(CONTENTS["lines"])
    real = split_offsets

    def gone(place: Extent) -> list[int]:
        found = real(place) if is_split else []
        if place.path.name == "a.json":
            place.path.unlink()
        return found or real(place)

    monkeypatch.setattr("vedette.importer.readers.path_reader.split_offsets", gone)
    with Sequence(tmp_path) as sequence:
        assert sequence.files == [str(tmp_path / "b.json")]
        assert [(one.name, one.reason) for one in sequence.refusals] == [
            (str(tmp_path / "a.json"), "unreadable")
        ]
        assert sequence.on_disk == 2
        assert sum(len(chunk.records) for chunk in sequence.chunks()) == 300


@pytest.mark.parametrize("dead", [1, 2])
def test_a_process_that_dies_costs_nothing(
    dead: int, tmp_path: Path, processes: ReaderLauncher, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(CONTENTS["lines"])
    with Sequence(path) as alone:
        wanted = reported(alone)
    given: list[int] = []

    def launch() -> list[Reader]:
        readers = processes.launch()
        for pid in children("vedette.bootstrap.reader_processes")[:dead]:
            os.kill(pid, signal.SIGKILL)
        return readers

    give = ReaderPool.submit

    def noted(self: ReaderPool, part: FileRange) -> None:
        given.append(part.number)
        give(self, part)

    monkeypatch.setattr(ReaderPool, "submit", noted)
    with Sequence(path, launch=launch) as sequence:
        assert reported(sequence) == wanted
    assert len(given) > 5


@pytest.mark.parametrize("name", CONTENTS)
def test_a_text_is_divided_between_objects_only(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(CONTENTS[name])
    found = split_offsets(Extent(path, 0, len(CONTENTS[name])))
    assert found[0] == 0
    assert found[-1] == len(CONTENTS[name])
    assert found == sorted(set(found))
    for at in found[1:-1]:
        assert CONTENTS[name][at - 2 : at + 1] == b"}\n{"
    if name in ("lines", "newest first", "decoded", "indented"):
        assert len(found) > 5
