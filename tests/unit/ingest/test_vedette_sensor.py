"""Events of our own sensor: keys, execs, blocks, whatever the order (docs/sensor-events.md)."""

import random
from typing import Any

import pytest

from tests.support.sensor import event, session
from tests.unit.ingest.unix_records import merged, normalised, of_path, only, records_of
from vedette.ingest.decode import decode
from vedette.ingest.record import RecordError
from vedette.model.event import (
    BinarySeen,
    ChildKind,
    Childproc,
    Crossproc,
    Facts,
    Filemod,
    FileOperation,
    Modload,
    Netconn,
    Processblock,
)
from vedette.model.ids import process_id_from_start

BASE_US = 1_700_000_000_000_000
CHILD_US = BASE_US + 1_000_000
EXEC_US = CHILD_US + 3_000_000
SHELL = process_id_from_start(1, 500, BASE_US)
CURL = process_id_from_start(1, 501, CHILD_US)
PYTHON = process_id_from_start(1, 501, EXEC_US)


def sent(events: list[dict[str, Any]]) -> list[Any]:
    return normalised(*({**one, "hostname": "web1.example"} for one in events))


def test_a_process_is_named_by_pid_and_start() -> None:
    process_id, values = of_path(sent(session(BASE_US)), "/bin/bash")
    assert process_id == SHELL
    assert values["start"] == BASE_US
    assert (values["cmdline"], values["username"], values["uid"]) == ("bash -l", "alice", "1000")
    assert (values["process_md5"], values["parent_path"]) == ("c0" * 16, "/sbin/init")


def test_an_exec_begins_a_process_and_ends_the_image_before() -> None:
    out = sent(session(BASE_US))
    facts = merged(out)
    assert (facts[PYTHON]["path"], facts[PYTHON]["start"]) == ("/usr/bin/python3", EXEC_US)
    assert (facts[CURL]["end_time"], facts[PYTHON]["parent_id"]) == (EXEC_US, SHELL)
    children = {(one.process_id, one.child_id, one.kind) for one in only(Childproc, out)}
    assert (CURL, PYTHON, ChildKind.EXEC) in children
    assert (SHELL, CURL, ChildKind.OTHER_EXEC) in children


def test_what_follows_an_exec_belongs_to_the_new_image() -> None:
    out = sent(session(BASE_US))
    deleted = [one for one in only(Filemod, out) if one.operation == FileOperation.DELETED]
    assert [(one.process_id, one.path) for one in deleted] == [(CURL, "/tmp/y"), (PYTHON, "/tmp/z")]
    (end,) = (one for one in only(Facts, out) if "exit_status" in one.values)
    assert (end.process_id, end.values["exit_status"]) == (PYTHON, "3")


def test_every_type_becomes_its_event() -> None:
    out = sent(session(BASE_US))
    (net,) = only(Netconn, out)
    assert (net.process_id, net.outbound, net.remote_port) == (CURL, 1, 80)
    assert [(one.path, one.md5) for one in only(Modload, out)] == [("/lib/libcurl.so", "78" * 16)]
    assert {(one.process_id, one.target_id, one.is_target) for one in only(Crossproc, out)} == {
        (CURL, SHELL, 0),
        (SHELL, CURL, 1),
    }
    (block,) = only(Processblock, out)
    assert (block.process_id, block.path, block.block_type) == (PYTHON, "/tmp/evil", 2)
    assert {one.md5 for one in only(BinarySeen, out)} >= {"c0" * 16, "c1" * 16, "9a" * 16}


def test_the_order_in_a_batch_does_not_matter() -> None:
    events = session(BASE_US)
    expected = sorted(map(repr, sent(events)))
    for seed in range(10):
        shuffled = list(events)
        random.Random(seed).shuffle(shuffled)
        out = sent(shuffled)
        assert merged(out) == merged(sent(events))
        kinds = (Filemod, Netconn, Childproc, Crossproc, Processblock, Modload)
        for kind in kinds:
            assert sorted(map(repr, only(kind, out))) == [
                text for text in expected if text.startswith(kind.__name__ + "(")
            ]


def test_a_program_that_ran_before_the_sensor_was_not_seen_to_start() -> None:
    out = sent(
        [
            event(
                "start",
                BASE_US + 9,
                7,
                BASE_US,
                path="/bin/old",
                ppid=500,
                parent_start_us=BASE_US - 9,
                implicit=True,
            )
        ]
    )
    process_id, values = of_path(out, "/bin/old")
    assert process_id == process_id_from_start(1, 7, BASE_US)
    assert "creation_observed" not in values
    assert only(Childproc, out) == []


def test_a_pid_that_is_used_again_is_another_process() -> None:
    later_us = BASE_US + 60_000_000
    out = sent(
        [
            event("start", BASE_US, 7, BASE_US, path="/bin/one"),
            event("end", BASE_US + 1, 7, BASE_US, exit_code=0),
            event("file", later_us + 1, 7, later_us, action="create", path="/x"),
        ]
    )
    (made,) = only(Filemod, out)
    assert made.process_id == process_id_from_start(1, 7, later_us)


def test_a_blocked_start_of_a_fresh_fork_is_its_parents() -> None:
    out = sent(
        [
            event("start", BASE_US, 500, BASE_US, path="/bin/bash"),
            event(
                "block",
                CHILD_US,
                501,
                CHILD_US,
                path="/tmp/evil",
                md5="9a" * 16,
                ppid=500,
                parent_start_us=BASE_US,
            ),
        ]
    )
    (block,) = only(Processblock, out)
    assert (block.process_id, block.md5) == (SHELL, "9a" * 16)


def test_a_connection_that_isolation_stopped_is_a_block_too() -> None:
    out = sent(
        [
            event(
                "net",
                BASE_US,
                5,
                BASE_US,
                direction="out",
                proto=6,
                remote_ip="203.0.113.7",
                remote_port=443,
                blocked=True,
            )
        ]
    )
    (block,) = only(Processblock, out)
    assert (block.block_type, block.path) == (1, "203.0.113.7:443")
    assert len(only(Netconn, out)) == 1


def test_an_event_of_a_shipper_names_its_host() -> None:
    one = event("end", BASE_US, 5, BASE_US)
    (record,) = records_of({**one, "hostname": "Web1.Example"})
    assert record.host == "web1.example"
    with pytest.raises(RecordError, match="has no host"):
        records_of(one)


def test_the_host_of_the_sender_wins() -> None:
    raw = (
        b'{"type":"end","vedette_event":1,"time_us":5,"hostname":"x","proc":{"pid":1,"start_us":2}}'
    )
    (record,) = decode(raw, "mine.example")
    assert record.host == "mine.example"


@pytest.mark.parametrize(
    ("kind", "members"),
    [
        ("net", {"direction": 5}),
        ("net", {"direction": ["out"]}),
        ("net", {}),
        ("file", {"action": "dance", "path": "/x"}),
        ("proc", {"action": "ptrace", "target": 5}),
    ],
)
def test_members_that_cannot_be_read_are_refused_by_name(
    kind: str, members: dict[str, Any]
) -> None:
    with pytest.raises(RecordError, match=kind) as caught:
        sent([event(kind, BASE_US, 5, BASE_US, **members)])
    assert caught.value.reason == "bad_event"
