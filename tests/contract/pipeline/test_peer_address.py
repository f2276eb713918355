"""A request that comes from an address of the host itself tells what it sends from."""

import json
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from tests.contract.pipeline.write_path import (
    ANSWER_S,
    NOON_S,
    local_processor,
    worker_processor,
    write_path,
)
from tests.support.sysmon import Host
from vedette.clock import DrivenClock
from vedette.pipeline.submission import Submission
from vedette.state.policy.groups import DEFAULT_GROUP_ID
from vedette.store.engine.client import ClickHouseEngine


@pytest.mark.parametrize(
    ("peer", "comms_ip"), [("10.7.0.5", "::ffff:10.7.0.5"), ("10.7.0.6", "::"), ("", "::")]
)
@pytest.mark.parametrize("prepared", [local_processor, worker_processor])
def test_the_address_of_the_peer_is_the_hosts_if_the_host_has_it(
    engine: ClickHouseEngine,
    tmp_path: Path,
    clock: DrivenClock,
    prepared: Any,
    peer: str,
    comms_ip: str,
) -> None:
    host = Host("peer.example", NOON_S - 60)
    process = host.process(88, "C:\\a.exe")
    record = host.created(process, host.process(4, "C:\\explorer.exe"))
    record["host"] = {"name": "peer", "ip": ["10.7.0.5"], "mac": []}
    text = json.dumps(record).encode()
    submission = Submission([text], DEFAULT_GROUP_ID, crc32(text), len(text), peer_ip=peer)
    with write_path(engine, tmp_path, clock, prepared=prepared) as path:
        path.ingest_queue.enqueue(submission).result(ANSWER_S)
    stored = {row[0] for row in engine.query("SELECT toString(comms_ip) FROM segment").rows}
    assert stored == {comms_ip}
