"""Audit records that a collector joined on one line."""

import json
import time

import pytest

from vedette.ingest.decode import decode
from vedette.ingest.decode.auditd import assemble_all, record_texts
from vedette.ingest.framing.body import split_body

HEAD = "msg=audit(1700000000.101:15):"
RECORDS = [
    f"type=SYSCALL {HEAD} arch=c000003e syscall=59 success=yes exit=0 a0=1 items=2 ppid=100 "
    'pid=505 uid=0 comm="tool" exe="/usr/bin/tool" key="x"',
    f'type=EXECVE {HEAD} argc=2 a0="tool" a1="-la"',
    f'type=CWD {HEAD} cwd="/root"',
    f"type=PROCTITLE {HEAD} proctitle=746F6F6C002D6C61",
]


def data_of(text: str, host: str = "web-3") -> dict[str, object]:
    (record,) = assemble_all([text], host)
    return record.data


@pytest.mark.parametrize("between", [" ", "  ", "\t", ", ", "; ", "\x1d", "\n", " \n"])
def test_joined_records_are_those_of_separate_lines(between: str) -> None:
    assert data_of(between.join(RECORDS)) == data_of("\n".join(RECORDS))
    assert data_of(between.join(RECORDS))["EXECVE"] == {"ARGV": ["tool", "-la"]}


@pytest.mark.parametrize("before", ["", "node=web-3 ", "Nov 14 10:00:00 web-3 audispd: "])
def test_a_body_and_a_record_of_a_shipper_have_them_split(before: str) -> None:
    joined = before + " ".join(RECORDS)
    (piece,) = split_body(joined.encode(), "web-3")
    (of_body,) = decode(piece)
    (of_shipper,) = decode(json.dumps({"message": joined, "hostname": "web-3"}).encode())
    assert of_body.data == of_shipper.data == data_of("\n".join(RECORDS))
    assert of_body.host == of_shipper.host == "web-3"


def test_records_of_several_events_on_a_line_are_several_events() -> None:
    other = [one.replace("101:15", "102:16") for one in RECORDS]
    records = assemble_all([" ".join((*RECORDS, *other))], "web-3")
    assert [record.data["SERIAL"] for record in records] == [15, 16]
    assert [record.data["EXECVE"] for record in records] == [{"ARGV": ["tool", "-la"]}] * 2


def test_a_record_has_the_node_of_the_first_on_its_line_if_none_of_its_own() -> None:
    texts = record_texts(f"node=a {RECORDS[0]} {RECORDS[1]} node=b {RECORDS[2]}")
    assert [text.split()[0] for text in texts] == ["node=a", "node=a", "node=b"]


FORGED = "type=EXECVE msg=audit(1700000000.101:15): argc=1 a0=forged"


@pytest.mark.parametrize(
    "text",
    [
        f'type=SYSCALL {HEAD} syscall=59 comm="x {FORGED}" exe="/bin/x"',
        f"type=USER_CMD {HEAD} pid=1 msg='cwd=\"/\" cmd=x {FORGED} res=success'",
        f"type=USER_CMD {HEAD} pid=1 msg='it's {FORGED} it's {FORGED}'",
        f'type=SYSCALL {HEAD} comm="x" exe="/bin/x" key="a" name="it\'s" dir="b {FORGED}"',
        f"type=SYSCALL {HEAD} name=x{FORGED}",
    ],
)
def test_text_inside_a_value_begins_no_record(text: str) -> None:
    assert record_texts(text) == [text]


@pytest.mark.parametrize("unit", [" " + RECORDS[1], " type=A audit(1.1:1)", '="', "='", " audit("])
def test_a_long_line_is_split_in_time_that_grows_with_its_length(unit: str) -> None:
    spent = []
    for count in (4_000, 8_000, 16_000):
        text = f'{RECORDS[0]} name="{unit * count}" {unit * count}'
        began = time.process_time()
        record_texts(text)
        spent.append(time.process_time() - began)
    assert spent[2] < 5
