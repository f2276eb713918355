"""audit.log, laurel and auoms: what their events report about processes."""

import json
import random
import time
from contextlib import suppress
from typing import Any

import pytest

from tests.unit.ingest.unix_records import (
    merged,
    normalised,
    of_path,
    only,
    outcomes_of,
    records_of,
)
from vedette.ingest.decode import decode
from vedette.ingest.decode.auditd import assemble_all, record_id_of
from vedette.ingest.record import RecordError
from vedette.limits import AUDIT_LINE_CHARS_MAX
from vedette.model.address import address_text
from vedette.model.event import (
    ChildKind,
    Childproc,
    Crossproc,
    Filemod,
    FileOperation,
    Kept,
    Modload,
    Netconn,
)


def call(
    serial: int,
    name: str,
    *,
    at: str = "1700000000.100",
    pid: int = 200,
    ppid: int = 100,
    exe: str = "/usr/bin/bash",
    exit_code: str = "0",
    success: str = "yes",
    args: tuple[str, ...] = ("0", "0", "0", "0"),
    parts: tuple[str, ...] = (),
) -> str:
    """The lines of one event, ENRICHED."""
    head = f"audit({at}:{serial}):"
    words = " ".join(f"a{i}={value}" for i, value in enumerate(args))
    lines = [
        f"type=SYSCALL msg={head} arch=c000003e syscall=999 success={success} exit={exit_code} "
        f'{words} items=1 ppid={ppid} pid={pid} auid=1000 uid=1000 comm="x" exe="{exe}" '
        f'key="k"\x1dARCH=x86_64 SYSCALL={name} AUID="ann" UID="ann"'
    ]
    return "\n".join(lines + [f"{part.replace(' ', f' msg={head} ', 1)}" for part in parts])


def execve(serial: int, *argv: str, exe: str, **rest: Any) -> str:
    words = " ".join(f'a{i}="{value}"' for i, value in enumerate(argv))
    parts = (f"type=EXECVE argc={len(argv)} {words}", 'type=CWD cwd="/home/ann"')
    return call(serial, "execve", exe=exe, parts=parts, **rest)


def test_an_exec_is_a_new_process_with_command_line_user_and_parent() -> None:
    out = normalised(execve(1, "ls", "-l", "/tmp", exe="/usr/bin/ls"))
    process_id, values = of_path(out, "/usr/bin/ls")
    assert values["cmdline"] == "ls -l /tmp"
    assert values["creation_observed"] == 1
    assert (values["uid"], values["username"]) == ("1000", "ann")
    assert (values["process_pid"], values["parent_pid"]) == (200, 100)
    assert values["start"] == 1_700_000_000_100_000
    assert values["current_directory"] == "/home/ann"
    (child,) = only(Childproc, out)
    assert (child.child_id, child.kind) == (process_id, ChildKind.OTHER_EXEC)
    assert child.process_id == values["parent_id"]


def test_an_exec_in_place_ends_the_first_image_and_is_its_child() -> None:
    out = normalised(
        execve(1, "sh", "-c", "exec ls", exe="/bin/dash"),
        execve(2, "ls", exe="/usr/bin/ls", at="1700000000.200"),
    )
    shell, values = of_path(out, "/bin/dash")
    listing, _ = of_path(out, "/usr/bin/ls")
    assert values["terminated"] == 1
    assert [(c.process_id, c.child_id, c.kind) for c in only(Childproc, out)][1] == (
        shell,
        listing,
        ChildKind.EXEC,
    )


def test_a_pid_used_again_by_another_parent_is_no_exec_in_place() -> None:
    out = normalised(
        execve(1, "a", exe="/bin/a", ppid=100),
        execve(2, "b", exe="/bin/b", ppid=101, at="1700000099.0"),
    )
    assert [c.kind for c in only(Childproc, out)] == [ChildKind.OTHER_EXEC] * 2


def test_events_belong_to_the_image_that_ran_at_their_time() -> None:
    lines = (
        execve(1, "a", exe="/bin/a"),
        call(2, "unlink", at="1700000000.150", parts=_path("/tmp/1", "DELETE")),
        execve(3, "b", exe="/bin/b", at="1700000000.200"),
        call(4, "unlink", at="1700000000.250", parts=_path("/tmp/2", "DELETE")),
    )
    for order in (lines, lines[::-1]):
        out = normalised(*order)
        paths = {f.path: f.process_id for f in only(Filemod, out)}
        assert paths["/tmp/1"] == of_path(out, "/bin/a")[0]
        assert paths["/tmp/2"] == of_path(out, "/bin/b")[0]


def test_an_event_of_an_unknown_process_goes_to_one_made_of_pid_and_path() -> None:
    one = call(1, "unlink", parts=_path("/x", "DELETE"))
    two = call(2, "unlink", at="1700009999.0", parts=_path("/y", "DELETE"))
    first, second = only(Filemod, normalised(one)), only(Filemod, normalised(two, one))
    assert {f.process_id for f in first + second} == {first[0].process_id}
    assert merged(normalised(one))[first[0].process_id]["path"] == "/usr/bin/bash"
    other = call(3, "unlink", exe="/bin/other", parts=_path("/x", "DELETE"))
    assert only(Filemod, normalised(other))[0].process_id != first[0].process_id


def _path(name: str, kind: str, item: int = 0) -> tuple[str, ...]:
    return ('type=CWD cwd="/srv"', f'type=PATH item={item} name="{name}" nametype={kind}')


@pytest.mark.parametrize(
    ("name", "args", "paths", "wanted"),
    [
        ("openat", "0 0 241", [("/a", "CREATE")], [(FileOperation.CREATED, "/a")]),
        ("openat", "0 0 241", [("/a", "NORMAL")], [(FileOperation.FIRST_WRITE, "/a")]),
        ("openat", "0 0 0", [("/a", "NORMAL")], []),
        ("open", "0 2 0", [("a", "NORMAL")], [(FileOperation.FIRST_WRITE, "/srv/a")]),
        ("creat", "0 0 0", [("./a", "NORMAL")], [(FileOperation.FIRST_WRITE, "/srv/a")]),
        (
            "rename",
            "0 0 0",
            [("/", "PARENT"), ("/", "PARENT"), ("/a", "DELETE"), ("/b", "CREATE")],
            [(FileOperation.DELETED, "/a"), (FileOperation.CREATED, "/b")],
        ),
        (
            "unlinkat",
            "5 0 0",
            [("/opt/dir", "PARENT"), ("a", "DELETE")],
            [(FileOperation.DELETED, "/opt/dir/a")],
        ),
    ],
)
def test_file_calls_become_filemods(
    name: str, args: str, paths: list[tuple[str, str]], wanted: list[tuple[int, str]]
) -> None:
    parts = tuple(part for i, (path, kind) in enumerate(paths) for part in _path(path, kind, i))
    out = normalised(call(1, name, args=tuple(args.split()), parts=parts))
    assert [(f.operation, f.path) for f in only(Filemod, out)] == wanted


@pytest.mark.parametrize(
    ("name", "success", "exit_code", "saddr", "wanted"),
    [
        ("connect", "yes", "0", "020001BB01020304", (1, 6, "", 0, "1.2.3.4", 443)),
        ("connect", "no", "-115", "020001BB01020304", (1, 6, "", 0, "1.2.3.4", 443)),
        ("connect", "no", "EINPROGRESS", "020001BB01020304", (1, 6, "", 0, "1.2.3.4", 443)),
        ("connect", "no", "-111", "020001BB01020304", None),
        ("connect", "yes", "0", "0200003501020304", (1, 17, "", 0, "1.2.3.4", 53)),
        ("connect", "yes", "0", "01002F72756E2F78", None),
        ("accept4", "yes", "5", "0200D90401020304", (0, 6, "", 0, "1.2.3.4", 55556)),
        ("bind", "yes", "0", "02001F907F000001", (0, 6, "127.0.0.1", 8080, "", 0)),
        ("sendto", "yes", "9", "0200020201020304", (1, 17, "", 0, "1.2.3.4", 514)),
        (
            "connect",
            "yes",
            "0",
            "0A0001BB00000000" + "20010DB8" + "00" * 11 + "01" + "00000000",
            (1, 6, "", 0, "2001:db8::1", 443),
        ),
    ],
)
def test_socket_calls_become_connections(
    name: str, success: str, exit_code: str, saddr: str, wanted: tuple[Any, ...] | None
) -> None:
    parts = (f"type=SOCKADDR saddr={saddr}",)
    out = normalised(call(1, name, success=success, exit_code=exit_code, parts=parts))
    found = [
        (
            n.outbound,
            n.protocol,
            address_text(n.local_ip),
            n.local_port,
            address_text(n.remote_ip),
            n.remote_port,
        )
        for n in only(Netconn, out)
    ]
    assert found == ([wanted] if wanted else [])


def test_a_fork_is_a_child_and_a_thread_is_not() -> None:
    out = normalised(call(1, "clone", exit_code="300", args=("1200011", "0", "0", "0")))
    (child,) = only(Childproc, out)
    assert (child.pid, child.kind) == (300, ChildKind.FORK)
    assert not normalised(call(1, "clone", exit_code="300", args=("3d0f00", "0", "0", "0")))


def test_exit_ends_the_process_with_its_status() -> None:
    out = normalised(
        execve(1, "false", exe="/bin/false"),
        call(2, "exit_group", exe="/bin/false", at="1700000001.0", args=("1", "0", "0", "0")),
    )
    _, values = of_path(out, "/bin/false")
    assert (values["terminated"], values["exit_status"]) == (1, "1")
    assert values["end_time"] == 1_700_000_001_000_000
    assert [c.started for c in only(Childproc, out)] == [1, 0]


@pytest.mark.parametrize(
    ("name", "args", "target"),
    [
        ("ptrace", ("10", "12d", "0", "0"), 301),
        ("ptrace", ("4206", "12d", "0", "0"), 301),
        ("ptrace", ("1", "12d", "0", "0"), None),
        ("process_vm_writev", ("12d", "0", "0", "0"), 301),
    ],
)
def test_reaching_into_a_process_is_a_cross_process_event(
    name: str, args: tuple[str, ...], target: int | None
) -> None:
    out = only(Crossproc, normalised(call(1, name, args=args)))
    assert [(c.access, c.is_target) for c in out] == ([(0x38, 0), (0x38, 1)] if target else [])
    assert len({c.process_id for c in out}) == len(out)


def test_a_kernel_module_is_a_modload() -> None:
    out = normalised(call(1, "finit_module", parts=('type=KERN_MODULE name="evil"',)))
    assert [m.path for m in only(Modload, out)] == ["evil"]


def test_failed_calls_are_nothing() -> None:
    assert normalised(execve(1, "nope", exe="/bin/sh", success="no")) == []
    assert normalised(call(2, "openat", success="no", parts=_path("/a", "CREATE"))) == []


def test_hexadecimal_values_and_long_arguments_are_decoded() -> None:
    head = "msg=audit(1700000000.1:7):"
    (record,) = assemble_all(
        [
            f"type=SYSCALL {head} syscall=59 success=yes exe=2F746D702F6120622F78 pid=1 ppid=2",
            f'type=EXECVE {head} argc=3 a0="sh" a1_len=8 a1[0]=61626364',
            f"type=EXECVE {head} a1[1]=65666768 a2=22206122",
            f"type=PROCTITLE {head} proctitle=7368002D63",
        ],
        "h",
    )
    assert record.data["SYSCALL"]["exe"] == "/tmp/a b/x"
    assert record.data["EXECVE"]["ARGV"] == ["sh", "abcdefgh", '" a"']
    assert record.data["PROCTITLE"]["ARGV"] == ["sh", "-c"]


def test_lines_of_an_event_in_any_order_make_the_same_record() -> None:
    lines = (execve(1, "a", "b", exe="/bin/a") + "\n" + execve(2, "c", exe="/bin/c")).split("\n")
    wanted = records_of(*lines)
    random.Random(1).shuffle(lines)
    assert sorted(records_of(*lines), key=lambda r: r.record_id) == wanted


def test_lines_that_a_shipper_sends_one_by_one_are_put_together() -> None:
    lines = execve(1, "id", exe="/usr/bin/id").split("\n")
    sent = [{"message": line, "host": {"name": "Web9.example"}} for line in lines]
    (record,) = records_of(*sent)
    assert record.host == "web9.example"
    assert of_path(outcomes_of([record]), "/usr/bin/id")[1]["cmdline"] == "id"


def test_a_node_in_the_line_is_the_host() -> None:
    (record,) = records_of("node=DB7 type=USER_LOGIN msg=audit(1.0:2): pid=1 res=success")
    assert record.host == "db7"


def test_a_line_without_host_is_refused() -> None:
    with pytest.raises(RecordError, match="has no host"):
        records_of("type=USER_LOGIN msg=audit(1.0:2): pid=1", host="")


def test_logins_are_kept_as_records() -> None:
    line = (
        "type=USER_LOGIN msg=audit(1700000000.5:9): pid=7 uid=0 "
        'msg=\'op=login acct="ann" exe="/usr/sbin/sshd" addr=10.0.0.9 res=failed\''
    )
    (kept,) = normalised(line)
    assert isinstance(kept, Kept)
    assert (kept.channel, kept.event_id) == ("auditd", 1112)
    assert kept.fields["USER_LOGIN.acct"] == "ann"
    assert kept.fields["USER_LOGIN.res"] == "failed"


def test_record_ids_differ_after_a_reboot() -> None:
    assert record_id_of(1_700_000_000_000_000, 5) != record_id_of(1_700_000_090_000_000, 5)
    assert record_id_of(1_700_000_000_000_000, 5) < 1 << 48


def test_a_fragment_without_its_system_call_has_no_record_id() -> None:
    (record,) = records_of('type=PATH msg=audit(1700000000.5:9): item=0 name="/x"')
    assert record.record_id == 0


LAUREL: dict[str, Any] = {
    "ID": "1700000000.100:77",
    "NODE": "Web2",
    "SYSCALL": {
        "arch": "0xc000003e",
        "syscall": 59,
        "success": "yes",
        "exit": 0,
        "ppid": 100,
        "pid": 200,
        "uid": 0,
        "exe": "/usr/bin/caf%c3%a9",
        "SYSCALL": "execve",
        "UID": "root",
        "ARGV": ["0x1", "0x2", "0x3", "0x4"],
        "PPID": {"EVENT_ID": "1699999990.5:7", "exe": "/bin/sh", "comm": "sh"},
    },
    "EXECVE": {"argc": 2, "ARGV": ["café", "100%25"]},
    "CWD": {"cwd": "/root"},
}


def test_laurel_events_are_read_with_their_encoding_undone() -> None:
    out = normalised(LAUREL)
    _, values = of_path(out, "/usr/bin/café")
    assert values["cmdline"] == "café 100%"
    assert (values["username"], values["parent_path"]) == ("root", "/bin/sh")


def test_laurel_names_the_process_by_the_event_that_began_it() -> None:
    later = {
        "ID": "1700000005.0:90",
        "NODE": "web2",
        "SYSCALL": {
            "SYSCALL": "connect",
            "success": "no",
            "exit": -115,
            "pid": 200,
            "exe": "/usr/bin/café",
            "PID": {"EVENT_ID": "1700000000.100:77"},
        },
        "SOCKADDR": [{"SADDR": {"saddr_fam": "inet", "addr": "1.2.3.4", "port": 443}}],
    }
    (connection,) = only(Netconn, normalised(later))
    assert connection.process_id == of_path(normalised(LAUREL), "/usr/bin/café")[0]


AUOMS = (
    "type=AUOMS_EXECVE audit(1700000000.5:6): auoms_version=2 node=VM7 arch=x86_64 syscall=execve "
    'success=yes exit=0 ppid=1 pid=2 user=tomcat uid=1001 exe="/bin/bash" cwd="/" '
    'name="/bin/bash" nametype=NORMAL path_name=["/bin/bash"] path_nametype=["NORMAL"] argc=3 '
    'cmdline="bash -c "a=1 redactors" name=x" redactors= containerid='
)


def test_auoms_command_lines_come_whole() -> None:
    (record,) = records_of({"SyslogMessage": AUOMS, "Computer": "vm7"})
    assert (record.channel, record.event_id, record.host) == ("auoms", 0, "vm7")
    _, values = of_path(outcomes_of([record]), "/bin/bash")
    assert values["cmdline"] == 'bash -c "a=1 redactors" name=x'
    assert values["username"] == "tomcat"


@pytest.mark.parametrize("wrong", [None, 7, "x", [], {"PID": 3}, {"SYSCALL": "execve", "pid": []}])
def test_values_of_wrong_types_never_raise(wrong: Any) -> None:
    laurel = {**LAUREL, "SYSCALL": wrong, "EXECVE": wrong, "PATH": wrong, "SOCKADDR": wrong}
    normalised(laurel)
    normalised({**LAUREL, "EXECVE": wrong, "PATH": wrong, "CWD": wrong, "PROCTITLE": wrong})
    connect = {**LAUREL["SYSCALL"], "SYSCALL": "connect"}
    normalised({**LAUREL, "SYSCALL": connect, "SOCKADDR": wrong})


_HEAD = "type=SYSCALL msg=audit(1700000000.1:7): "
_AUOMS_HEAD = "type=AUOMS_EXECVE audit(1700000000.5:6): node=vm7 syscall=execve "


@pytest.mark.parametrize("begin", [_HEAD, _AUOMS_HEAD, "", "<13>Nov  3 10:11:12 a ", "audispd: "])
@pytest.mark.parametrize(
    "repeated",
    [
        "node=",
        "a",
        "a={ ",
        'a="',
        "msg='",
        " cmdline=",
        " proctitle=a file=",
        " path_name=[",
        "[1 ",
    ],
)
def test_a_hostile_line_takes_time_in_proportion_to_its_length(begin: str, repeated: str) -> None:
    text = begin + repeated * (400_000 // len(repeated))
    started = time.thread_time()
    with suppress(RecordError):
        decode(json.dumps({"message": text, "host": "h"}).encode())
    assert time.thread_time() - started < 1.0


def test_a_line_is_read_up_to_its_limit() -> None:
    long = f"{_HEAD}pid=5 key={'a' * 2 * AUDIT_LINE_CHARS_MAX} late=1"
    (record,) = records_of(long)
    assert record.data["SYSCALL"]["pid"] == "5"
    assert "late" not in record.data["SYSCALL"]
    assert len(record.data["SYSCALL"]["key"]) < AUDIT_LINE_CHARS_MAX
