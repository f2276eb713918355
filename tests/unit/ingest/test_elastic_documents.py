"""Documents of Elastic Defend and Auditbeat become the events of their processes."""

import json
from base64 import b64encode
from itertools import permutations
from typing import Any

import pytest

from tests.unit.detect.rules import rule
from tests.unit.ingest.normalise.events import SENSOR_ID, outcomes
from vedette.detect.rule_set import RuleSet
from vedette.detect.views.unix import events_of_outcomes
from vedette.ingest.context.host_context import HostContext
from vedette.ingest.decode import decode
from vedette.ingest.platform import os_type_of
from vedette.ingest.record import Record, RecordError
from vedette.model.address import pack_address
from vedette.model.event import (
    BinarySeen,
    ChildKind,
    Childproc,
    Dnsquery,
    Facts,
    Filemod,
    FileOperation,
    Kept,
    Modload,
    Netconn,
    RegistryOperation,
    Regmod,
)

_AT = "2024-01-02T03:04:05.6789012Z"
_AT_US = 1_704_164_645_678_901
_START_US = 1_704_164_640_250_000
_FILETIME_S = 1_704_164_640 + 11_644_473_600
_MD5, _SHA1, _SHA256 = "a" * 32, "b" * 40, "c" * 64


def _key(pid: int) -> str:
    agent = "0a1b2c3d-0000-4000-8000-000000000001"
    return b64encode(f"{agent}-{pid}-{_FILETIME_S}.250000000".encode()).decode()


_PARENT = {"entity_id": _key(600), "pid": 600, "executable": "C:\\Windows\\explorer.exe"}
_PROCESS: dict[str, Any] = {
    "entity_id": _key(4312),
    "pid": 4312,
    "executable": "C:\\tools\\sync.exe",
    "command_line": '"C:\\tools\\sync.exe" --all',
    "args": ["C:\\tools\\sync.exe", "--all"],
    "working_directory": "C:\\tools\\",
    "hash": {"md5": _MD5, "sha1": _SHA1, "sha256": _SHA256},
    "pe": {"original_file_name": "SYNC.EXE"},
    "code_signature": {"exists": True, "trusted": True, "subject_name": "Northwind Traders"},
    "Ext": {"token": {"integrity_level_name": "high"}, "authentication_id": "0x3E7"},
    "parent": _PARENT,
}


def _defend(
    category: str, action: str, kind: str, process: Any = None, **members: Any
) -> dict[str, Any]:
    document = {
        "@timestamp": _AT,
        "agent": {"type": "endpoint"},
        "event": {"module": "endpoint", "category": [category], "action": action, "type": [kind]},
        "host": {
            "hostname": "Desk-31",
            "name": "desk-31",
            "os": {"type": "windows"},
            "ip": ["10.20.30.41", "127.0.0.1"],
            "mac": ["02-00-5E-00-53-01"],
        },
        "process": process or {"entity_id": _key(4312), "pid": 4312},
        "user": {"domain": "NORTHWIND", "name": "mira", "id": "S-1-5-21-11-22-33-1104"},
    }
    return document | members


_START = _defend("process", "start", "start", _PROCESS)


def _record(document: Any) -> Record:
    (record,) = decode(json.dumps(document).encode())
    return record


def _made(*documents: Any) -> list[Any]:
    return outcomes(*map(_record, documents), ctx=HostContext(SENSOR_ID))


def _only(kind: type, *documents: Any) -> Any:
    (found,) = [one for one in _made(*documents) if isinstance(one, kind)]
    return found


def _values(found: list[Any], process_id: str) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for one in found:
        if isinstance(one, Facts) and one.process_id == process_id:
            merged |= one.values
    return merged


def test_a_start_has_the_metadata_of_the_process_its_parent_and_its_image() -> None:
    record = _record(_START)
    assert (record.host, record.time_us, os_type_of(record)) == ("desk-31", _AT_US, "windows")
    assert record.adapters == "10.20.30.41,02005e005301|"
    found = _made(_START)
    child = next(one for one in found if isinstance(one, Childproc))
    values = _values(found, child.child_id)
    expected = {
        "path": "C:\\tools\\sync.exe",
        "process_pid": 4312,
        "cmdline": '"C:\\tools\\sync.exe" --all',
        "username": "NORTHWIND\\mira",
        "uid": "S-1-5-21-11-22-33-1104",
        "process_md5": _MD5,
        "process_sha256": _SHA256,
        "original_filename": "SYNC.EXE",
        "integrity_level": "High",
        "logon_id": "0x3e7",
        "current_directory": "C:\\tools\\",
        "parent_pid": 600,
        "parent_path": "C:\\Windows\\explorer.exe",
        "start": _START_US,
        "creation_observed": 1,
    }
    assert {name: values.get(name) for name in expected} == expected
    assert (child.started, child.kind, child.path) == (1, ChildKind.OTHER, "C:\\tools\\sync.exe")
    image = next(one for one in found if isinstance(one, BinarySeen))
    assert image.values["digsig_publisher"] == "Northwind Traders"
    assert image.values["digsig_result"] == "Signed"


def test_an_event_is_of_the_process_that_its_entity_id_names_in_every_order() -> None:
    written = {"path": "C:\\ledger\\a.txt"}
    file = _defend("file", "creation", "creation", file=written)
    ids = {
        _only(Filemod, *documents).process_id
        for documents in ((file,), (_START, file), (file, _START))
    }
    assert len(ids) == 1


def test_the_order_of_documents_in_a_batch_does_not_matter() -> None:
    actor = {"entity_id": _key(4312), "pid": 4312, "executable": "C:\\tools\\sync.exe"}
    parent = _defend("process", "start", "start", _PARENT)
    documents = [
        parent,
        _START,
        _defend("file", "creation", "creation", actor, file={"path": "C:\\a.txt"}),
        _defend(
            "network",
            "lookup_result",
            "info",
            actor,
            dns={"question": {"name": "cdn.example"}, "resolved_ip": "203.0.113.9"},
        ),
        _defend(
            "network",
            "connection_attempted",
            "start",
            actor,
            network={"transport": "tcp"},
            source={"ip": "10.20.30.41", "port": 50200},
            destination={"ip": "203.0.113.9", "port": 443},
        ),
    ]
    made = {
        tuple(sorted(repr(one) for one in _made(*some) if not isinstance(one, Facts)))
        for some in permutations(documents)
    }
    assert len(made) == 1
    assert any("domain='cdn.example'" in one for one in made.pop())


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (
            _defend("file", "creation", "creation", file={"path": "C:\\a.dll"}),
            Filemod("", _AT_US, FileOperation.CREATED, "C:\\a.dll", file_type=1),
        ),
        (
            _defend("file", "overwrite", "change", file={"path": "C:\\a.txt"}),
            Filemod("", _AT_US, FileOperation.FIRST_WRITE, "C:\\a.txt"),
        ),
        (
            _defend("file", "deletion", "deletion", file={"path": ["C:\\a.txt"]}),
            Filemod("", _AT_US, FileOperation.DELETED, "C:\\a.txt"),
        ),
        (
            _defend(
                "registry",
                "modification",
                "change",
                registry={
                    "path": "HKLM\\Software\\Ledger\\Run",
                    "value": "Run",
                    "data": {"strings": ["C:\\tools\\sync.exe"], "type": "REG_SZ"},
                },
            ),
            Regmod(
                "",
                _AT_US,
                RegistryOperation.WRITTEN,
                "\\registry\\machine\\Software\\Ledger\\Run",
                "C:\\tools\\sync.exe",
            ),
        ),
        (
            _defend(
                "library",
                "load",
                "start",
                dll={
                    "path": "C:\\tools\\sync.dll",
                    "hash": {"sha256": _SHA256},
                    "code_signature": [{"exists": False}],
                },
            ),
            Modload("", _AT_US, "C:\\tools\\sync.dll", "", _SHA256, "", "Unsigned"),
        ),
        (
            _defend(
                "network",
                "connection_attempted",
                "start",
                network={"transport": "tcp", "direction": "egress"},
                source={"ip": "10.20.30.41", "port": 50200},
                destination={"ip": "203.0.113.9", "port": 443, "domain": "cdn.example"},
            ),
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
            ),
        ),
        (
            _defend(
                "network",
                "connection_accepted",
                "start",
                network={"transport": "tcp", "direction": "ingress"},
                source={"ip": "203.0.113.9", "port": 40000},
                destination={"ip": "10.20.30.41", "port": 3389},
            ),
            Netconn(
                "",
                _AT_US,
                0,
                6,
                pack_address("10.20.30.41"),
                3389,
                pack_address("203.0.113.9"),
                40000,
            ),
        ),
        (
            _defend(
                "network",
                "lookup_result",
                "info",
                dns={"question": {"name": "cdn.example"}, "resolved_ip": ["203.0.113.9"]},
            ),
            Dnsquery("", _AT_US, "cdn.example", 0, "203.0.113.9;"),
        ),
    ],
    ids=["created", "written", "deleted", "key", "library", "out", "in", "query"],
)
def test_an_event_of_each_category_becomes_one_event(document: Any, expected: Any) -> None:
    found = _only(type(expected), document)
    found.process_id = ""
    assert found == expected


def test_a_renamed_file_is_deleted_under_its_old_name() -> None:
    file = {"path": "C:\\b.exe", "Ext": {"original": {"path": "C:\\a.tmp"}}}
    found = _made(_defend("file", "rename", "change", file=file))
    files = [(one.operation, one.path) for one in found if isinstance(one, Filemod)]
    assert files == [(FileOperation.DELETED, "C:\\a.tmp"), (FileOperation.CREATED, "C:\\b.exe")]


def test_an_end_ends_the_process_that_started() -> None:
    ended = {"entity_id": _key(4312), "pid": 4312, "exit_code": 3, "parent": _PARENT}
    found = _made(_START, _defend("process", "end", "end", ended))
    starts = [one for one in found if isinstance(one, Childproc)]
    assert [one.started for one in starts] == [1, 0]
    assert len({one.child_id for one in starts}) == 1
    values = _values(found, starts[0].child_id)
    assert (values["terminated"], values["exit_status"]) == (1, "3")


@pytest.mark.parametrize(
    "document",
    [
        _defend("network", "disconnect_received", "end", source={"ip": "10.0.0.1"}),
        _defend("registry", "query", "access", registry={"path": "HKLM\\a"}),
        _defend("file", "open", "access", file={"path": "C:\\a"}),
        _defend("api", "VirtualAllocEx", "change"),
        _defend("process", "start", "start", _PROCESS)
        | {"event": {"module": "endpoint", "kind": "alert", "category": ["process"]}},
    ],
    ids=["disconnect", "query", "open", "api", "alert"],
)
def test_what_is_no_event_of_the_model_makes_none(document: Any) -> None:
    assert [one for one in _made(document) if not isinstance(one, Kept)] == []


@pytest.mark.parametrize(
    ("category", "detection", "document"),
    [
        (
            "process_creation",
            "    Image|endswith: '\\sync.exe'\n    CommandLine|contains: ' --all'\n"
            "    ParentImage|endswith: '\\explorer.exe'\n    IntegrityLevel: High\n"
            f"    Hashes|contains: 'SHA256={_SHA256}'\n    OriginalFileName: SYNC.EXE\n",
            _START,
        ),
        (
            "registry_set",
            "    TargetObject|startswith: 'HKLM\\Software\\Ledger'\n"
            "    Details|endswith: sync.exe\n",
            _defend(
                "registry",
                "modification",
                "change",
                registry={"path": "HKLM\\Software\\Ledger\\Run", "data": {"strings": "sync.exe"}},
            ),
        ),
        (
            "image_load",
            "    ImageLoaded|endswith: '\\a.dll'\n    Signed: 'false'\n",
            _defend(
                "library",
                "load",
                "start",
                dll={"path": "C:\\a.dll", "code_signature": {"exists": False}},
            ),
        ),
    ],
    ids=["start", "key", "library"],
)
def test_rules_over_windows_ask_these_events(category: str, detection: str, document: Any) -> None:
    judged = RuleSet([rule(f"  a:\n{detection}  condition: a\n", category=category)])
    record = _record(document)
    made = outcomes(record, ctx=HostContext(SENSOR_ID))
    events = list(events_of_outcomes(record, made, "windows"))
    assert sum(len(judged.firing(event)) for event in events) == 1


# --- Auditbeat -----------------------------------------------------------------------------


def _auditbeat(module: str, dataset: str, action: Any, **members: Any) -> dict[str, Any]:
    return {
        "@timestamp": "2024-01-02T05:04:05.678+02:00",
        "agent": {"type": "auditbeat"},
        "event": {"module": module, "dataset": dataset, "action": action},
        "host": {"name": "web-7", "os": {"platform": "debian", "kernel": "6.1.0"}},
    } | members


_SHELL = {
    "pid": 7001,
    "ppid": 1200,
    "entity_id": "Zm9v",
    "executable": "/bin/sh",
    "args": ["sh", "-c", "id"],
    "start": "2024-01-02T03:04:05.500Z",
    "working_directory": "/srv",
    "hash": {"sha1": _SHA1},
}


def test_a_process_of_auditbeat_starts_with_its_arguments() -> None:
    document = _auditbeat(
        "system", "process", "process_started", process=_SHELL, user={"name": "www-data"}
    )
    record = _record(document)
    assert (record.host, os_type_of(record), record.time_us) == ("web-7", "linux", _AT_US - 901)
    found = _made(document)
    facts = next(one for one in found if isinstance(one, Facts) and "cmdline" in one.values)
    assert facts.values["cmdline"] == "sh -c id"
    assert (facts.values["username"], facts.values["parent_pid"]) == ("www-data", 1200)
    assert facts.values["creation_observed"] == 1


def test_a_process_that_ran_before_auditbeat_is_known_and_no_start() -> None:
    found = _made(_auditbeat("system", "process", "existing_process", process=_SHELL))
    values = [one.values for one in found if isinstance(one, Facts)]
    assert any(one.get("cmdline") == "sh -c id" for one in values)
    assert not any("creation_observed" in one for one in values)


def test_a_flow_of_auditbeat_is_a_connection_of_its_process() -> None:
    document = _auditbeat(
        "system",
        "socket",
        "network_flow",
        process={"pid": 7001, "executable": "/bin/sh"},
        network={"direction": "egress", "transport": "tcp"},
        source={"ip": "10.0.0.7", "port": 40000},
        destination={"ip": "203.0.113.9", "port": 4444},
    )
    document["event"]["start"] = "2024-01-02T03:04:00.000Z"
    found = _only(Netconn, document)
    assert (found.outbound, found.remote_port) == (1, 4444)
    assert found.time_us == 1_704_164_640_000_000


def _call(name: str, **members: Any) -> dict[str, Any]:
    audit = {
        "message_type": "syscall",
        "sequence": 77,
        "result": "success",
        "data": {"syscall": name, "arch": "x86_64", "exit": "0", "a0": "55d0"},
        "paths": [{"item": "0", "name": "/tmp/run", "nametype": "CREATE"}],
    }
    process = {"pid": 7001, "parent": {"pid": 1200}, "executable": "/usr/bin/python3"}
    document = _auditbeat("auditd", "auditd.log", "executed", auditd=audit, process=process)
    return document | {"user": {"id": "33", "name": "www-data"}} | members


def test_an_execve_in_auditbeats_words_is_a_start_and_an_audit_event_for_rules() -> None:
    document = _call("execve")
    document["process"] |= {"args": ["python3", "/tmp/run"], "working_directory": "/srv"}
    record = _record(document)
    assert (record.vedette_record, record.channel) == ("auditd", "auditd")
    found = _made(document)
    facts = next(one for one in found if isinstance(one, Facts) and "cmdline" in one.values)
    expected = {
        "path": "/usr/bin/python3",
        "cmdline": "python3 /tmp/run",
        "username": "www-data",
        "current_directory": "/srv",
        "parent_pid": 1200,
    }
    assert {name: facts.values.get(name) for name in expected} == expected
    events = list(events_of_outcomes(record, found, "linux"))
    audit = [one.data for one in events if "linux//auditd" in one.sources]
    assert [one["type"] for one in audit][:2] == ["SYSCALL", "EXECVE"]
    assert audit[0]["SYSCALL"] == "execve"
    assert audit[1]["a1"] == "/tmp/run"


def test_a_file_that_a_call_creates_is_an_event() -> None:
    document = _call("openat")
    found = _only(Filemod, document)
    assert (found.operation, found.path) == (FileOperation.CREATED, "/tmp/run")


def test_arguments_of_a_process_are_no_execve_record_of_another_call() -> None:
    document = _call("connect")
    document["process"]["args"] = ["python3", "/tmp/run"]
    assert "EXECVE" not in _record(document).data


def test_a_failed_call_is_no_event() -> None:
    document = _call("execve")
    document["auditd"]["result"] = "fail"
    assert _made(document) == []


def test_file_integrity_without_a_process_makes_no_event() -> None:
    document = _auditbeat("file_integrity", "file", ["updated"], file={"path": "/etc/passwd"})
    assert _made(document) == []
    document["process"] = {"pid": 7001, "executable": "/usr/bin/vi"}
    found = _only(Filemod, document)
    assert (found.operation, found.path) == (FileOperation.FIRST_WRITE, "/etc/passwd")


def test_a_line_of_the_audit_log_in_filebeats_module_of_that_name_stays_a_line() -> None:
    document = _auditbeat("auditd", "auditd.log", "executed")
    document["message"] = 'type=USER_CMD msg=audit(1700000000.123:7): pid=7 exe="/usr/bin/sudo"'
    record = _record(document)
    assert (record.vedette_record, record.time_us) == ("auditd", 1_700_000_000_123_000)


# --- hostile input -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"host": {}, "agent": {"type": "endpoint"}}, "no_host"),
        ({"@timestamp": None}, "no_time"),
        ({"@timestamp": "soon"}, "bad_time"),
        ({"process": {"executable": "C:\\a.exe"}}, "bad_process"),
        ({"process": []}, "bad_process"),
    ],
)
def test_a_document_without_its_mandatory_members_is_rejected(change: Any, reason: str) -> None:
    with pytest.raises(RecordError) as refused:
        decode(json.dumps(_START | change).encode())
    assert refused.value.reason == reason


@pytest.mark.parametrize("value", [None, 0, -1, 1e300, "x" * 200_000, [], [[1]], {"a": []}, True])
@pytest.mark.parametrize("document", [_START, _call("execve")], ids=["defend", "auditbeat"])
def test_a_member_of_a_wrong_type_does_not_raise(document: Any, value: Any) -> None:
    for name in document:
        for inner in document[name] if isinstance(document[name], dict) else ():
            changed = document | {name: document[name] | {inner: value}}
            try:
                records = decode(json.dumps(changed).encode())
            except RecordError:
                continue
            for one in outcomes(*records, ctx=HostContext(SENSOR_ID)):
                assert one is not None


def test_a_record_of_the_native_format_may_hold_anything() -> None:
    for data in ({}, {"kind": []}, {"kind": "start", "process": 5}, {"kind": "file", "os": {}}):
        record = Record("endpoint", "a", 1, "x", data=dict(data))
        assert os_type_of(record) == ""
        assert [one for one in outcomes(record) if not isinstance(one, Kept)] == []


def test_a_key_of_another_pid_or_form_gives_no_start() -> None:
    for key in (_key(99), "x" * 10_000, "????", b64encode(b"\xff" * 60).decode()):
        document = _defend("process", "start", "start", _PROCESS | {"entity_id": key})
        starts = {one.values.get("start") for one in _made(document) if isinstance(one, Facts)}
        assert _AT_US in starts
