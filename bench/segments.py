"""A store of generated segments, a million in a minute: `python -m bench.segments DIR SEGMENTS`

Templates of segments, 30 events each, are made in Python and multiplied by the engine itself, so
nothing of the write path is measured here or waited for. A copy of a template is another process
on another host at another time. Marks in its texts are replaced: by a number of its own, by the
host's, by a rare value and by a common one (`Marks`), so that there are words in one segment, in a
thousand and in all. The statement is made from the types of the table, whatever its columns are.

One segment in twenty comes in two partial rows, as segments of long-running processes do. All
partitions but the newest are one part with all indexes: one sorted insert makes it, and nothing is
merged or indexed again. Runs in a process of its own, because one process can have one store open.
"""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
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
COPIES_A_PARTITION: Final = 10
"""An insert is in memory as a whole: 2 GB for as many."""
BEGIN_MS: Final = 1_780_300_800_000
"""Start of the first window."""
MARK: Final = "0000face"
"""In texts of a template: eight hex digits that every copy has its own of."""
HOST_MARK: Final = "0000cafe"
"""The same: those of the host of the copy."""
RARE_MARK: Final = "0000d00d"
"""The same: those of one of `RARE_VALUES`, the lower ones more often."""
COPY_MARK: Final = "0000c0de"
"""The same: those of the number of the copy."""
COMMON_MARK: Final = "0000babe"
"""The same, of `COMMON_VALUES`."""
RARE_VALUES: Final = 3_000_000
COMMON_VALUES: Final = 20_000
INSERTS_AT_ONCE: Final = 2

_INDEXED: Final = (
    "optimize_on_insert = 1, max_insert_threads = 1, max_threads = 1, "
    "min_insert_block_size_rows = 10000000, min_insert_block_size_bytes = 0, "
    "max_partitions_per_insert_block = 0"
)
"""Settings of an insert that makes one merged part with all indexes."""

_EXCLUDE: Final = "exclude_materialize_skip_indexes_on_insert"
_EXCLUDED: Final = f"{_EXCLUDE} = '{INSERT_SETTINGS[_EXCLUDE]}', optimize_on_insert = 0"
"""Settings of a server's insert."""

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
    copied = Copied(engine)
    copies = -(-segments // TEMPLATES)
    newest = (copies - 1) // COPIES_A_PARTITION  # the partition that is written to
    with ThreadPoolExecutor(INSERTS_AT_ONCE) as threads:
        list(threads.map(partial(_closed_partition, engine, copied), range(newest)))
    for copy in range(newest * COPIES_A_PARTITION, copies):
        rows = min(TEMPLATES, segments - copy * TEMPLATES)
        for which in (f"pid < {rows}", f"pid < {rows} AND pid % {PARTIAL_EACH} = 0"):
            engine.command(copied.statement(copy, 1, which, _EXCLUDED, ONCE))
    _processes(engine, _opened_ms(newest * COPIES_A_PARTITION))
    engine.command("DROP TABLE template SYNC")


def _closed_partition(engine: ClickHouseEngine, copied: "Copied", number: int) -> None:
    """Copies one partition and merges it into one part, like a server after closing it."""
    first = number * COPIES_A_PARTITION
    engine.command(copied.statement(first, COPIES_A_PARTITION, "1", _INDEXED, TWICE))
    partition_ms = _opened_ms(first)
    parts = engine.query(
        "SELECT count(), min(level) FROM system.parts WHERE active AND table = 'segment' "
        "AND database = currentDatabase() AND partition_id = {id:String}",
        {"id": str(partition_ms)},
    ).rows[0]
    if parts[0] != 1 or parts[1] == 0:
        engine.command(f"OPTIMIZE TABLE segment PARTITION ID '{partition_ms}' FINAL")
    add_suffix_indexes(engine, partition_ms)  # notes them; builds what a merge has left out
    _processes(engine, partition_ms)


def _processes(engine: ClickHouseEngine, partition_ms: int) -> None:
    engine.command(
        "INSERT INTO process SELECT partition_ms, process_id, sensor_id, "
        f"groupUniqArray(window_ms) FROM segment WHERE partition_ms = {partition_ms} "
        "GROUP BY partition_ms, process_id, sensor_id"
    )


def _opened_ms(copy: int) -> int:
    """Returns the opening time (ms) of the partition of a copy."""
    return BEGIN_MS + copy // COPIES_A_PARTITION * COPIES_A_PARTITION * WINDOWS_A_COPY * WINDOW_MS


class Copied:
    """Makes the statements that multiply the templates, from the types of their columns."""

    def __init__(self, engine: ClickHouseEngine) -> None:
        described = engine.query("DESCRIBE TABLE template").rows
        self._columns = {
            row[0]: row[1] for row in described if row[2] not in ("MATERIALIZED", "ALIAS")
        }
        texts = [name for name, kind in self._columns.items() if "String" in kind]
        sought = ", ".join(
            f"countIf(position(toString(`{name}`), '{mark}') > 0)"
            for name in texts
            for mark in MARKS
        )
        counts = iter(engine.query(f"SELECT {sought} FROM template").rows[0])
        self._marks = {name: [mark for mark in MARKS if next(counts)] for name in texts}

    def statement(self, copy: int, copies: int, which: str, settings: str, numbers: str) -> str:
        """Adds copies of the templates to one partition, moved in time and to other hosts.
        `which` selects by `pid`, the number of the template; `numbers` are those of its copies."""
        made = {
            "partition_ms": f"toUInt64({_opened_ms(copy)})",
            "window_ms": "window_ms + shift_ms",
            "segment_id": "segment_id + shift_ms",
            "sensor_id": "host",
            "seq": "copy + 1",
        }
        names = ", ".join(f"`{name}`" for name in self._columns)
        values = ", ".join(
            f"{made.get(name) or _changed(f'`{name}`', kind, self._marks.get(name, ()))} AS c{n}"
            for n, (name, kind) in enumerate(self._columns.items())
        )
        marks = ", ".join(f"{value} AS {MARKS[mark]}" for mark, value in _mark_values().items())
        return (
            f"INSERT INTO segment ({names}) SETTINGS {settings} "
            f"WITH toUInt64(process_pid) AS pid, {copy} + number AS copy, "
            f"copy * {WINDOWS_A_COPY * WINDOW_MS} AS shift_ms, "
            f"toUInt32(1 + (pid * 7 + copy * 331) % {HOSTS}) AS host, "
            f"sipHash64(pid, copy) AS hash, {marks} SELECT {values} FROM template "
            f"ARRAY JOIN {numbers.format(copies=copies)} AS number WHERE {which}"
        )


MARKS: Final = {
    MARK: "own",
    HOST_MARK: "of_host",
    COPY_MARK: "of_copy",
    RARE_MARK: "rare",
    COMMON_MARK: "common",
}
"""The name of the value of each mark, in SQL."""
PARTIAL_EACH: Final = 20
"""Each of so many segments has two partial rows."""
ONCE: Final = "range({copies})"
TWICE: Final = (
    f"arrayConcat(range({{copies}}), if(pid % {PARTIAL_EACH} = 0, range({{copies}}), []))"
)


def _mark_values() -> dict[str, str]:
    """Values of the marks of a row, as SQL. Frequencies of words fall with their rank in all
    corpora of texts, file names and domains; so do these."""

    def drawn(salt: int, values: int) -> str:
        rank = f"toUInt32(pow((intDiv(hash, 256) % 1000003) / 1000003, 4) * {values})"
        return f"lower(hex(toUInt32(sipHash64({salt}, {rank}))))"

    return {
        MARK: "lower(hex(toUInt32(hash)))",
        HOST_MARK: "lower(leftPad(hex(host), 8, '0'))",
        COPY_MARK: "lower(leftPad(hex(toUInt32(copy)), 8, '0'))",
        RARE_MARK: drawn(1, RARE_VALUES),
        COMMON_MARK: drawn(2, COMMON_VALUES),
    }


def _changed(value: str, kind: str, marks: Sequence[str]) -> str:
    """The value of a copy, by its type: texts with their marks replaced, times moved."""
    if kind.startswith("SimpleAggregateFunction("):
        return _changed(value, _arguments(kind)[1], marks)
    if kind.startswith(("LowCardinality(", "Nullable(")):
        return _changed(value, _arguments(kind)[0], marks)
    if kind.startswith("Array("):
        element = _changed("x", _arguments(kind)[0], marks)
        return value if element == "x" else f"arrayMap(x -> {element}, {value})"
    if kind.startswith("Tuple("):
        fields = [argument.split(" ", 1) for argument in _arguments(kind)]
        made = [
            _changed(f"tupleElement({value}, {_quoted(name.strip('`'))})", element, marks)
            for name, element in fields
        ]
        return f"CAST(tuple({', '.join(made)}), {_quoted(kind)})"
    if kind.startswith("DateTime64"):
        moved = f"{value} + toIntervalMillisecond(shift_ms)"
        return f"if(toUnixTimestamp64Micro({value}) = 0, {value}, {moved})"
    if kind == "String":
        for mark in marks:
            value = f"replaceAll({value}, '{mark}', {MARKS[mark]})"
    return value


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "\\'") + "'"


def _arguments(kind: str) -> list[str]:
    """The arguments of a type, at its first level."""
    depth, found, begin = 0, [], kind.index("(") + 1
    for position in range(begin, len(kind) - 1):
        depth += {"(": 1, ")": -1}.get(kind[position], 0)
        if kind[position] == "," and depth == 0:
            found.append(kind[begin:position].strip())
            begin = position + 1
    return [*found, kind[begin:-1].strip()]


def template(draw: Random, number: int) -> PartialSegment:
    """A segment of its own making; `number` is its process."""
    window_ms = BEGIN_MS + draw.randrange(WINDOWS_A_COPY) * WINDOW_MS
    image, parent = draw.choice(WINDOWS_PROGRAMS), draw.choice(WINDOWS_PROGRAMS)
    at_us = (window_ms - draw.randrange(20_000)) * 1_000
    process_id = _process_id(number)
    events: dict[str, list[ProcessEvent]] = {}
    for name, event in _events(draw, number, at_us):
        events.setdefault(name, []).append(event)
    metadata = _metadata(draw, number, image, parent, at_us)
    return PartialSegment(
        BEGIN_MS,
        window_ms,
        window_ms,
        1,
        process_id,
        metadata,
        events,
        [draw.getrandbits(48) for _ in range(EVENTS_A_SEGMENT)],
        [],
    )


def _process_id(number: int) -> str:
    """Returns the id of a template's process, with marks for the host and the number of the
    copy."""
    return f"{HOST_MARK}-0000-0000-0000-{COPY_MARK}{number:04x}"


def _relative(draw: Random, number: int) -> str:
    """Another process of the same host."""
    return _process_id((number + HOSTS * draw.randrange(1, TEMPLATES // HOSTS)) % TEMPLATES)


def _metadata(draw: Random, number: int, image: Image, parent: Image, at_us: int) -> dict[str, Any]:
    tail = draw.choice(_TAILS)
    cmdline = f'"{image.path}" {tail}{draw.randrange(1_000)} {draw.choice(("", MARK))}'.rstrip()
    parent_cmdline = f'"{parent.path}" {draw.choice(_TAILS)}'
    hashes = file_hashes(image.path, draw.choice(image.versions))
    md5 = COMMON_MARK + hashes.md5[8:] if draw.random() < 0.05 else hashes.md5
    return {
        **{"process_pid": number, "hostname": f"ws-{HOST_MARK}.corp.example"},
        **{"group": f"Group {draw.randrange(7)}", "os_type": "windows", "host_type": "workstation"},
        **{"interface_ip": pack_address("10.10.0.1"), "comms_ip": pack_address("10.10.0.1")},
        **{"start": at_us, "last_update": at_us + draw.randrange(600) * 1_000_000},
        **{"last_server_update": at_us + 700_000_000, "first_server_update": at_us},
        **{"path": image.path, "process_name": image.path.rsplit("\\", 1)[-1]},
        **{"process_md5": md5, "process_sha256": hashes.sha256},
        **{"cmdline": cmdline, "cmdline_tokens": cmdline_tokens(cmdline)},
        **{"username": draw.choice(_USERS), "original_filename": image.original_name},
        **{"creation_observed": 1, "terminated": draw.randrange(2), "seq": 1},
        **{"parent_name": parent.path.rsplit("\\", 1)[-1], "parent_path": parent.path},
        **{"parent_id": _relative(draw, number)},
        **{"parent_cmdline": parent_cmdline, "parent_pid": draw.randrange(30_000)},
        "parent_cmdline_tokens": cmdline_tokens(parent_cmdline),
        "parent_md5": file_hashes(parent.path, parent.versions[0]).md5,
    }


def _events(draw: Random, number: int, at_us: int) -> Iterator[tuple[str, ProcessEvent]]:
    kinds = ["modload"] * 9 + ["filemod"] * 8 + ["regmod"] * 6 + ["netconn"] * 4
    kinds += [
        "dnsquery",
        draw.choice(("childproc", "crossproc")),
        draw.choice(("childproc", "regmod")),
    ]
    for position, kind in enumerate(kinds):
        yield kind, _event(draw, kind, number, at_us + position * 1_700_000)


def _event(draw: Random, kind: str, number: int, at_us: int) -> ProcessEvent:
    process_id = _process_id(number)
    image = draw.choice(WINDOWS_PROGRAMS)
    other = _relative(draw, number)
    match kind:
        case "modload":
            module = draw.choice(WINDOWS_MODULES)
            digests = file_hashes(module.path, draw.choice(module.versions))
            signed = "Signed" if module.signer else "Unsigned"
            md5 = RARE_MARK + digests.md5[8:] if draw.random() < 0.02 else digests.md5
            return Modload(
                process_id,
                at_us,
                module.path,
                md5,
                digests.sha256,
                digsig_result=signed,
                digsig_publisher=module.signer,
            )
        case "filemod":
            return Filemod(process_id, at_us, draw.choice((1, 2, 4, 8)), _file(draw))
        case "regmod":
            item = RARE_MARK if draw.random() < 0.05 else str(draw.randrange(2_000))
            key = f"{draw.choice(_KEYS)}{item}"
            return Regmod(process_id, at_us, 2, key, f"DWORD ({draw.randrange(64):#010x})")
        case "netconn":
            remote = f"{draw.choice(('192.0.2', '198.51.100', '203.0.113'))}.{draw.randrange(256)}"
            port = draw.choice((80, 443, 443, 443, 8080, 445, 53))
            return Netconn(
                process_id,
                at_us,
                draw.choice((1, 1, 1, 0)),
                6,
                pack_address("10.10.0.1"),
                50_000 + draw.randrange(9_000),
                pack_address(remote),
                port,
                _domain(draw),
            )
        case "dnsquery":
            name = f"{draw.choice(('www', MARK))}.{WEB_NAMES[0]}"
            return Dnsquery(process_id, at_us, draw.choice((name, _domain(draw))))
        case "childproc":
            hashes = file_hashes(image.path, image.versions[0])
            return Childproc(process_id, at_us, 1, 0, other, image.path, 4_000, hashes.md5)
    return Crossproc(process_id, at_us, draw.choice((1, 2)), other, image.path)


def _domain(draw: Random) -> str:
    """Mostly one of a few names; else one of thousands, or of millions."""
    drawn = draw.random()
    if drawn < 0.1:
        return f"{RARE_MARK}.cdn-{COMMON_MARK}.com"
    return f"{COMMON_MARK}.com" if drawn < 0.4 else draw.choice(WEB_NAMES)


def _file(draw: Random) -> str:
    folder = draw.choice(_FOLDERS).format(user=draw.choice(_USERS)[5:])
    drawn = draw.random()
    own = MARK if drawn < 0.1 else f"{draw.randrange(3_000):04d}"
    own = RARE_MARK if drawn > 0.9 else own
    return rf"{folder}\item-{own}{draw.choice(_ENDINGS)}"


def main(telemetry: Path, segments: int) -> None:
    engine = open_engine(telemetry)
    fill(engine, segments)
    engine.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
