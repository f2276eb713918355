"""No stored byte holds what a sensor group hides, whatever format brings it."""

import json

import pytest

from tests.contract.pipeline.write_path import WritePath
from tests.support.sysmon import Host
from vedette.ingest.framing.audit_events import assemble_records
from vedette.ingest.framing.body import split_body
from vedette.model.privacy import GroupPrivacy, Privacy
from vedette.state.policy.groups import DEFAULT_GROUP_ID
from vedette.store.schema.tables import TABLES

SECRET = "Zq7mark9Secret"
NAME = "annabelmarker"
HIDING = GroupPrivacy(True, (r"Zq7\w+",))


def sysmon(host: Host) -> list[dict[str, object]]:
    user = f"CORP\\{NAME}"
    parent = host.process(50, f"C:\\Users\\{NAME}\\p.exe")
    child = host.process(60, f"C:\\Users\\{NAME}\\c.exe", f"c.exe --password {SECRET}")
    made = [host.created(child, parent)]
    made[0]["winlog"]["event_data"].update(User=user, ParentUser=user)
    target = f"C:\\Users\\{NAME}\\{SECRET}.txt"
    made.append(host.of(child, 11, 1, TargetFilename=target, User=user))
    made.append(host.of(child, 13, 1, TargetObject=f"HKU\\Run\\{SECRET}", Details=SECRET))
    made.append(host.of(child, 22, 1, QueryName=f"{SECRET}.example", QueryResults=SECRET))
    return made


def security(host: Host) -> list[dict[str, object]]:
    logon = host.record(
        4624,
        host.began_s,
        TargetUserName=NAME,
        TargetDomainName="CORP",
        SubjectUserName=NAME,
        ProcessName=f"C:\\Users\\{NAME}\\x.exe",
        LogonType="2",
        TargetUserSid="S-1-5-21-1-2-3-1001",
    )
    script = host.record(
        4104, host.began_s, ScriptBlockText=f"login {SECRET}", Path=f"C:\\Users\\{NAME}\\s.ps1"
    )
    logon["winlog"]["channel"] = "Security"
    script["winlog"]["channel"] = "Microsoft-Windows-PowerShell/Operational"
    module = host.record(
        4103,
        host.began_s,
        Payload="x",
        ContextInfo=f"Host = x\r\n User = CORP\\{NAME}\r\n Shell = y",
    )
    module["winlog"]["channel"] = "Microsoft-Windows-PowerShell/Operational"
    session = host.record(24, host.began_s, ClientInfo=f"user: CORP\\{NAME} ip: 192.0.2.4")
    return [logon, script, module, session]


def linux() -> list[bytes]:
    line = "node=l.example type={} msg=audit(1700049600.123:9): {}"
    lines = [
        line.format(
            "SYSCALL",
            "arch=c000003e syscall=59 success=yes exit=0 ppid=1 pid=77 auid=0 "
            f'uid=1000 comm="m" exe="/home/{NAME}/m" UID="{NAME}" AUID="{NAME}"',
        ),
        line.format("EXECVE", f'argc=3 a0="m" a1="--password" a2="{SECRET}"'),
        line.format("CWD", f'cwd="/home/{NAME}"'),
        line.format("PROCTITLE", "proctitle=" + f"m\0--password\0{SECRET}".encode().hex()),
    ]
    laurel = {
        "ID": "1700049601.5:10",
        "NODE": "l.example",
        "SYSCALL": {
            "syscall": 59,
            "success": "yes",
            "ppid": 1,
            "pid": 78,
            "uid": 1000,
            "exe": f"/home/{NAME}/m",
            "UID": NAME,
            "AUID": NAME,
        },
        "EXECVE": {"ARGV": ["m", "-p", SECRET]},
        "PROCTITLE": {"ARGV": ["m", "-p", SECRET]},
    }
    began_us = 1_700_049_600_000_000
    own = {
        "vedette_event": 1,
        "type": "start",
        "time_us": began_us,
        "host": "o.example",
        "proc": {"pid": 9, "start_us": began_us},
        "path": f"/home/{NAME}/x",
        "cmdline": f"x {SECRET}",
        "user": NAME,
        "cwd": f"/home/{NAME}",
    }
    table = {
        "name": "pack_processes",
        "hostIdentifier": "q.example",
        "unixTime": 1_700_049_600,
        "action": "added",
        "columns": {
            "pid": "5",
            "path": f"/home/{NAME}/q",
            "cmdline": f"q {SECRET}",
            "username": NAME,
            "start_time": "1700049600",
        },
    }
    audited, _ = assemble_records(split_body("\n".join(lines).encode()))
    return [*audited, *(json.dumps(one).encode() for one in (laurel, own, table))]


def stored_texts(path: WritePath) -> str:
    """Every value of every table. Stored claims begin with a rank, which is no text."""
    texts = []
    for table in TABLES:
        rows = path.engine.query(f"SELECT hex(toString(tuple(*))) FROM `{table.name}`").rows
        texts += [bytes.fromhex(row[0]).decode(errors="replace") for row in rows]
    return "\n".join(texts)


def send_all(path: WritePath) -> None:
    host = Host("w.example", began_s=1_700_049_000)
    for records in (sysmon(host), security(host)):
        assert not path.post(records).refusals
    for one in linux():
        assert not path.post([one]).refusals, one


def test_no_stored_value_holds_what_is_hidden(path: WritePath) -> None:
    path.processor.use_privacy(Privacy(b"key", {DEFAULT_GROUP_ID: HIDING}))
    send_all(path)
    found = stored_texts(path)
    assert SECRET.lower() not in found.lower()
    assert NAME not in found.lower()
    assert found.count("[secret-") > 5
    assert found.count("user-") > 5


def test_without_it_the_same_values_are_stored(path: WritePath) -> None:
    """That the test above looks where they would be."""
    send_all(path)
    found = stored_texts(path)
    assert found.count(SECRET) > 8
    assert found.lower().count(NAME) > 8


@pytest.mark.parametrize("hiding", [{}, {999: HIDING}])
def test_groups_that_hide_nothing_are_stored_as_they_are(
    path: WritePath, hiding: dict[int, GroupPrivacy]
) -> None:
    path.processor.use_privacy(Privacy(b"key", hiding))
    path.post(sysmon(Host("w.example", began_s=1_700_049_000)))
    assert SECRET in stored_texts(path)


def test_a_record_that_is_sent_again_is_a_duplicate_under_its_pseudonyms(path: WritePath) -> None:
    path.processor.use_privacy(Privacy(b"key", {DEFAULT_GROUP_ID: HIDING}))
    made = sysmon(Host("w.example", began_s=1_700_049_000))
    path.post(made)
    before = len(stored_texts(path))
    again = path.outcomes(made)
    assert {one.name for one in again} == {"DUPLICATE"}
    assert len(stored_texts(path)) == before
