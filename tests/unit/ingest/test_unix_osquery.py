"""osquery results: what the event tables tell of processes."""

import json
from typing import Any

import pytest

from tests.unit.ingest.unix_records import normalised, of_path, only, records_of
from vedette.ingest.platform import os_type_of
from vedette.ingest.record import RecordError
from vedette.model.address import address_text
from vedette.model.event import (
    BinarySeen,
    ChildKind,
    Childproc,
    Dnsquery,
    Facts,
    Filemod,
    FileOperation,
    Kept,
    Netconn,
)


def result(table: str, /, change: Any = "added", **columns: Any) -> dict[str, Any]:
    texts = {name: str(value) for name, value in columns.items()}
    return {
        "name": f"pack_edr_{table}",
        "hostIdentifier": "6F2B",
        "decorations": {"hostname": "Mail1.example"},
        "unixTime": 1_700_000_500,
        "action": change,
        "columns": texts,
    }


def started(**more: Any) -> dict[str, Any]:
    columns: dict[str, Any] = {
        "pid": 20,
        "parent": 10,
        "path": "/bin/ls",
        "cmdline": "ls -l",
        "uid": 5,
    }
    return result("process_events", **{"time": 1_700_000_000, "syscall": "execve"} | columns | more)


def test_process_events_start_processes_by_pid_and_time() -> None:
    out = normalised(started())
    _, values = of_path(out, "/bin/ls")
    assert (values["cmdline"], values["process_pid"], values["uid"]) == ("ls -l", 20, "5")
    assert values["start"] == 1_700_000_000_000_000
    assert [c.kind for c in only(Childproc, out)] == [ChildKind.OTHER_EXEC]


SIGNED_BY = {"subject_name": "Corp Ltd", "issuer_name": "Corp CA"}


@pytest.mark.parametrize(
    ("joined", "known"),
    [
        ({**SIGNED_BY, "result": "trusted"}, "Signed"),
        ({"subject_name": "", "result": "missing"}, "Unsigned"),
        ({**SIGNED_BY, "result": "untrusted"}, "Untrusted Root"),
        ({**SIGNED_BY, "result": "distrusted"}, "Explicit Distrust"),
        ({**SIGNED_BY, "result": "invalid"}, "Bad Signature"),
        ({**SIGNED_BY, "result": "valid"}, ""),
        ({**SIGNED_BY, "result": "no such word"}, ""),
        ({"result": "trusted"}, ""),
        ({"signed": 1, "authority": "Corp Ltd"}, "Signed"),
        ({"signed": 0, "authority": ""}, "Unsigned"),
        ({"signed": 1, "authority": ""}, "Unsigned"),  # ad hoc
        ({}, ""),
    ],
)
def test_joined_tables_tell_of_signature_and_version(joined: dict[str, Any], known: str) -> None:
    (seen,) = only(BinarySeen, normalised(started(md5="ab" * 16, file_version="1.2", **joined)))
    assert seen.values.get("digsig_result", "") == known
    assert seen.values["file_version"] == "1.2"
    assert seen.values.get("digsig_publisher", "") == (
        joined.get("subject_name") or joined.get("authority", "")
    )


def executed(**more: Any) -> dict[str, Any]:
    columns: dict[str, Any] = {
        "event_type": "exec",
        "pid": 20,
        "pidversion": 7,
        "parent": 10,
        "path": "/opt/curl",
        "cmdline": "curl",
        "time": 1_700_000_000,
        "signing_id": "org.curl",
        "cdhash": "12" * 20,
    }
    return result("es_process_events", **columns | more)


@pytest.mark.parametrize(
    ("reported", "known"),
    [
        ({"team_id": "EQHXZ8M8AV"}, ("Signed", "EQHXZ8M8AV")),
        ({"team_id": "", "platform_binary": 1}, ("Signed", "Apple Inc.")),
        ({"team_id": "", "platform_binary": 0}, ("", "")),
        (
            {"team_id": "EQHXZ8M8AV", "codesigning_flags": "NOT_VALID"},
            ("Bad Signature", "EQHXZ8M8AV"),
        ),
        ({"codesigning_flags": "ADHOC, NOT_RUNTIME"}, ("Unsigned", "")),
        ({"cdhash": "0" * 40}, ("Unsigned", "")),
        ({"cdhash": ""}, ("Unsigned", "")),
    ],
)
def test_endpoint_security_rows_tell_of_the_signature_where_hashes_are_joined(
    reported: dict[str, Any], known: tuple[str, str]
) -> None:
    out = normalised(executed(sha256="ab" * 32, **reported))
    (seen,) = only(BinarySeen, out)
    assert (seen.sha256, seen.path) == ("ab" * 32, "/opt/curl")
    worth, publisher = known
    assert seen.values.get("digsig_result", "") == worth
    assert seen.values.get("digsig_publisher", "") == publisher
    assert (seen.values["digsig_prog_name"], seen.values["is_executable_image"]) == (
        "org.curl",
        "1",
    )
    assert of_path(out, "/opt/curl")[1]["process_sha256"] == "ab" * 32


def test_without_a_hash_of_the_file_a_row_makes_no_binary() -> None:
    out = normalised(executed(team_id="EQHXZ8M8AV"))
    assert only(BinarySeen, out) == []
    assert of_path(out, "/opt/curl")[1]["creation_observed"] == 1


def test_the_host_is_the_name_that_decorations_give() -> None:
    (record,) = records_of(started())
    assert (record.host, record.channel) == ("mail1.example", "process_events")
    bare = {name: value for name, value in started().items() if name != "decorations"}
    assert records_of(bare)[0].host == "6f2b"


def test_snapshots_batches_and_logger_requests_are_many_rows() -> None:
    row = started()["columns"]
    common = {"name": "process_events", "hostIdentifier": "h", "unixTime": 1_700_000_000}
    snapshot = {**common, "action": "snapshot", "snapshot": [row, row]}
    batch = {**common, "diffResults": {"added": [row], "removed": [row, row]}}
    request = {"node_key": "k", "log_type": "result", "data": [snapshot, batch]}
    assert [len(records_of(one)) for one in (snapshot, batch, request)] == [2, 1, 3]


def test_rows_that_went_away_are_no_events() -> None:
    assert records_of(result("process_events", change="removed", pid=1)) == []


def test_a_table_is_known_by_its_columns_whatever_the_query_is_called() -> None:
    (record,) = records_of({**started(), "name": "everything that starts"})
    assert record.channel == "process_events"


@pytest.mark.parametrize(
    ("columns", "wanted"),
    [
        ({"action": "connect", "remote_address": "1.2.3.4", "remote_port": 443}, (1, 6)),
        ({"action": "accept", "remote_address": "1.2.3.4", "protocol": 17}, (0, 17)),
        ({"action": "connect", "remote_address": "1.2.3.4", "status": "failed"}, None),
        ({"action": "connect", "remote_address": "1.2.3.4", "status": "in_progress"}, (1, 6)),
        ({"action": "connect", "remote_address": "", "family": 1}, None),
    ],
)
def test_sockets_become_connections(
    columns: dict[str, Any], wanted: tuple[int, int] | None
) -> None:
    shared = {"pid": 20, "path": "/bin/nc", "family": 2, "local_address": "10.0.0.1"}
    out = only(
        Netconn, normalised(result("socket_events", **{**shared, "local_port": 999, **columns}))
    )
    assert [(n.outbound, n.protocol) for n in out] == ([wanted] if wanted else [])
    assert {address_text(n.remote_ip) for n in out} <= {"1.2.3.4"}


def test_an_event_of_a_process_that_started_before_is_its_own() -> None:
    connect = result(
        "socket_events",
        pid=20,
        action="connect",
        family=2,
        remote_address="1.2.3.4",
        time=1_700_000_009,
    )
    for order in ((started(), connect), (connect, started())):
        out = normalised(*order)
        assert only(Netconn, out)[0].process_id == of_path(out, "/bin/ls")[0]


@pytest.mark.parametrize(
    ("operation", "wanted"),
    [
        ("create", [(FileOperation.CREATED, "/a")]),
        ("write", [(FileOperation.FIRST_WRITE, "/a")]),
        ("unlink", [(FileOperation.DELETED, "/a")]),
        ("rename", [(FileOperation.DELETED, "/a"), (FileOperation.CREATED, "/b")]),
        ("open", []),
    ],
)
def test_process_file_events_become_filemods(operation: str, wanted: list[Any]) -> None:
    row: dict[str, Any] = {"pid": 2, "executable": "/bin/x", "path": "/a", "dest_path": "/b"}
    out = normalised(result("process_file_events", operation=operation, **row))
    assert [(f.operation, f.path) for f in only(Filemod, out)] == wanted


def test_file_events_without_a_process_are_kept() -> None:
    (kept,) = normalised(
        result("file_events", target_path="/etc/passwd", action="UPDATED", md5="x")
    )
    assert isinstance(kept, Kept)
    assert kept.fields["target_path"] == "/etc/passwd"


def test_macos_processes_are_found_again_by_pid_and_version() -> None:
    shared: dict[str, Any] = {
        "pid": 30,
        "pidversion": 900,
        "path": "/bin/zsh",
        "parent": 1,
        "cdhash": "c",
    }
    execs = result(
        "es_process_events", event_type="exec", cmdline="zsh -l", time=1_700_000_000, **shared
    )
    exits = result(
        "es_process_events", event_type="exit", exit_code=3, time=1_700_000_005, **shared
    )
    _, values = of_path(normalised(exits, execs), "/bin/zsh")
    assert (values["cmdline"], values["exit_status"], values["terminated"]) == ("zsh -l", "3", 1)
    assert os_type_of(records_of(execs)[0]) == "osx"


def test_windows_processes_start_and_stop() -> None:
    begins = result(
        "process_etw_events",
        type="ProcessStart",
        pid=44,
        ppid=4,
        path="C:\\a.exe",
        cmdline="a",
        datetime="2023-11-14T22:13:20.5Z",
    )
    ends = result(
        "process_etw_events",
        type="ProcessStop",
        pid=44,
        ppid=4,
        exit_code=1,
        datetime="2023-11-14T22:13:29Z",
        cmdline="",
    )
    out = normalised(begins, ends)
    _, values = of_path(out, "C:\\a.exe")
    assert (values["cmdline"], values["exit_status"]) == ("a", "1")
    assert [c.started for c in only(Childproc, out)] == [1, 0]


def test_dns_answers_name_later_connections() -> None:
    answer = result(
        "dns_lookup_events",
        pid=44,
        path="C:\\a.exe",
        name="evil.example",
        response="::ffff:1.2.3.4;",
        datetime="2023-11-14T22:13:20Z",
    )
    connect = result(
        "socket_events",
        pid=44,
        action="connect",
        family=2,
        remote_address="1.2.3.4",
        time=1_700_000_009,
    )
    out = normalised(answer, connect)
    assert [q.name for q in only(Dnsquery, out)] == ["evil.example"]
    assert [n.domain for n in only(Netconn, out)] == ["evil.example"]


def test_windows_events_become_event_log_records() -> None:
    data = {"EventData": {"UtcTime": "2023-11-14 22:13:20.000", "Image": "C:\\a.exe"}}
    (record,) = records_of(
        result(
            "windows_events",
            eventid=1,
            source="Microsoft-Windows-Sysmon/Operational",
            computer_name="PC1.example",
            provider_name="Microsoft-Windows-Sysmon",
            datetime="2023-11-14T22:13:20.1Z",
            data=json.dumps(data),
        )
    )
    assert (record.vedette_record, record.event_id, record.host) == ("windows", 1, "pc1.example")
    assert record.data["Image"] == "C:\\a.exe"


def test_rows_of_other_tables_are_not_kept() -> None:
    assert normalised(result("installed_packages", package="vim")) == []


def test_a_result_without_host_is_refused() -> None:
    with pytest.raises(RecordError, match="hostIdentifier"):
        records_of({**started(), "decorations": {}, "hostIdentifier": ""})


@pytest.mark.parametrize("wrong", ["x", "-1", "99999999999999999999", [], None])
def test_values_of_wrong_types_never_raise(wrong: Any) -> None:
    for table in ("process_events", "socket_events", "es_process_events", "process_etw_events"):
        row = dict.fromkeys(("pid", "parent", "path", "remote_port", "event_type"), wrong)
        out = normalised({**result(table), "columns": row})
        assert all(isinstance(one, Facts | Childproc | Netconn | Kept) for one in out)
