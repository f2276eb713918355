"""Santa's log lines and JSON events."""

import base64
from typing import Any

import pytest

from tests.unit.ingest.unix_records import normalised, of_path, only, records_of
from vedette.ingest.record import RecordError
from vedette.model.event import (
    BinarySeen,
    ChildKind,
    Childproc,
    Filemod,
    FileOperation,
    Kept,
    Processblock,
)

SHA = "ab" * 32


def line(fields: str, at: str = "2024-01-01T10:00:00.250Z") -> str:
    return f"[{at}] I santad: {fields}"


def test_exec_starts_a_process_with_its_hash() -> None:
    out = normalised(
        line(
            f"action=EXEC|decision=ALLOW|reason=CERT|sha256={SHA}|cert_cn=Software Signing|pid=12|"
            "pidversion=90|ppid=1|uid=501|user=ann|path=/bin/ls|args=ls -l <pipe> x\\ny"
        )
    )
    _, values = of_path(out, "/bin/ls")
    assert values["cmdline"] == "ls -l | x\ny"
    assert (values["process_sha256"], values["username"], values["uid"]) == (SHA, "ann", "501")
    assert values["process_guid"] == "12:90"
    (seen,) = only(BinarySeen, out)
    assert (seen.sha256, seen.path) == (SHA, "/bin/ls")
    assert seen.values == {"digsig_publisher": "Software Signing", "is_executable_image": "1"}


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ("action=WRITE|path=/a", [(FileOperation.LAST_WRITE, "/a")]),
        ("action=DELETE|path=/a", [(FileOperation.DELETED, "/a")]),
        (
            "action=RENAME|path=/a|newpath=/b",
            [(FileOperation.DELETED, "/a"), (FileOperation.CREATED, "/b")],
        ),
        ("action=LINK|path=/a|newpath=/b", [(FileOperation.CREATED, "/b")]),
    ],
)
def test_file_actions_become_filemods(fields: str, wanted: list[Any]) -> None:
    out = normalised(line(f"{fields}|pid=12|ppid=1|process=ls|processpath=/bin/ls|uid=0"))
    assert [(f.operation, f.path) for f in only(Filemod, out)] == wanted
    assert of_path(out, "/bin/ls")[1]["process_pid"] == 12


def test_an_exit_ends_the_process_of_its_pid_and_version() -> None:
    starts = "action=EXEC|decision=ALLOW|pid=12|pidversion=90|ppid=1|path=/bin/ls"
    ends = line("action=EXIT|pid=12|pidversion=90|ppid=1|uid=0", "2024-01-01T10:00:09.000Z")
    _, values = of_path(normalised(ends, line(starts)), "/bin/ls")
    assert values["end_time"] - values["start"] == 8_750_000


def test_after_a_reboot_the_same_pid_and_version_is_another_process() -> None:
    starts = "action=EXEC|decision=ALLOW|pid=12|pidversion=90|ppid=1|path=/bin/{}"
    written = "action=WRITE|path=/a|pid=12|pidversion=90|ppid=1|processpath=/bin/b"
    out = normalised(
        line(starts.format("a")),
        line(starts.format("b"), "2024-01-09T10:00:00.000Z"),
        line(written, "2024-01-09T10:00:01.000Z"),
    )
    assert only(Filemod, out)[0].process_id == of_path(out, "/bin/b")[0]
    assert of_path(out, "/bin/a")[0] != of_path(out, "/bin/b")[0]


def test_a_fork_is_a_child_of_its_parent() -> None:
    out = normalised(line("action=FORK|pid=20|pidversion=91|ppid=12|uid=0|gid=0"))
    assert [(c.pid, c.kind) for c in only(Childproc, out)] == [(20, ChildKind.FORK)]


def test_a_denied_execution_blocks_at_its_parent() -> None:
    out = normalised(
        line(f"action=EXEC|decision=DENY|sha256={SHA}|pid=13|ppid=12|path=/tmp/evil|args=evil -x")
    )
    (block,) = only(Processblock, out)
    assert (block.path, block.command_line, block.sha256) == ("/tmp/evil", "evil -x", SHA)


def test_json_events_say_the_same_as_lines() -> None:
    execution = {
        "machine_id": "MAC-1",
        "event_time": "2024-01-01T10:00:00.250Z",
        "execution": {
            "instigator": {"id": {"pid": 1, "pidversion": 3}},
            "target": {
                "id": {"pid": 12, "pidversion": 90},
                "parent_id": {"pid": 1, "pidversion": 3},
                "original_parent_pid": 1,
                "real_user": {"uid": 501, "name": "ann"},
                "executable": {"path": "/bin/ls", "hash": {"hash": SHA}},
            },
            "args": [base64.b64encode(word).decode() for word in (b"ls", b"-l")],
            "decision": "DECISION_ALLOW",
        },
    }
    text = line(
        f"action=EXEC|decision=ALLOW|sha256={SHA}|pid=12|pidversion=90|ppid=1|uid=501|user=ann|"
        "path=/bin/ls|args=ls -l"
    )
    camel = {**execution, "eventTime": execution.pop("event_time"), "machineId": "MAC-1"}
    assert records_of(camel)[0].host == "mac-1"
    assert of_path(normalised(camel), "/bin/ls") == of_path(normalised(text), "/bin/ls")


def test_the_machine_id_is_the_host_when_nothing_else_is() -> None:
    (record,) = records_of(line("action=DISKAPPEAR|mount=/V|machineid=C02X"), host="")
    assert record.host == "c02x"
    with pytest.raises(RecordError, match="has no host"):
        records_of(line("action=DISKAPPEAR|mount=/V"), host="")


def test_other_actions_are_kept_as_records() -> None:
    (kept,) = normalised(line("action=DISKAPPEAR|mount=/Volumes/X|volume=X|bus=USB"))
    assert isinstance(kept, Kept)
    assert kept.fields["mount"] == "/Volumes/X"
