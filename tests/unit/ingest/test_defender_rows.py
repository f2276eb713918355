"""Rows of Microsoft Defender's advanced hunting become the events of their processes."""

import csv
import io
import json
from typing import Any

import pytest

from tests.unit.ingest.normalise.events import SENSOR_ID, outcomes
from vedette.ingest.context.host_context import HostContext
from vedette.ingest.decode import decode
from vedette.ingest.framing.body import split_body
from vedette.ingest.platform import os_type_of
from vedette.ingest.record import RecordError
from vedette.model.address import pack_address
from vedette.model.event import (
    Childproc,
    Facts,
    Filemod,
    FileOperation,
    Modload,
    Netconn,
    RegistryOperation,
    Regmod,
)

_AT = "2024-01-02T03:04:05.6789012Z"
_AT_US = 1_704_164_645_678_901
_SHA256 = "c" * 64
_ACTOR = {
    "InitiatingProcessId": 600,
    "InitiatingProcessCreationTime": "2024-01-02T03:00:00.5000000Z",
    "InitiatingProcessFileName": "explorer.exe",
    "InitiatingProcessFolderPath": "c:\\windows\\explorer.exe",
    "InitiatingProcessCommandLine": "explorer.exe /x",
    "InitiatingProcessAccountDomain": "northwind",
    "InitiatingProcessAccountName": "mira",
    "InitiatingProcessParentId": 500,
    "InitiatingProcessParentFileName": "userinit.exe",
}


def _row(action: str, **columns: Any) -> dict[str, Any]:
    return {
        "Timestamp": _AT,
        "DeviceId": "0a1b",
        "DeviceName": "Desk-31.northwind.example",
        "ActionType": action,
        "ReportId": 4711,
        **_ACTOR,
        **columns,
    }


_START = _row(
    "ProcessCreated",
    FileName="sync.exe",
    FolderPath="C:\\tools\\sync.exe",
    SHA256=_SHA256,
    ProcessId=4312,
    ProcessCommandLine="sync.exe --all",
    ProcessCreationTime="2024-01-02T03:04:05.6500000Z",
    ProcessIntegrityLevel="High",
    AccountDomain="northwind",
    AccountName="svc-ledger",
    AccountSid="S-1-5-21-11-22-33-1188",
    LogonId=369090,
    ProcessVersionInfoOriginalFileName="SYNC.EXE",
)


def _streamed(row: dict[str, Any], table: str = "DeviceProcessEvents") -> dict[str, Any]:
    return {
        "time": "2024-01-02T03:05:00.0000000Z",
        "tenantId": "0a1b",
        "operationName": "Publish",
        "category": f"AdvancedHunting-{table}",
        "properties": row,
    }


def _made(*rows: Any) -> list[Any]:
    records = [record for row in rows for record in decode(json.dumps(row).encode())]
    return outcomes(*records, ctx=HostContext(SENSOR_ID))


def _csv(*rows: dict[str, Any]) -> bytes:
    table = io.StringIO()
    columns = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(table, columns, restval="")
    writer.writeheader()
    writer.writerows(rows)
    return b"\xef\xbb\xbf" + table.getvalue().encode()


def test_a_start_has_its_process_and_the_parent_that_made_it() -> None:
    (record,) = decode(json.dumps(_streamed(_START)).encode())
    assert (record.host, record.time_us) == ("desk-31.northwind.example", _AT_US)
    assert os_type_of(record) == "windows"
    made = _made(_streamed(_START))
    (child,) = [one for one in made if isinstance(one, Childproc)]
    values: dict[str, Any] = {}
    for one in made:
        if isinstance(one, Facts) and one.process_id == child.child_id:
            values |= one.values
    expected = {
        "path": "C:\\tools\\sync.exe",
        "cmdline": "sync.exe --all",
        "username": "northwind\\svc-ledger",
        "uid": "S-1-5-21-11-22-33-1188",
        "process_sha256": _SHA256,
        "integrity_level": "High",
        "logon_id": "0x5a1c2",
        "original_filename": "SYNC.EXE",
        "parent_path": "c:\\windows\\explorer.exe",
        "parent_cmdline": "explorer.exe /x",
        "start": 1_704_164_645_650_000,
        "creation_observed": 1,
    }
    assert {name: values.get(name) for name in expected} == expected


def test_a_streamed_row_an_exported_row_and_a_row_of_csv_are_the_same_event() -> None:
    (row,) = split_body(_csv(_START))
    made = [_made(one) for one in (_streamed(_START), _START, json.loads(row))]
    assert made[0] == made[1] == made[2]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (
            _row("FileCreated", FolderPath="C:\\a.dll", FileName="a.dll", SHA256=_SHA256),
            [Filemod("", _AT_US, FileOperation.CREATED, "C:\\a.dll", "", _SHA256, file_type=1)],
        ),
        (
            _row("FileDeleted", FolderPath="C:\\temp", FileName="a.txt"),
            [Filemod("", _AT_US, FileOperation.DELETED, "C:\\temp\\a.txt")],
        ),
        (
            _row(
                "FileRenamed",
                FolderPath="C:\\b.txt",
                FileName="b.txt",
                PreviousFolderPath="C:\\",
                PreviousFileName="a.txt",
            ),
            [
                Filemod("", _AT_US, FileOperation.DELETED, "C:\\a.txt"),
                Filemod("", _AT_US, FileOperation.CREATED, "C:\\b.txt"),
            ],
        ),
        (
            _row(
                "RegistryValueSet",
                RegistryKey="HKEY_LOCAL_MACHINE\\SOFTWARE\\Ledger",
                RegistryValueName="Run",
                RegistryValueData="C:\\tools\\sync.exe",
            ),
            [
                Regmod(
                    "",
                    _AT_US,
                    RegistryOperation.WRITTEN,
                    "\\registry\\machine\\SOFTWARE\\Ledger\\Run",
                    "C:\\tools\\sync.exe",
                )
            ],
        ),
        (
            _row(
                "RegistryValueDeleted",
                PreviousRegistryKey="HKEY_LOCAL_MACHINE\\SOFTWARE\\Ledger",
                PreviousRegistryValueName="Run",
            ),
            [
                Regmod(
                    "",
                    _AT_US,
                    RegistryOperation.DELETED_VALUE,
                    "\\registry\\machine\\SOFTWARE\\Ledger\\Run",
                )
            ],
        ),
        (
            _row("ImageLoaded", FolderPath="C:\\a.dll", FileName="a.dll", SHA256=_SHA256),
            [Modload("", _AT_US, "C:\\a.dll", "", _SHA256)],
        ),
        (
            _row(
                "ConnectionSuccess",
                RemoteIP="203.0.113.9",
                RemotePort=443,
                RemoteUrl="https://cdn.example/x?y=1",
                LocalIP="10.20.30.41",
                LocalPort=50200,
                Protocol="Tcp",
            ),
            [
                Netconn(
                    "",
                    _AT_US,
                    1,
                    6,
                    pack_address("10.20.30.41"),
                    50200,
                    pack_address("203.0.113.9"),
                    443,
                    "cdn.example",
                )
            ],
        ),
        (
            _row(
                "InboundConnectionAccepted",
                RemoteIP="203.0.113.9",
                RemotePort="40000",
                LocalIP="10.20.30.41",
                LocalPort="3389",
                Protocol="TcpV4",
            ),
            [
                Netconn(
                    "",
                    _AT_US,
                    0,
                    6,
                    pack_address("10.20.30.41"),
                    3389,
                    pack_address("203.0.113.9"),
                    40000,
                )
            ],
        ),
    ],
    ids=["created", "deleted", "renamed", "value", "no value", "image", "out", "in"],
)
def test_a_row_of_each_table_becomes_its_events(row: Any, expected: list[Any]) -> None:
    found = [one for one in _made(row) if type(one) is type(expected[0])]
    for one in found:
        one.process_id = ""
    assert found == expected


@pytest.mark.parametrize(
    "row",
    [
        _row("ListeningConnectionCreated", LocalPort=80),
        _row("LogonSuccess"),
        _row("FileCreated", FolderPath="C:\\a", InitiatingProcessId=None),
    ],
    ids=["listener", "logon", "no process"],
)
def test_what_is_no_event_of_a_process_makes_none(row: Any) -> None:
    assert _made(row) == []


def test_the_records_of_a_container_are_accepted_and_rejected_one_by_one() -> None:
    rows = [_streamed(_START), {"category": "x"}, _streamed(_START | {"Timestamp": "soon"})]
    pieces = split_body(json.dumps({"records": rows}).encode())
    reasons = []
    for piece in pieces:
        try:
            decode(piece)
            reasons.append("")
        except RecordError as error:
            reasons.append(error.reason)
    assert reasons == ["", "unknown_format", "bad_time"]


def test_a_container_that_is_one_document_names_the_record_that_is_bad() -> None:
    good = {"records": [_streamed(_START), _streamed(_START)]}
    assert len(decode(json.dumps(good).encode())) == 2
    bad = {"records": [_streamed(_START), _streamed(_START | {"DeviceName": ""})]}
    with pytest.raises(RecordError) as refused:
        decode(json.dumps(bad).encode())
    assert (refused.value.reason, refused.value.message[:10]) == ("no_host", "records[1]")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"DeviceName": ""}, "no_host"),
        ({"Timestamp": "soon"}, "bad_time"),
        ({"Timestamp": None}, "no_time"),
        ({"ProcessId": None}, "bad_process"),
    ],
)
def test_a_row_without_its_mandatory_columns_is_rejected(change: Any, reason: str) -> None:
    with pytest.raises(RecordError) as refused:
        decode(json.dumps(_START | change).encode())
    assert refused.value.reason == reason


@pytest.mark.parametrize("value", [None, -1, "x" * 70_000, [], [[1]], {"a": []}, True, 1e300])
def test_a_column_of_a_wrong_type_does_not_raise(value: Any) -> None:
    for name in _START:
        try:
            records = decode(json.dumps(_START | {name: value}).encode())
        except RecordError:
            continue
        outcomes(*records, ctx=HostContext(SENSOR_ID))


def test_two_rows_with_one_report_id_have_numbers_of_their_own() -> None:
    other = _START | {"Timestamp": "2024-01-02T03:04:06.0000000Z"}
    numbers = {decode(json.dumps(row).encode())[0].record_id for row in (_START, other)}
    assert len(numbers) == 2
    assert 0 not in numbers
