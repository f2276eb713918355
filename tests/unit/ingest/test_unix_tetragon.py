"""Tetragon's export: exec_id names processes, probes become events."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.unit.ingest.unix_records import normalised, of_path, only, records_of
from vedette.ingest.decode import decode
from vedette.model.address import address_text
from vedette.model.event import (
    BinarySeen,
    ChildKind,
    Childproc,
    Filemod,
    FileOperation,
    Kept,
    Modload,
    Netconn,
)

SHARED = Path(os.environ.get("VEDETTE_SHARED", Path(__file__).parents[4] / "shared"))
FIXTURES = SHARED / "data" / "telemetry" / "fixtures"

SHELL = {
    "exec_id": "bm9kZTox",
    "pid": 70,
    "uid": 0,
    "cwd": "/root",
    "binary": "/bin/sh",
    "arguments": "-c curl",
    "flags": "execve clone",
    "start_time": "2024-01-01T10:00:00.123456789Z",
}
CURL = {
    **SHELL,
    "exec_id": "bm9kZToy",
    "pid": 71,
    "binary": "/usr/bin/curl",
    "arguments": "http://x",
    "start_time": "2024-01-01T10:00:01.5Z",
}


def event(kind: str, **content: Any) -> dict[str, Any]:
    return {kind: content, "node_name": "Node3", "time": "2024-01-01T10:00:02.5Z"}


def probe(function: str, *args: dict[str, Any]) -> dict[str, Any]:
    return event("process_kprobe", process=CURL, parent=SHELL, function_name=function, args=args)


def test_an_exec_is_a_process_with_its_parent() -> None:
    out = normalised(event("process_exec", process=CURL, parent=SHELL))
    process_id, values = of_path(out, "/usr/bin/curl")
    assert values["cmdline"] == "/usr/bin/curl http://x"
    assert (values["process_guid"], values["parent_path"]) == ("bm9kZToy", "/bin/sh")
    assert values["parent_cmdline"] == "/bin/sh -c curl"
    assert values["start"] == 1_704_103_201_500_000
    (child,) = only(Childproc, out)
    assert (child.process_id, child.child_id) == (values["parent_id"], process_id)
    assert child.kind == ChildKind.OTHER_EXEC


def test_an_exec_in_place_ends_the_image_before() -> None:
    again = {**SHELL, "exec_id": "bm9kZToz", "binary": "/bin/ls", "start_time": CURL["start_time"]}
    out = normalised(event("process_exec", process=again, parent=SHELL))
    assert [c.kind for c in only(Childproc, out)] == [ChildKind.EXEC]
    assert of_path(out, "/bin/sh")[1]["terminated"] == 1


def test_every_event_names_the_same_process_alone_or_together() -> None:
    exits = event("process_exit", process=CURL, parent=SHELL, status=7)
    alone = of_path(normalised(exits), "/usr/bin/curl")
    together = of_path(
        normalised(exits, event("process_exec", process=CURL, parent=SHELL)), "/usr/bin/curl"
    )
    assert alone[0] == together[0]
    assert together[1]["exit_status"] == "7"
    assert "creation_observed" not in alone[1]


def test_a_process_that_was_there_before_is_not_created() -> None:
    known = {**CURL, "flags": "procFS auid"}
    out = normalised(event("process_exec", process=known, parent=SHELL))
    assert "creation_observed" not in of_path(out, "/usr/bin/curl")[1]
    assert only(Childproc, out) == []


def test_tcp_connect_is_a_connection() -> None:
    sock = {"saddr": "10.0.0.5", "sport": 4000, "daddr": "1.2.3.4", "dport": 443}
    (found,) = only(Netconn, normalised(probe("tcp_connect", {"sock_arg": sock})))
    assert (found.outbound, found.protocol, found.remote_port) == (1, 6, 443)
    assert address_text(found.local_ip) == "10.0.0.5"


@pytest.mark.parametrize(
    ("function", "args", "wanted"),
    [
        ("security_file_permission", [{"int_arg": 2}], FileOperation.FIRST_WRITE),
        ("security_file_permission", [{"int_arg": 4}], None),
        ("security_path_truncate", [], FileOperation.FIRST_WRITE),
        ("security_path_unlink", [], FileOperation.DELETED),
        ("security_inode_create", [], FileOperation.CREATED),
    ],
)
def test_file_probes_become_filemods(
    function: str, args: list[dict[str, Any]], wanted: int | None
) -> None:
    out = normalised(probe(function, {"file_arg": {"path": "/etc/shadow"}}, *args))
    expected = [(wanted, "/etc/shadow")] if wanted else []
    assert [(f.operation, f.path) for f in only(Filemod, out)] == expected


def test_libraries_are_modloads() -> None:
    out = normalised(event("process_loader", process=CURL, path="/lib/x.so"))
    assert [m.path for m in only(Modload, out)] == ["/lib/x.so"]


SHA256, SHA1 = "73" * 32, "0b" * 20


def hook(function: str, argument: dict[str, Any], ima_hash: Any) -> dict[str, Any]:
    args = [argument, {"uint_arg": 4}]
    return event(
        "process_lsm",
        process=CURL,
        parent=SHELL,
        function_name=function,
        args=args,
        ima_hash=ima_hash,
    )


@pytest.mark.parametrize(
    ("written", "hashes"), [(f"sha256:{SHA256}", (SHA256, "")), (f"sha1:{SHA1}", ("", SHA1))]
)
def test_a_program_that_the_kernel_measures_is_a_binary(
    written: str, hashes: tuple[str, str]
) -> None:
    out = normalised(
        hook("bprm_check_security", {"linux_binprm_arg": {"path": "/usr/bin/nc"}}, written)
    )
    (seen,) = only(BinarySeen, out)
    assert (seen.sha256, seen.sha1) == hashes
    assert (seen.path, seen.md5, seen.values) == ("/usr/bin/nc", "", {"is_executable_image": "1"})
    (kept,) = only(Kept, out)
    assert kept.fields["event.ima_hash"] == written


@pytest.mark.parametrize(
    "wrong",
    [None, "", "sha256", "sha512:" + "0" * 128, "sha256:../../etc", f"sha256:{'0' * 64}", 7],
)
def test_what_is_no_hash_of_a_file_makes_no_binary(wrong: Any) -> None:
    argument = {"linux_binprm_arg": {"path": "/usr/bin/nc"}}
    out = normalised(hook("bprm_check_security", argument, wrong))
    assert only(BinarySeen, out) == []
    assert len(only(Kept, out)) == 1


def test_an_lsm_hook_is_known_by_its_name_without_a_prefix() -> None:
    out = normalised(hook("path_unlink", {"path_arg": {"path": "/etc/shadow"}}, None))
    assert [(f.operation, f.path) for f in only(Filemod, out)] == [
        (FileOperation.DELETED, "/etc/shadow")
    ]


def test_a_measured_library_has_its_hash() -> None:
    out = normalised(hook("mmap_file", {"file_arg": {"path": "/lib/x.so"}}, f"sha256:{SHA256}"))
    assert [(m.path, m.sha256, m.sha1) for m in only(Modload, out)] == [("/lib/x.so", SHA256, "")]


def test_properties_of_a_binary_name_no_content_so_there_is_no_record() -> None:
    file = {"inode": {"number": "7", "links": 0}, "path": "/memfd:x"}
    process = {**CURL, "binary_properties": {"setuid": 0, "file": file}}
    out = normalised(event("process_exec", process=process, parent=SHELL))
    assert only(BinarySeen, out) == []
    assert of_path(out, "/usr/bin/curl")[1]["creation_observed"] == 1


def test_other_probes_are_kept_as_records() -> None:
    (kept,) = only(Kept, normalised(probe("commit_creds", {"cred_arg": {"uid": 0}})))
    assert kept.fields["event.function_name"] == "commit_creds"


@pytest.mark.parametrize("wrong", [None, 3, "x", [], {}, {"pid": "y"}])
def test_values_of_wrong_types_never_raise(wrong: Any) -> None:
    normalised(event("process_exec", process=wrong, parent=wrong))
    normalised(event("process_kprobe", process=CURL, args=wrong, function_name="tcp_connect"))
    normalised(
        probe("tcp_connect", {"sock_arg": wrong}),
        probe("security_path_unlink", {"file_arg": wrong}),
    )


@pytest.mark.skipif(not FIXTURES.exists(), reason="no ../shared")
def test_recorded_events_share_their_parent() -> None:
    files = sorted(FIXTURES.glob("tetragon_*.json"))
    records = [record for file in files for record in decode(file.read_bytes())]
    out = normalised(*(json.loads(file.read_text()) for file in files))
    assert {record.host for record in records} == {"minikube"}
    assert len({c.process_id for c in only(Childproc, out)}) == 1
    assert of_path(out, "/usr/bin/nc")[1]["cmdline"].endswith("not-reverse-shell.com 443")
    assert records_of(json.loads(files[0].read_text())) == records[:1]
