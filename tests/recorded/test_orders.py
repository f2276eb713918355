"""The order of the records does not matter: file order, reversed and shuffled answer the same.

One set of each format; `documents.py` says what is compared. JSON lines are reordered line by line,
audit.log event by event, EVTX files within their archive, and, as JSON, record by record.
"""

import io
import json
import random
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.recorded.documents import Body, Name, documents
from tests.recorded.raw import members, records_of
from tests.recorded.server import running
from tests.recorded.sets import NEEDED, archive, parameters

pytestmark = NEEDED

SETS = [
    "m01_psexec_lateral",  # NXLog, pids missing
    "m02_mavinject_dll",  # Get-WinEvent, clock off by hours
    "m04_enable_rdp",  # Winlogbeat 6
    "m11_log4shell_linux_sysmon",  # Sysmon for Linux as XML in syslog
    "m12_log4shell_linux_auoms",  # auditd through auoms
    "m13_linux_auditd_arp",  # audit.log
    "m14_dll_injection_empire",  # NXLog, more than one request of the importer, three hosts
    "p01_splunk_attackrange_wmi",  # NXLog with old names
    "p02_host_evtx_procdump",  # EVTX
]

Order = Callable[[list[bytes]], list[bytes]]


def backwards(parts: list[bytes]) -> list[bytes]:
    return parts[::-1]


def shuffled(parts: list[bytes]) -> list[bytes]:
    mixed = parts[:]
    random.Random(20_261_120).shuffle(mixed)
    return mixed


@pytest.fixture(scope="module", params=parameters(SETS))
def in_file_order(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, dict[Name, Body]]:
    name: str = request.param
    return name, _imported(tmp_path_factory.mktemp(name), archive(name))


@pytest.mark.parametrize("order", [backwards, shuffled])
def test_order_in_the_file_does_not_matter(
    in_file_order: tuple[str, dict[Name, Body]], order: Order, tmp_path: Path
) -> None:
    name, wanted = in_file_order
    reported = _imported(tmp_path / "data", _reordered(name, order, tmp_path))
    assert reported.keys() == wanted.keys()
    for process, body in wanted.items():
        assert reported[process] == body, process


def test_evtx_and_its_records_as_json_lines_are_the_same(tmp_path: Path) -> None:
    lines = [
        json.dumps(record).encode()
        for _, content in members(archive("p02_host_evtx_procdump"))
        if content[:8] == b"ElfFile\0"
        for record in records_of(content)
    ]
    path = tmp_path / "rendered.jsonl"
    path.write_bytes(b"\n".join(shuffled(lines)))
    wanted = _imported(tmp_path / "evtx", archive("p02_host_evtx_procdump"))
    assert _imported(tmp_path / "json", path) == wanted


def _imported(data: Path, path: Path) -> dict[Name, Body]:
    with running(data) as server:
        server.take(path)
    with running(data) as server:
        return documents(server)


def _reordered(name: str, order: Order, folder: Path) -> Path:
    """The set again, its records (of EVTX: its files) in another order."""
    files = list(members(archive(name)))
    if any(content[:8] == b"ElfFile\0" for _, content in files):
        return _repacked(files, order, folder / f"{name}.tar.gz")
    ((inner, content),) = files
    path = folder / Path(inner).name
    path.write_bytes(b"\n".join(order(list(_parts(content)))) + b"\n")
    return path


def _parts(content: bytes) -> Iterator[bytes]:
    """Lines, but of an audit.log all lines of an event together."""
    lines = [line for line in content.split(b"\n") if line.strip()]
    if not content.startswith(b"type="):
        yield from lines
        return
    events: dict[bytes, list[bytes]] = {}
    for line in lines:
        events.setdefault(line.split(b"msg=audit(")[1].split(b")")[0], []).append(line)
    yield from (b"\n".join(event) for event in events.values())


def _repacked(files: list[tuple[str, bytes]], order: Order, path: Path) -> Path:
    names = order([name.encode() for name, _ in files])
    contents = dict(files)
    with tarfile.open(path, "w:gz") as tar:
        for name in names:
            content = contents[name.decode()]
            info = tarfile.TarInfo(name.decode())
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path
