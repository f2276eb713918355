"""Guesses at the host of a text: for each format what its decoder finds, mostly."""

import json

import pytest

from vedette.ingest.decode import decode
from vedette.ingest.framing.host_prefilter import likely_hosts
from vedette.simulate.day import iter_batches
from vedette.simulate.fleet import build_fleet

START_US = 1_780_300_800 * 1_000_000

NAMED = {
    "compact": b'{"winlog":{"computer_name":"a.example","event_data":{"hostname":"b"}}}',
    "with spaces": b'{"a": 1, "hostname": "a.example", "message": "x"}',
    "ECS": b'{"agent":{"type":"filebeat"},"host":{"name":"a.example"}}',
    "the collector first": b'{"host":"collector","Hostname":"a.example"}',
    "XML": b"<Event><System><Computer>a.example</Computer></System></Event>",
    "native": b'{"vedette_record":"auditd","data":{"hostname":"b"},"host":"a.example"}',
    "a line of audit.log": b'{"message":"node=a.example type=SYSCALL msg=audit(1.0:1): arch=1"}',
    "a line of Santa": b'{"message":"[x] I santad: action=EXEC|machineid=a.example|pid=5"}',
}


@pytest.mark.parametrize("text", NAMED.values(), ids=NAMED.keys())
def test_the_host_is_found(text: bytes) -> None:
    assert likely_hosts([text]) == [b"a.example"]


def test_every_text_of_a_fleet_is_assigned_by_the_name_of_its_host() -> None:
    texts = [
        line
        for batch in iter_batches(build_fleet(3), START_US, events=4_000)
        for line in batch.body.splitlines()[1::2]
    ]
    hosts = [decode(text)[0].host for text in texts]
    assert len(set(hosts)) > 20
    assert [name.decode().lower() for name in likely_hosts(texts)] == hosts


def test_what_names_no_host_is_nobodys() -> None:
    assert likely_hosts([b"", b"{", b'{"a":1}', json.dumps({"host": None}).encode()]) == [b""] * 4


def test_a_name_without_an_end_is_cut() -> None:
    (name,) = likely_hosts([b'{"hostname":"' + b"x" * 5_000])
    assert len(name) == 256
