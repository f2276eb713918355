"""Partial segments for the store's contract."""

from typing import Any

from tests.support.claims import claimed
from vedette.model.address import pack_address
from vedette.model.event import (
    Childproc,
    Dnsquery,
    Filemod,
    Modload,
    Netconn,
    ProcessEvent,
)
from vedette.model.segment import PartialSegment
from vedette.store.engine.client import Engine
from vedette.store.write.commit import Commit, ProcessWindow
from vedette.store.write.insert import write_commit

HOUR_MS = 1_700_000_400_000
"""A window; also the partition that tests write to unless they say another."""

NEXT_MS = HOUR_MS + 300_000


def process_id(number: int, sensor_id: int = 1) -> str:
    return f"{sensor_id:08x}-0000-0000-0000-{number:012x}"


def partial(
    number: int = 1,
    *events: ProcessEvent,
    sensor_id: int = 1,
    window_ms: int = HOUR_MS,
    segment_id: int = 0,
    partition_ms: int = HOUR_MS,
    record_keys: list[int] | None = None,
    request_keys: list[int] | None = None,
    **metadata: Any,
) -> PartialSegment:
    """A partial row of process `number` of a sensor, with events of any kinds."""
    by_kind: dict[str, list[ProcessEvent]] = {}
    for event in events:
        by_kind.setdefault(type(event).__name__.lower(), []).append(event)
    metadata.setdefault("first_server_update", window_ms * 1_000)
    return PartialSegment(
        partition_ms,
        window_ms,
        segment_id or window_ms,
        sensor_id,
        process_id(number, sensor_id),
        claimed(metadata),
        by_kind,
        record_keys or [],
        request_keys or [],
    )


def store(engine: Engine, *partials: PartialSegment) -> None:
    """One commit of these rows, with the process table that belongs to them."""
    processes = [
        ProcessWindow(row.partition_ms, row.process_id, row.sensor_id, row.window_ms)
        for row in partials
    ]
    write_commit(engine, Commit(segments=partials, processes=processes))


def file(path: str, time_us: int = 1_000, number: int = 1) -> Filemod:
    return Filemod(process_id(number), time_us, 1, path)


def module(path: str, md5: str = "", time_us: int = 1_000) -> Modload:
    return Modload(process_id(1), time_us, path, md5)


def connection(domain: str, remote: str = "10.0.0.9", time_us: int = 1_000) -> Netconn:
    local, packed = pack_address("10.0.0.1"), pack_address(remote)
    return Netconn(process_id(1), time_us, 1, 6, local, 50_000, packed, 443, domain)


def child(number: int, time_us: int = 1_000) -> Childproc:
    return Childproc(process_id(1), time_us, 1, 0, process_id(number))


def query(name: str, time_us: int = 1_000) -> Dnsquery:
    return Dnsquery(process_id(1), time_us, name)
