"""Files become one sequence of records, whatever their order, packing and damage."""

import codecs
import gzip
import io
import json
import os
import random
import struct
import tarfile
import threading
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from vedette.importer import file_sequence
from vedette.importer.file_sequence import Sequence
from vedette.importer.order.external_sort import Sorter
from vedette.importer.sources.text_spool import ChangedError
from vedette.ingest.decode import decode

SHARED = Path(os.environ.get("VEDETTE_SHARED", Path(__file__).parents[3].parent / "shared"))
TELEMETRY = SHARED / "data" / "telemetry"
needs_shared = pytest.mark.skipif(not TELEMETRY.exists(), reason="no ../shared")


def sysmon(second: int, **more: Any) -> dict[str, Any]:
    return {
        "EventID": 11,
        "Channel": "Microsoft-Windows-Sysmon/Operational",
        "Hostname": "PC1",
        "TimeCreated": "2024-01-01T04:00:00Z",  # four hours behind UtcTime
        "UtcTime": f"2024-01-01 08:00:{second:02}.016",
        "TargetFilename": f"C:\\{second}",
        **more,
    }


def security(time: str, **more: Any) -> dict[str, Any]:
    return {"EventID": 4688, "Channel": "Security", "Hostname": "PC1", "TimeCreated": time, **more}


def text_of(objects: Iterable[Any]) -> bytes:
    return "".join(json.dumps(one) + "\n" for one in objects).encode()


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def given_out(sequence: Sequence) -> list[bytes]:
    with sequence:
        return [record for chunk in sequence.chunks() for record in chunk.records]


MIXED = [
    *(sysmon(second) for second in range(40)),
    *(sysmon(7, RecordNumber=number) for number in (12, 9, 100)),
    security("2024-01-01T04:00:20.5Z"),
]


def test_the_order_in_the_file_does_not_matter(tmp_path: Path) -> None:
    shuffled = MIXED[:]
    random.Random(7).shuffle(shuffled)
    orders = [MIXED, MIXED[::-1], shuffled]
    found = [
        given_out(Sequence(written(tmp_path / str(number), text_of(order))))
        for number, order in enumerate(orders)
    ]
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == len(MIXED)


def test_records_come_in_the_order_of_their_events_and_ids(tmp_path: Path) -> None:
    out = given_out(Sequence(written(tmp_path / "x", text_of(MIXED))))
    data = [record.data for text in out for record in decode(text)]
    times = [one["UtcTime"] for one in data if "UtcTime" in one]
    assert times == sorted(times)
    assert [one["RecordNumber"] for one in data if "RecordNumber" in one] == [9, 12, 100]


def test_envelope_times_are_put_right_by_the_hosts_other_records(tmp_path: Path) -> None:
    out = given_out(Sequence(written(tmp_path / "x", text_of(MIXED))))
    ids = [record.event_id for text in out for record in decode(text)]
    assert ids.index(4688) == 24  # after second 20 and the three with an id at second 7


def test_packing_does_not_change_the_sequence(tmp_path: Path) -> None:
    plain = written(tmp_path / "a.json", text_of(MIXED))
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.write(plain, "other/name.json")
    with Sequence(plain) as one, Sequence(tmp_path / "a.zip") as other:
        assert one.key == other.key
        assert list(one.chunks()) == list(other.chunks())


def test_the_order_of_members_does_not_change_the_sequence(tmp_path: Path) -> None:
    contents = {"a": text_of(MIXED[:20]), "b": text_of(MIXED[20:])}
    found = []
    for names in (("a", "b"), ("b", "a")):
        path = tmp_path / "".join(names)
        with tarfile.open(path, "w:gz") as archive:
            for name in names:
                info = tarfile.TarInfo(name)
                info.size = len(contents[name])
                archive.addfile(info, io.BytesIO(contents[name]))
        sequence = Sequence(path)
        found.append((sequence.key, given_out(sequence)))
    assert found[0] == found[1]


def test_a_second_copy_in_an_archive_gives_only_records_with_an_id(tmp_path: Path) -> None:
    for name in ("a", "b"):
        written(tmp_path / name, text_of([sysmon(1), sysmon(2, RecordNumber=5)]))
    sequence = Sequence(tmp_path)
    assert len(given_out(sequence)) == 3
    assert sequence.duplicates == {("Microsoft-Windows-Sysmon/Operational", 11): 1}


def test_parts_are_numbered_and_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_sequence, "IMPORT_CHUNK_RECORDS", 10)
    with Sequence(written(tmp_path / "x", text_of(MIXED))) as sequence:
        chunks = list(sequence.chunks())
    assert [len(chunk.records) for chunk in chunks] == [10, 10, 10, 10, 4]
    assert [chunk.source for chunk in chunks] == [f"{sequence.key}:{n}" for n in range(5)]
    assert sum(chunk.share for chunk in chunks) == pytest.approx(1)


def test_broken_lines_are_reported_with_their_position(tmp_path: Path) -> None:
    content = text_of([sysmon(1)]) + b'{"cut": \n' + text_of([sysmon(2), {"what": "else"}])
    sequence = Sequence(written(tmp_path / "x", content))
    assert len(given_out(sequence)) == 2
    assert sorted(
        (sequence.files[one.file], one.position, one.reason) for one in sequence.refused
    ) == [(str(tmp_path / "x"), 2, "not_json"), (str(tmp_path / "x"), 4, "unknown_format")]
    assert sequence.reasons == {"not_json": 1, "unknown_format": 1}


def test_a_place_has_file_and_position(tmp_path: Path) -> None:
    written(tmp_path / "a", text_of([sysmon(5), sysmon(3)]))
    written(tmp_path / "b", text_of([sysmon(4)]))
    with Sequence(tmp_path) as sequence:
        (chunk,) = sequence.chunks()
    assert chunk.places == [(0, 2), (1, 1), (0, 1)]


def test_a_file_without_any_record_is_refused_as_a_whole(tmp_path: Path) -> None:
    sequence = Sequence(written(tmp_path / "x", b'[{"pid": 4}, {"pid": 5}]'))
    assert [refusal.reason for refusal in sequence.refusals] == ["no_records"]
    assert (sequence.reasons, sequence.files) == ({}, [])


@pytest.mark.parametrize(
    "content",
    [
        text_of(MIXED),
        json.dumps(MIXED).encode(),
        json.dumps(MIXED, indent=2).encode(),
        "".join(json.dumps(one, indent=1) for one in MIXED).encode(),
        codecs.BOM_UTF8 + text_of(MIXED),
        text_of(MIXED).decode().encode("utf-16"),
        text_of(MIXED).replace(b"\n", b"\r\n\r\n"),
    ],
)
def test_json_of_any_layout_gives_the_same_records(content: bytes, tmp_path: Path) -> None:
    out = given_out(Sequence(written(tmp_path / "x", content)))
    found = {json.dumps(decode(text)[0].data, sort_keys=True) for text in out}
    assert found == {json.dumps(one, sort_keys=True) for one in MIXED}


def beats(number: int) -> bytes:
    """A document of Winlogbeat; the clock of its envelope is hours ahead."""
    log = {
        "channel": "Microsoft-Windows-Sysmon/Operational",
        "computer_name": "PC1",
        "event_id": "11",
        "record_id": number,
        "event_data": {"UtcTime": f"2024-01-01 08:00:{59 - number:02}.016", "N": str(number)},
    }
    return json.dumps({"@timestamp": "2024-01-01T12:00:00.016Z", "winlog": log}).encode()


@pytest.mark.parametrize("odd", [b'{"cut": ', b'{"what": "else"}', text_of(MIXED[:2])])
@pytest.mark.parametrize("block_bytes", [100, 700, 1 << 20])
def test_documents_read_in_blocks_are_those_read_one_by_one(
    odd: bytes, block_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [beats(number) for number in range(30)]
    plain = given_out(Sequence(written(tmp_path / "plain", b"\n".join(lines))))
    monkeypatch.setattr("vedette.importer.scan.record_scanner.IMPORT_BLOCK_BYTES", block_bytes)
    assert given_out(Sequence(written(tmp_path / "plain", b"\n".join(lines)))) == plain
    mixed = Sequence(written(tmp_path / "x", b"\n".join([*lines[:20], odd, *lines[20:]])))
    found = given_out(mixed)
    assert [one for one in found if b'"N"' in one] == plain
    reported = [decode(one)[0].data["N"] for one in plain]
    assert reported == [str(number) for number in reversed(range(30))]
    assert {one.position for one in mixed.refused} <= {21}


def test_large_files_are_read_in_blocks_and_sorted_outside_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = given_out(Sequence(written(tmp_path / "x", text_of(MIXED))))
    monkeypatch.setattr("vedette.importer.scan.record_scanner.IMPORT_BLOCK_BYTES", 100)
    monkeypatch.setattr(file_sequence, "Sorter", lambda: Sorter(2_000))
    assert given_out(Sequence(tmp_path / "x")) == wanted


def packed(path: Path, content: bytes) -> Path:
    return written(path.with_suffix(".gz"), gzip.compress(content, mtime=0))


@pytest.mark.parametrize("end", ["", "\n", "\n\n", "\n[]\n", '{"cut":\n'])
@pytest.mark.parametrize("block_bytes", [100, 1_000, 64_000])
def test_lines_that_stay_in_their_file_are_sent_as_those_of_an_archive_are(
    end: str, block_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vedette.importer.scan.record_scanner.IMPORT_BLOCK_BYTES", block_bytes)
    content = text_of(MIXED[::-1] * 3).rstrip() + end.encode()
    plain = written(tmp_path / "x", content)
    with Sequence(plain) as one, Sequence(packed(plain, content)) as other:
        found, wanted = list(one.chunks()), list(other.chunks())
    assert [(c.source, c.records) for c in found] == [(c.source, c.records) for c in wanted]
    assert [sorted(c.places) for c in found] == [sorted(c.places) for c in wanted]
    assert one.reasons == other.reasons


def test_a_pipe_is_read_like_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vedette.importer.scan.record_scanner.IMPORT_BLOCK_BYTES", 1_000)
    os.mkfifo(tmp_path / "pipe")
    content = text_of(MIXED)
    writing = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=[content])
    writing.start()
    found = given_out(Sequence(tmp_path / "pipe"))
    writing.join()
    assert found == given_out(Sequence(written(tmp_path / "x", content)))


def test_lines_of_more_files_than_may_be_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vedette.importer.scan.record_scanner.IMPORT_BLOCK_BYTES", 100)
    monkeypatch.setattr("vedette.importer.sources.text_spool.TEXT_SPOOL_OPEN_FILES_MAX", 2)
    monkeypatch.setattr("vedette.importer.sources.text_spool.TEXT_SPOOL_BLOCK_BYTES", 64)
    for number in range(7):
        written(tmp_path / str(number), text_of(sysmon(s, N=number) for s in range(number, 9)))
    out = given_out(Sequence(tmp_path))
    reported = [(record.data["UtcTime"], record.data["N"]) for one in out for record in decode(one)]
    assert len(reported) == sum(9 - number for number in range(7))
    assert [time for time, _ in reported] == sorted(time for time, _ in reported)


@pytest.mark.parametrize("change", [b"", b"{}\n", text_of(MIXED[::-1])])
def test_a_file_that_changes_while_it_is_imported_is_reported(
    change: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vedette.importer.scan.record_scanner.IMPORT_BLOCK_BYTES", 100)
    path = written(tmp_path / "x", text_of(MIXED))
    with Sequence(path) as sequence:
        path.write_bytes(change)
        with pytest.raises(ChangedError, match="has changed"):
            list(sequence.chunks())


def test_lines_that_are_added_while_a_file_is_imported_are_left_for_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vedette.importer.scan.record_scanner.IMPORT_BLOCK_BYTES", 100)
    path = written(tmp_path / "x", text_of(MIXED))
    sequence = Sequence(path)
    with path.open("ab") as file:
        file.write(text_of([sysmon(59)]))
    assert len(given_out(sequence)) == len(MIXED)


def test_a_stream_that_is_cut_short_gives_what_it_holds(tmp_path: Path) -> None:
    content = gzip.compress(text_of(MIXED), mtime=0)
    sequence = Sequence(written(tmp_path / "x.gz", content[:-6]))
    assert [refusal.reason for refusal in sequence.refusals] == ["damaged"]
    assert len(given_out(sequence)) >= len(MIXED) - 1


AUDIT = [
    f"type={kind} msg=audit(17000000{second:02}.5:{serial}): {rest}"
    for second, serial in ((1, 10), (2, 11), (3, 12))
    for kind, rest in (
        ("SYSCALL", f'syscall=59 success=yes exit=0 ppid=1 pid={serial} exe="/bin/a"'),
        ("EXECVE", 'argc=2 a0="a" a1="b"'),
        ("PATH", 'item=0 name="/bin/a" nametype=NORMAL'),
    )
]


def test_audit_lines_are_put_together_wherever_they_stand(tmp_path: Path) -> None:
    shuffled = AUDIT[:]
    random.Random(3).shuffle(shuffled)
    one = Sequence(written(tmp_path / "web7.log", "\n".join(AUDIT).encode()))
    other = Sequence(written(tmp_path / "web7.txt", "\n".join(shuffled).encode()))
    out = given_out(one)
    assert out == given_out(other)
    records = [decode(text)[0] for text in out]
    assert [(r.host, r.data["EXECVE"]["ARGV"]) for r in records] == [("web7", ["a", "b"])] * 3


def test_a_host_can_be_named_for_logs_without_one(tmp_path: Path) -> None:
    audit = written(tmp_path / "audit.log", "\n".join(AUDIT).encode())
    assert {decode(text)[0].host for text in given_out(Sequence(audit, "db1"))} == {"db1"}
    santa = b"[2024-01-01T00:00:00Z] I santad: action=DELETE|path=/x|pid=1|processpath=/bin/rm\n"
    (record,) = decode(given_out(Sequence(written(tmp_path / "s.log", santa), "mac1"))[0])
    assert record.host == "mac1"


EVENT = (
    "<Event><System><Provider Name='Microsoft-Windows-Sysmon'/><EventID>5</EventID>"
    "<TimeCreated SystemTime='2024-01-01T00:00:0{0}Z'/><EventRecordID>{0}</EventRecordID>"
    "<Channel>Microsoft-Windows-Sysmon/Operational</Channel><Computer>pc1</Computer></System>\n"
    "<EventData><Data Name='UtcTime'>2024-01-01 00:00:0{0}.000</Data></EventData></Event>"
)


@pytest.mark.parametrize(
    "layout",
    [
        "{}{}{}",
        "{}\n{}\n{}\n",
        "<?xml version='1.0'?>\n<Events>{}\n{}{}</Events>",
    ],
)
def test_xml_events_are_read_from_lines_and_documents(layout: str, tmp_path: Path) -> None:
    text = layout.format(*(EVENT.format(number) for number in (3, 1, 2)))
    out = given_out(Sequence(written(tmp_path / "x", text.encode())))
    assert [decode(one)[0].record_id for one in out] == [1, 2, 3]


@pytest.mark.parametrize("preamble", ["<13>Jan  1 01:02:03 pc1 wec: ", "wec "])
def test_what_a_syslog_daemon_wrote_before_an_xml_event_is_left_out(
    preamble: str, tmp_path: Path
) -> None:
    line = EVENT.format(1).replace("\n", "").replace("'", '"')
    out = given_out(Sequence(written(tmp_path / "x.log", (preamble + line + "\n").encode())))
    assert out == [line.encode()]


def test_an_xml_event_without_host_is_refused(tmp_path: Path) -> None:
    text = EVENT.format(1).replace("<Computer>pc1</Computer>", "").replace("UtcTime", "Utc")
    sequence = Sequence(written(tmp_path / "x", text.encode()))
    assert sequence.reasons == {"no_host": 1}


@pytest.mark.parametrize("content", [b"ElfFile\0" + bytes(100), b"ElfFile\0" + bytes(10_000)])
def test_garbage_with_the_magic_of_evtx_is_refused(content: bytes, tmp_path: Path) -> None:
    sequence = Sequence(written(tmp_path / "x.evtx", content))
    assert given_out(sequence) == []
    assert sequence.refusals or sequence.reasons or not sequence.count


@pytest.mark.parametrize("there", [0, 1, 2])
@pytest.mark.parametrize("is_packed", [False, True])
def test_a_log_with_fewer_chunks_than_its_head_says_is_cut_short(
    there: int, is_packed: bool, tmp_path: Path
) -> None:
    numbers = struct.pack("<QQQIHHHH", 0, 1, 1, 128, 1, 3, 4_096, 2) + bytes(76)
    head = b"ElfFile\0" + numbers
    head += struct.pack("<II", 0, zlib.crc32(head))
    content = (head + bytes(4_096))[:4_096] + bytes(65_536 * there)
    path = written(tmp_path / "x.evtx", gzip.compress(content) if is_packed else content)
    with Sequence(path) as sequence:
        messages = [one.message for one in sequence.refusals if one.reason == "damaged"]
    cut = f"the log is cut short: it has {there} of 2 chunks"
    assert (cut in messages) is (there < 2)
    path = written(tmp_path / "x.evtx", content + bytes(65_536 * 2 + 100))
    with Sequence(path) as sequence:
        cut = f"the log is cut short: it ends within chunk {there + 3}"
        assert cut in [one.message for one in sequence.refusals]


def _evtx(name: str) -> bytes:
    with tarfile.open(TELEMETRY / "p02_host_evtx_procdump.tar.gz") as archive:
        member = archive.extractfile(name)
        assert member is not None
        return member.read()


@needs_shared
def test_evtx_is_read_from_disk_and_from_archives_alike(tmp_path: Path) -> None:
    content = _evtx("Security.evtx")
    plain = written(tmp_path / "Security.evtx", content)
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as packed_file:
        packed_file.writestr("Security.evtx", content)
    with tarfile.open(tmp_path / "x.tar", "w") as archive:
        archive.add(plain, "a/Security.evtx")
    found = []
    for path in (plain, tmp_path / "x.zip", tmp_path / "x.tar"):
        with Sequence(path) as sequence:
            assert sequence.count == 356
            found.append((sequence.key, list(sequence.chunks())))
    assert found[0] == found[1] == found[2]


@needs_shared
def test_an_evtx_file_that_is_cut_short_is_reported(tmp_path: Path) -> None:
    content = _evtx("Microsoft-Windows-PowerShell%4Operational.evtx")
    with Sequence(written(tmp_path / "whole.evtx", content)) as whole:
        assert whole.refusals == []
    (chunks,) = struct.unpack_from("<H", content, 42)
    for length in (4_096, 5_000, 4_096 + (chunks - 1) * 65_536 + 9_000):
        with Sequence(written(tmp_path / "x.evtx", content[:length])) as sequence:
            assert [one.reason for one in sequence.refusals] == ["damaged"]
            assert "cut short" in sequence.refusals[0].message
            assert sequence.count < whole.count


@needs_shared
def test_a_damaged_chunk_costs_only_its_own_records(tmp_path: Path) -> None:
    content = bytearray(_evtx("Microsoft-Windows-PowerShell%4Operational.evtx"))
    with Sequence(written(tmp_path / "whole.evtx", bytes(content))) as undamaged:
        whole = undamaged.count
    chunk = 4_096 + 3 * 65_536
    content[chunk + 600 : chunk + 60_000] = random.Random(1).randbytes(59_400)
    sequence = Sequence(written(tmp_path / "x.evtx", bytes(content)))
    assert whole / 2 < len(given_out(sequence)) < whole
    assert sequence.reasons["damaged"] >= 1
    assert all(one.position > 0 for one in sequence.refused)


@needs_shared
def test_every_recorded_set_is_read_whole() -> None:
    manifest = json.loads((TELEMETRY / "manifest.json").read_text())
    small = [one for one in manifest if one["bytes"] < 400_000 and "records" in one["expect"]]
    assert small
    for one in small:
        with Sequence(TELEMETRY / one["file"]) as sequence:
            assert (sequence.count, sequence.reasons) == (one["expect"]["records"], {}), one["id"]


def test_a_file_of_an_access_log_is_read_line_by_line(tmp_path: Path) -> None:
    line = '10.0.0.9 - - [30/Nov/2026:08:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "c"\n'
    (tmp_path / "access.log").write_text(line * 3)
    with Sequence(tmp_path, "web1") as sequence:
        records = [
            one for chunk in sequence.chunks() for raw in chunk.records for one in decode(raw)
        ]
    assert [(one.channel, one.host) for one in records] == [("web_access", "web1")] * 3
