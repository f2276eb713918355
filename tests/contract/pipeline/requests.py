"""Records of every kind that matters to what is stored once: with a number of their own and
without, for one table and for both."""

from typing import Any

from tests.contract.pipeline.write_path import NOON_S, Json, event_texts, processes
from tests.support.sysmon import Host
from vedette.store.engine.client import Engine


def sysmon(count: int = 4) -> list[Json]:
    """Records with a number of their own."""
    host = Host("numbered.example", NOON_S - 100)
    process = host.process(5, "C:\\a.exe")
    return [host.of(process, 11, n, TargetFilename=f"C:\\{n}.txt") for n in range(count)]


def unnumbered(record: Json) -> Json:
    del record["winlog"]["record_id"]
    return record


def plain(count: int = 4, first: int = 0) -> list[Json]:
    """Records without one."""
    host = Host("plain.example", NOON_S - 100)
    process = host.process(5, "C:\\b.exe")
    return [
        unnumbered(host.of(process, 11, n, TargetFilename=f"C:\\{n}.txt"))
        for n in range(first, first + count)
    ]


def security(event_id: int, record_id: int = 77, **data: Any) -> Json:
    record = Host("windows.example").record(event_id, NOON_S - 10, **data)
    log = record["winlog"]
    log |= {"channel": "Security", "provider_name": "Microsoft-Windows-Security-Auditing"}
    log["record_id"] = record_id
    return record


def service(record_id: int = 77) -> Json:
    """Makes rows in both tables: a key that services.exe wrote, and a record."""
    return security(4697, record_id, ServiceName="backdoor", ServiceFileName="C:\\evil.exe")


def rows(engine: Engine) -> tuple[int, int]:
    """Returns (stored events, stored records)."""
    events = sum(len(event_texts(engine, name)) for name in processes(engine))
    count: int = engine.query("SELECT count() FROM record").rows[0][0]
    return events, count
