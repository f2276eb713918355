"""CSV tables, containers and documents of agents are imported like any other log."""

import csv
import gzip
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.support import windows_events
from tests.support.windows_events import EVENTS
from tests.support.wire_records import RECORDS
from vedette.importer.file_sequence import Sequence
from vedette.importer.scan.file_ranges import IMPORT_PART_BYTES, split_offsets
from vedette.importer.scan.record_scanner import IMPORT_BLOCK_BYTES
from vedette.importer.sources.archives import Extent, Kind, kind_of
from vedette.ingest.decode import decode
from vedette.ingest.record import Record

_COLUMNS = windows_events.CSV_COLUMNS


def _row(number: int, **more: Any) -> dict[str, Any]:
    time = f"2024-01-02T03:{number // 60 % 60:02}:{number % 60:02}.000Z"
    row = windows_events.evtxecmd(EVENTS["Security 4688"], "desk-31", time)
    return row | {"EventRecordId": str(number + 1), "RecordNumber": number} | more


def _table(rows: Any) -> bytes:
    written = io.StringIO()
    writer = csv.DictWriter(written, _COLUMNS, restval="", lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows)
    return b"\xef\xbb\xbf" + written.getvalue().encode()


def _records(path: Path) -> list[Record]:
    with Sequence(path) as sequence:
        assert sequence.refused == []
        texts = [record for chunk in sequence.chunks() for record in chunk.records]
    return [record for text in texts for record in decode(text)]


@pytest.mark.parametrize("packing", ["plain", "gzip", "tar"])
def test_a_table_over_many_blocks_gives_all_its_rows_in_order(tmp_path: Path, packing: str) -> None:
    rows = [_row(number) for number in range(1_500)]
    content = _table(reversed(rows))
    assert len(content) > 2 * IMPORT_BLOCK_BYTES
    path = tmp_path / "a.csv"
    if packing == "gzip":
        path.write_bytes(gzip.compress(content))
    elif packing == "tar":
        with tarfile.open(path, "w") as archive:
            info = tarfile.TarInfo("b.csv")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    else:
        path.write_bytes(content)
    found = _records(path)
    assert [record.record_id for record in found] == list(range(1, 1_501))
    assert {record.data["NewProcessId"] for record in found} == {"0x1404"}


def test_a_table_is_not_split_into_ranges_wherever_its_quotes_are(tmp_path: Path) -> None:
    text = "}\n{" * 20
    payload = json.dumps({"EventData": {"Data": {"@Name": "a", "#text": text}}}, indent=0)
    rows = (_row(number, Payload=f"{payload}\n{{}}") for number in range(1_000))
    header, _, body = _table(rows).partition(b"\r\n")
    path = tmp_path / "a.csv"
    path.write_bytes(header + b"\r\n" + body * (2 * IMPORT_PART_BYTES // len(body) + 1))
    size = path.stat().st_size
    assert size > 2 * IMPORT_PART_BYTES
    assert split_offsets(Extent(path, 0, size)) == [0, size]


def test_a_bad_row_is_refused_with_its_position_and_its_neighbours_are_kept(
    tmp_path: Path,
) -> None:
    rows = [_row(0), _row(1, TimeCreated="soon"), _row(2, Payload="{"), _row(3)]
    path = tmp_path / "a.csv"
    path.write_bytes(_table(rows))
    with Sequence(path) as sequence:
        refused = [(one.position, one.reason) for one in sequence.refused]
        kept = [record for chunk in sequence.chunks() for record in chunk.records]
    assert refused == [(2, "bad_time"), (3, "not_json")]
    assert len(kept) == 2


def test_a_container_gives_its_records(tmp_path: Path) -> None:
    rows = [
        RECORDS["defender"] | {"properties": RECORDS["defender"]["properties"] | {"ReportId": n}}
        for n in range(1, 6)
    ]
    path = tmp_path / "PT1H.json"
    path.write_text("\n".join(json.dumps({"records": rows[at : at + 2]}) for at in (0, 2, 4)))
    assert len(_records(path)) == 5


@pytest.mark.parametrize(
    "name",
    [
        "evtxecmd",
        "elastic defend",
        "auditbeat",
        "auditbeat audit",
        "wazuh windows",
        "wazuh audit",
        "defender",
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_a_document_is_imported_as_it_is_ingested(
    tmp_path: Path, name: str, indent: int | None
) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps([RECORDS[name]], indent=indent))
    assert _records(path) == decode(json.dumps(RECORDS[name]).encode())


@pytest.mark.parametrize("head", [b"a,b\n1,2\n", b"Timestamp,DeviceName\n", b"", b"\x00,\n"])
def test_another_table_is_no_log(head: bytes) -> None:
    assert kind_of(head) is not Kind.TEXT


def test_a_record_with_a_member_of_a_wrong_type_does_not_stop_an_import(tmp_path: Path) -> None:
    execution = RECORDS["santa"]["execution"] | {"target": 5}
    records = [RECORDS["santa"] | {"execution": execution}, RECORDS["santa"]]
    path = tmp_path / "a.json"
    path.write_text("\n".join(map(json.dumps, records)))
    with Sequence(path) as sequence:
        refused = [(one.position, one.reason) for one in sequence.refused]
        assert sum(len(chunk.records) for chunk in sequence.chunks()) == 1
    assert refused == [(1, "bad_event")]
