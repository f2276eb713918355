"""A store of generated segments, a million in a minute: `python -m bench.segments DIR SEGMENTS`

Templates of segments, 30 events each, are made in Python and multiplied by the engine itself, so
nothing of the write path is measured here or waited for. A copy of a template is another process
on another host at another time, and some of its files, names and numbers are its own, so that
there are words in one segment, in a thousand and in all. One segment in twenty comes in two
partial rows, as segments of long-running processes do; all partitions but the newest are merged.
Runs in a process of its own, because one process can have one store open.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, Final

from vedette.model.address import pack_address
from vedette.model.event import (
    Childproc,
    Crossproc,
    Dnsquery,
    Filemod,
    Modload,
    Netconn,
    ProcessEvent,
    Regmod,
)
from vedette.model.segment import PartialSegment
from vedette.model.tokens import cmdline_tokens
from vedette.simulate.addresses import WEB_NAMES
from vedette.simulate.software import WINDOWS_MODULES, WINDOWS_PROGRAMS, Image, file_hashes
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.engine.open import open_engine
from vedette.store.engine.statement_settings import INSERT_SETTINGS
from vedette.store.partitions.index_build import add_suffix_indexes
from vedette.store.schema.create import create_tables
from vedette.store.schema.tables import SEGMENT, definitions
from vedette.store.write.commit import segment_table

ACCEPT: Final = "--accept-store"
"""A server of a generated store has a state database that knows none of its sensors."""

EVENTS_A_SEGMENT: Final = 30
TEMPLATES: Final = 10_000
HOSTS: Final = 2_000
WINDOW_MS: Final = 300_000
WINDOWS_A_COPY: Final = 6
"""A copy of all templates is half an hour of the fleet."""
COPIES_A_PARTITION: Final = 25
BEGIN_MS: Final = 1_780_300_800_000
"""Of the first window."""
MARK: Final = "0000face"
"""In texts of a template: eight hex digits that every copy has its own of."""

_EXCLUDE: Final = "exclude_materialize_skip_indexes_on_insert"
_EXCLUDED: Final = f"{_EXCLUDE} = '{INSERT_SETTINGS[_EXCLUDE]}', optimize_on_insert = 0"
"""As every insert of a server."""

_USERS: Final = tuple(rf"CORP\{name}{n:03d}" for name in ("anna", "bob", "eve") for n in range(90))
_TAILS: Final = (
    "--type=renderer --lang=en-GB --ticks=",
    "/c dir /s ",
    "-NoProfile -Command Get-Item ",
    "-k netsvcs -p -s ",
    "/nologo /W4 /Fo",
    "--config /etc/agent.conf --job ",
)
_KEYS: Final = (
    r"\registry\machine\software\microsoft\windows\currentversion\run\agent",
    r"\registry\machine\system\controlset001\services\tcpip\parameters\dhcp",
    r"\registry\user\s-1-5-21-1-2-3-1104\software\vendor\settings\window",
    r"\registry\machine\software\classes\clsid\item",
)
_FOLDERS: Final = (
    r"C:\Users\{user}\AppData\Local\Temp",
    r"C:\Users\{user}\AppData\Local\Microsoft\Windows\INetCache\IE",
    r"C:\Users\{user}\Documents\Projects\report",
    r"C:\Windows\Prefetch",
    r"C:\ProgramData\Vendor\Agent\cache",
)
_ENDINGS: Final = (".tmp", ".dat", ".log", ".docx", ".lnk", ".json", ".pf", ".cache")


def generate(telemetry: Path, segments: int) -> None:
    """Fills a new store in a child process."""
    command = [sys.executable, "-m", "bench.segments", str(telemetry), str(segments)]
    subprocess.run(command, check=True)


def fill(engine: ClickHouseEngine, segments: int) -> None:
    """Makes the tables and the segments."""
    create_tables(engine)
    draw = Random(30)
    definition = definitions(SEGMENT, engine.capabilities)[0]
    engine.command(definition.replace("`segment`", "`template`", 1))
    templates = min(TEMPLATES, segments)
    for first in range(0, templates, 1_000):
        made = [template(draw, n) for n in range(first, min(first + 1_000, templates))]
        engine.insert_arrow("template", segment_table(made))
    for copy in range(-(-segments // TEMPLATES)):
        rows = min(TEMPLATES, segments - copy * TEMPLATES)
        engine.command(_copied(copy, f"WHERE pid_number < {rows}"))
        engine.command(_copied(copy, f"WHERE pid_number < {rows} AND pid_number % 20 = 0"))
    engine.command(
        "INSERT INTO process SELECT partition_ms, process_id, sensor_id, "
        "groupUniqArray(window_ms) FROM segment GROUP BY partition_ms, process_id, sensor_id"
    )
    engine.command("DROP TABLE template SYNC")
    _wait_merged(engine)


def _wait_merged(engine: ClickHouseEngine) -> None:
    """Makes one part of every partition but the newest, as a server does some hours after it was
    closed (`PARTITION_UNCHANGED_S`)."""
    partitions = engine.query("SELECT DISTINCT partition_ms FROM segment ORDER BY 1").rows
    for (partition_ms,) in partitions[:-1]:
        engine.command(f"OPTIMIZE TABLE segment PARTITION ID '{partition_ms}' FINAL")
        add_suffix_indexes(engine, partition_ms)


def _copied(copy: int, which: str) -> str:
    """The statement that adds a copy of the templates, moved in time and to other hosts."""
    shift_ms = copy * WINDOWS_A_COPY * WINDOW_MS
    mark = f"lower(hex(toUInt32(sipHash64(pid_number, {copy}))))"
    host = f"toUInt32(1 + (pid_number * 7 + {copy} * 331) % {HOSTS})"
    partition_ms = BEGIN_MS + copy // COPIES_A_PARTITION * COPIES_A_PARTITION * (
        WINDOWS_A_COPY * WINDOW_MS
    )
    changed = {
        "partition_ms": f"toUInt64({partition_ms})",
        "window_ms": f"window_ms + {shift_ms}",
        "segment_id": f"segment_id + {shift_ms}",
        "sensor_id": host,
        "process_id": f"concat(lower(leftPad(hex({host}), 8, '0')), '-', "
        f"leftPad(lower(hex(toUInt16({copy}))), 4, '0'), substring(process_id, 14))",
        "hostname": f"concat('ws-', leftPad(toString({host}), 5, '0'), '.corp.example')",
    }
    for column in SEGMENT_COLUMNS:
        if column in TIMES:
            changed[column] = f"`{column}` + toIntervalMillisecond({shift_ms})"
        elif column in MARKED:
            changed[column] = f"replaceAll(`{column}`, '{MARK}', mark)"
        elif column in MARKED_LISTS:
            changed[column] = f"arrayMap(x -> replaceAll(x, '{MARK}', mark), `{column}`)"
        elif column.endswith("_time"):
            changed[column] = f"arrayMap(x -> x + toIntervalMillisecond({shift_ms}), `{column}`)"
    chosen = [f"{changed.get(name, f'`{name}`')} AS c{n}" for n, name in enumerate(SEGMENT_COLUMNS)]
    return (
        f"INSERT INTO segment ({', '.join(f'`{name}`' for name in SEGMENT_COLUMNS)}) "
        f"SETTINGS {_EXCLUDED} "
        f"WITH toUInt64(process_pid) AS pid_number, {mark} AS mark "
        f"SELECT {', '.join(chosen)} FROM template {which}"
    )


SEGMENT_COLUMNS: Final = tuple(
    text.split("`")[1] for text in SEGMENT.columns if " MATERIALIZED " not in text
)
TIMES: Final = ("start", "end_time", "last_update", "last_server_update", "first_server_update")
MARKED: Final = ("cmdline", "cmdline_tokens")
MARKED_LISTS: Final = ("filemod_path", "dnsquery_name")


def template(draw: Random, number: int) -> PartialSegment:
    """A segment of its own making; `number` is its process."""
    window_ms = BEGIN_MS + draw.randrange(WINDOWS_A_COPY) * WINDOW_MS
    image, parent = draw.choice(WINDOWS_PROGRAMS), draw.choice(WINDOWS_PROGRAMS)
    at_us = (window_ms - draw.randrange(20_000)) * 1_000
    process_id = f"00000001-0000-0000-0000-{number:012x}"
    events: dict[str, list[ProcessEvent]] = {}
    for name, event in _events(draw, process_id, at_us):
        events.setdefault(name, []).append(event)
    metadata = _metadata(draw, image, parent, at_us) | {"process_pid": number}
    return PartialSegment(
        BEGIN_MS, window_ms, window_ms, 1, process_id, metadata, events,
        [draw.getrandbits(48) for _ in range(EVENTS_A_SEGMENT)], [],
    )  # fmt: skip


def _metadata(draw: Random, image: Image, parent: Image, at_us: int) -> dict[str, Any]:
    tail = draw.choice(_TAILS)
    cmdline = f'"{image.path}" {tail}{draw.randrange(1_000)} {draw.choice(("", MARK))}'.rstrip()
    parent_cmdline = f'"{parent.path}" {draw.choice(_TAILS)}'
    hashes = file_hashes(image.path, draw.choice(image.versions))
    return {
        **{"group": f"Group {draw.randrange(7)}", "os_type": "windows", "host_type": "workstation"},
        **{"interface_ip": pack_address("10.10.0.1"), "comms_ip": pack_address("10.10.0.1")},
        **{"start": at_us, "last_update": at_us + draw.randrange(600) * 1_000_000},
        **{"last_server_update": at_us + 700_000_000, "first_server_update": at_us},
        **{"path": image.path, "process_name": image.path.rsplit("\\", 1)[-1]},
        **{"process_md5": hashes.md5, "process_sha256": hashes.sha256},
        **{"cmdline": cmdline, "cmdline_tokens": cmdline_tokens(cmdline)},
        **{"username": draw.choice(_USERS), "original_filename": image.original_name},
        **{"creation_observed": 1, "terminated": draw.randrange(2), "seq": 1},
        **{"parent_name": parent.path.rsplit("\\", 1)[-1], "parent_path": parent.path},
        **{"parent_id": f"00000001-0000-0000-0000-{draw.randrange(TEMPLATES):012x}"},
        **{"parent_cmdline": parent_cmdline, "parent_pid": draw.randrange(30_000)},
        "parent_cmdline_tokens": cmdline_tokens(parent_cmdline),
        "parent_md5": file_hashes(parent.path, parent.versions[0]).md5,
    }


def _events(draw: Random, process_id: str, at_us: int) -> Iterator[tuple[str, ProcessEvent]]:
    kinds = ["modload"] * 9 + ["filemod"] * 8 + ["regmod"] * 6 + ["netconn"] * 4
    kinds += [
        "dnsquery",
        draw.choice(("childproc", "crossproc")),
        draw.choice(("childproc", "regmod")),
    ]
    for number, kind in enumerate(kinds):
        yield kind, _event(draw, kind, process_id, at_us + number * 1_700_000)


def _event(draw: Random, kind: str, process_id: str, at_us: int) -> ProcessEvent:
    image = draw.choice(WINDOWS_PROGRAMS)
    other = f"00000001-0000-0000-0000-{draw.randrange(TEMPLATES):012x}"
    match kind:
        case "modload":
            module = draw.choice(WINDOWS_MODULES)
            digests = file_hashes(module.path, draw.choice(module.versions))
            signed = "Signed" if module.signer else "Unsigned"
            return Modload(process_id, at_us, module.path, digests.md5, digests.sha256,
                           digsig_result=signed, digsig_publisher=module.signer)  # fmt: skip
        case "filemod":
            return Filemod(process_id, at_us, draw.choice((1, 2, 4, 8)), _file(draw))
        case "regmod":
            key = f"{draw.choice(_KEYS)}{draw.randrange(2_000)}"
            return Regmod(process_id, at_us, 2, key, f"DWORD ({draw.randrange(64):#010x})")
        case "netconn":
            remote = f"{draw.choice(('192.0.2', '198.51.100', '203.0.113'))}.{draw.randrange(256)}"
            port = draw.choice((80, 443, 443, 443, 8080, 445, 53))
            return Netconn(process_id, at_us, draw.choice((1, 1, 1, 0)), 6,
                           pack_address("10.10.0.1"), 50_000 + draw.randrange(9_000),
                           pack_address(remote), port, draw.choice(WEB_NAMES))  # fmt: skip
        case "dnsquery":
            return Dnsquery(process_id, at_us, f"{draw.choice(('www', MARK))}.{WEB_NAMES[0]}")
        case "childproc":
            hashes = file_hashes(image.path, image.versions[0])
            return Childproc(process_id, at_us, 1, 0, other, image.path, 4_000, hashes.md5)
    return Crossproc(process_id, at_us, draw.choice((1, 2)), other, image.path)


def _file(draw: Random) -> str:
    folder = draw.choice(_FOLDERS).format(user=draw.choice(_USERS)[5:])
    own = MARK if draw.random() < 0.1 else f"{draw.randrange(3_000):04d}"
    return rf"{folder}\item-{own}{draw.choice(_ENDINGS)}"


def main(telemetry: Path, segments: int) -> None:
    engine = open_engine(telemetry)
    fill(engine, segments)
    engine.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
