"""Endpoint Security events of eslogger and Jamf Protect."""

from typing import Any

import pytest

from tests.unit.ingest.unix_records import normalised, of_path, only, records_of
from vedette.ingest.record import RecordError
from vedette.model.event import (
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


def test_launch_items_are_kept_as_records() -> None:
    added = {**event("btm_launch_item_add", {"item": {"url": "file:///x"}}), "event_type": 124}
    (kept,) = normalised(added)
    assert isinstance(kept, Kept)
    assert kept.fields["event.item.url"] == "file:///x"


def test_an_event_without_host_is_refused() -> None:
    with pytest.raises(RecordError, match="which host"):
        records_of({**event("exit", {"stat": 0}), "host": {}})


@pytest.mark.parametrize("wrong", [None, 3, "x", [], {}, {"target": 3}, {"child": []}])
def test_values_of_wrong_types_never_raise(wrong: Any) -> None:
    for name in ("exec", "fork", "exit", "create", "rename", "get_task", "mmap", "link"):
        try:
            normalised(event(name, wrong), event(name, wrong, {"audit_token": wrong}))
        except RecordError:
            continue
