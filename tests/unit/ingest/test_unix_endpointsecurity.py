"""Endpoint Security events of eslogger and Jamf Protect."""

from typing import Any

import pytest

from tests.unit.ingest.unix_records import normalised, of_path, only, records_of
from vedette.ingest.record import RecordError
from vedette.model.event import (
    BinarySeen,
    ChildKind,
    Childproc,
    CrossKind,
    Crossproc,
    Filemod,
    FileOperation,
    Kept,
    Modload,
)


def process(pid: int, version: int, path: str, parent: int = 1) -> dict[str, Any]:
    return {
        "audit_token": {"pid": pid, "pidversion": version, "euid": 501},
        "parent_audit_token": {"pid": parent, "pidversion": 2, "euid": 0},
        "executable": {"path": path},
        "original_ppid": parent,
        "start_time": "2024-01-01T09:59:00.000000Z",
    }


ZSH = process(50, 400, "/bin/zsh")


def event(
    name: str, content: Any, by: Any = ZSH, at: str = "2024-01-01T10:00:00.123456789Z"
) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "event_type": 9,
        "time": at,
        "process": by,
        "event": {name: content},
        "host": {"hostname": "Mac7.example"},
    }


def test_an_exec_is_a_new_process_of_its_parent() -> None:
    content = {
        "target": process(51, 402, "/usr/bin/curl", parent=50),
        "args": ["curl", "-s", "http://x"],
        "cwd": {"path": "/Users/ann"},
    }
    out = normalised(event("exec", content, process(51, 401, "/bin/zsh", parent=50)))
    _, values = of_path(out, "/usr/bin/curl")
    assert values["cmdline"] == "curl -s http://x"
    assert (values["process_guid"], values["uid"], values["parent_pid"]) == ("51:402", "501", 50)
    assert values["current_directory"] == "/Users/ann"
    assert ChildKind.OTHER_EXEC in [c.kind for c in only(Childproc, out)]


def test_tokens_of_eight_numbers_are_read_too() -> None:
    by = {**ZSH, "audit_token": [501, 501, 20, 501, 20, 50, 100013, 400]}
    out = normalised(event("unlink", {"target": {"path": "/x"}}, by))
    assert of_path(out, "/bin/zsh") == of_path(
        normalised(event("unlink", {"target": {"path": "/x"}})), "/bin/zsh"
    )


def test_a_process_seen_without_its_exec_begins_when_it_was_forked() -> None:
    out = normalised(event("unlink", {"target": {"path": "/x"}}))
    assert of_path(out, "/bin/zsh")[1]["start"] == 1_704_103_140_000_000


def test_a_fork_and_an_exit_are_reported_to_the_parent() -> None:
    out = normalised(
        event("fork", {"child": process(52, 403, "/bin/zsh", parent=50)}),
        event("exit", {"stat": 256}, process(52, 403, "/bin/zsh", 50), "2024-01-01T10:00:01Z"),
    )
    assert [(c.kind, c.started) for c in only(Childproc, out)] == [
        (ChildKind.FORK, 1),
        (ChildKind.FORK, 0),
    ]


@pytest.mark.parametrize(
    ("name", "content", "wanted"),
    [
        (
            "create",
            {"destination": {"new_path": {"dir": {"path": "/tmp"}, "filename": "a"}}},
            [(FileOperation.CREATED, "/tmp/a")],
        ),
        (
            "create",
            {"destination": {"existing_file": {"path": "/tmp/b"}}},
            [(FileOperation.CREATED, "/tmp/b")],
        ),
        (
            "rename",
            {
                "source": {"path": "/a"},
                "destination": {"new_path": {"dir": {"path": "/"}, "filename": "b"}},
            },
            [(FileOperation.DELETED, "/a"), (FileOperation.CREATED, "/b")],
        ),
        ("unlink", {"target": {"path": "/a"}}, [(FileOperation.DELETED, "/a")]),
        ("write", {"target": {"path": "/a"}}, [(FileOperation.FIRST_WRITE, "/a")]),
        (
            "close",
            {"target": {"path": "/a"}, "modified": True},
            [(FileOperation.LAST_WRITE, "/a")],
        ),
        ("close", {"target": {"path": "/a"}, "modified": False}, []),
        (
            "link",
            {"target_dir": {"path": "/d"}, "target_filename": "b"},
            [(FileOperation.CREATED, "/d/b")],
        ),
    ],
)
def test_file_events_become_filemods(name: str, content: Any, wanted: list[Any]) -> None:
    out = normalised(event(name, content))
    assert [(f.operation, f.path) for f in only(Filemod, out)] == wanted


def test_taking_a_task_port_is_reported_to_both_processes() -> None:
    out = only(
        Crossproc, normalised(event("get_task", {"target": process(60, 500, "/bin/victim")}))
    )
    assert [(c.kind, c.is_target) for c in out] == [
        (CrossKind.PROCESS_OPEN, 0),
        (CrossKind.PROCESS_OPEN, 1),
    ]
    (thread, _) = only(
        Crossproc,
        normalised(event("remote_thread_create", {"target": process(60, 5, "/bin/victim")})),
    )
    assert thread.kind == CrossKind.REMOTE_THREAD


def test_a_file_mapped_to_be_executed_is_a_modload() -> None:
    out = normalised(
        event("mmap", {"source": {"path": "/l.dylib"}, "protection": 5}),
        event("mmap", {"source": {"path": "/data"}, "protection": 1}),
    )
    assert [m.path for m in only(Modload, out)] == ["/l.dylib"]


SHA256, SHA1 = "ab" * 32, "cd" * 20
SIGNED = 0x2200_0001
"""Flags of a process whose signature the kernel checked: valid, runtime, signed."""

CURL: dict[str, Any] = {
    **process(51, 402, "/opt/curl", parent=50),
    "codesigning_flags": SIGNED,
    "is_platform_binary": False,
    "is_es_client": False,
    "signing_id": "org.curl",
    "team_id": "EQHXZ8M8AV",
    "cdhash": "12" * 20,
}
STAT = {"st_size": 4_711, "st_ino": 9}


def image_of(target: dict[str, Any], **file: Any) -> BinarySeen:
    """Returns the image in an exec event of Jamf Protect, which adds hashes."""
    path = target["executable"]["path"]
    executable = {"path": path, "stat": STAT, "sha256": SHA256, "sha1": SHA1, **file}
    content = {"target": {**target, "executable": executable}, "image_cputype": 0x0100_000C}
    (seen,) = only(BinarySeen, normalised(event("exec", content)))
    return seen


def test_the_image_of_an_exec_with_hashes_is_a_binary_with_its_signature() -> None:
    seen = image_of(CURL)
    assert (seen.sha256, seen.sha1, seen.md5, seen.path) == (SHA256, SHA1, "", "/opt/curl")
    assert seen.values == {
        "is_executable_image": "1",
        "is_64bit": "1",
        "orig_mod_len": "4711",
        "digsig_result": "Signed",
        "digsig_publisher": "EQHXZ8M8AV",
        "digsig_prog_name": "org.curl",
    }


def test_a_process_has_the_hashes_of_its_image() -> None:
    content = {"target": {**CURL, "executable": {"path": "/opt/curl", "sha256": SHA256}}}
    out = normalised(event("exec", content, process(51, 401, "/bin/zsh", parent=50)))
    assert of_path(out, "/opt/curl")[1]["process_sha256"] == SHA256
    (child,) = only(Childproc, out)
    assert child.sha256 == SHA256


def test_a_platform_binary_is_apples() -> None:
    seen = image_of({**CURL, "is_platform_binary": True, "team_id": None})
    assert seen.values["digsig_publisher"] == "Apple Inc."


@pytest.mark.parametrize(
    ("flags", "result"),
    [
        (SIGNED, "Signed"),
        (0x2000_0003, "Unsigned"),  # ad hoc
        (0x0000_0000, "Unsigned"),
        (0x2000_0000, "Bad Signature"),  # no longer valid
        (None, None),
        ("x", None),
    ],
)
def test_what_a_signature_is_worth_is_read_from_the_kernels_flags(
    flags: Any, result: str | None
) -> None:
    assert image_of({**CURL, "codesigning_flags": flags}).values.get("digsig_result") == result


def test_eslogger_has_no_hash_of_the_file_so_there_is_no_record_of_the_binary() -> None:
    out = normalised(event("exec", {"target": CURL, "args": ["curl"]}))
    assert only(BinarySeen, out) == []
    assert "process_sha256" not in of_path(out, "/opt/curl")[1]


@pytest.mark.parametrize("wrong", ["../../x", "ab", "0" * 64, 7, None, ["ab" * 32], {"x": 1}])
def test_what_is_no_hash_names_no_binary(wrong: Any) -> None:
    executable = {"path": "/opt/curl", "sha256": wrong}
    out = normalised(event("exec", {"target": {**CURL, "executable": executable}}))
    assert only(BinarySeen, out) == []
    assert of_path(out, "/opt/curl")


def test_a_mapped_file_has_the_hashes_that_the_sender_adds() -> None:
    source = {"path": "/l.dylib", "sha256": SHA256, "sha1": SHA1}
    (loaded,) = only(Modload, normalised(event("mmap", {"source": source, "protection": 5})))
    assert (loaded.sha256, loaded.sha1) == (SHA256, SHA1)


def test_launch_items_are_kept_as_records() -> None:
    added = {**event("btm_launch_item_add", {"item": {"url": "file:///x"}}), "event_type": 124}
    (kept,) = normalised(added)
    assert isinstance(kept, Kept)
    assert kept.fields["event.item.url"] == "file:///x"


def test_an_event_without_host_is_refused() -> None:
    with pytest.raises(RecordError, match="has no host"):
        records_of({**event("exit", {"stat": 0}), "host": {}})


@pytest.mark.parametrize("wrong", [None, 3, "x", [], {}, {"target": 3}, {"child": []}])
def test_values_of_wrong_types_never_raise(wrong: Any) -> None:
    for name in ("exec", "fork", "exit", "create", "rename", "get_task", "mmap", "link"):
        try:
            normalised(event(name, wrong), event(name, wrong, {"audit_token": wrong}))
        except RecordError:
            continue
