"""Archives made to harm who imports them: members that lead out, archives within archives, bombs
and members that are cut short."""

import gzip
import io
import subprocess
import sys
import tarfile
import zipfile
from functools import cache
from typing import Final

from tests.fault.hostile.requests import NAMES
from tests.fault.hostile.target import Attack

LINE: Final = b'{"@timestamp": "2026-01-01T00:00:00Z", "host": {"name": "x"}}\n'
_LEADING_OUT: Final = ("../out", "/tmp/vedette-hostile-out", "a/../../out", "C:\\out", "..\\out")
_IMPORT_S: Final = 30


def zipped(members: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return made.getvalue()


def tarred(members: dict[str, bytes], *links: tuple[str, str]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
        for name, to in links:
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, to
            archive.addfile(entry)
    return made.getvalue()


@cache
def hostile_archives() -> dict[str, bytes]:
    """Archives by the name of their file."""
    usable = [name for name in NAMES if name and "\0" not in name and name.isprintable()]
    nested = LINE
    for _ in range(12):
        nested = zipped({"in.zip": nested})
    bomb = b" " * (300 << 20)
    return {
        "out.zip": zipped(dict.fromkeys(_LEADING_OUT, LINE)),
        "out.tar": tarred(dict.fromkeys(_LEADING_OUT, LINE), ("link", "/etc/passwd")),
        "names.zip": zipped(dict.fromkeys(usable, LINE)),
        "nested.zip": nested,
        "bomb.zip": zipped({"bomb.json": bomb}),
        "bomb.gz": gzip.compress(bomb, 1),
        "cut.zip": zipped({"a.json": LINE * 1_000})[:-30],
        "cut.tar.gz": gzip.compress(tarred({"a.json": LINE * 1_000}))[:-20],
        "many.zip": zipped({f"{number}.json": b"" for number in range(2_000)}),
        "garbage.evtx": b"ElfFile\0" + bytes(range(256)) * 400,
        "garbage.zip": b"PK\x03\x04" + bytes(range(256)) * 40,
    }


def import_archives(attack: Attack) -> None:
    """Imports all of them into the server, with a bound of time, until the end."""
    target = attack.target
    folder = attack.folder / "archives"
    folder.mkdir()
    for name, content in hostile_archives().items():
        (folder / name).write_bytes(content)
    before = sorted(attack.folder.iterdir())
    words = ["--url", target.url, "--token", target.ingest_token, "--ca", str(target.certificate)]
    while attack.goes_on():
        try:
            done = subprocess.run(
                [sys.executable, "-m", "vedette", "import", str(folder), *words],
                capture_output=True,
                timeout=_IMPORT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            attack.seen.disconnected("import")
            continue
        attack.seen.status("import", done.returncode)
        if b"Traceback" in done.stderr:
            attack.seen.failed(f"the import failed: {done.stderr[-500:]!r}")
        if sorted(attack.folder.iterdir()) != before:
            attack.seen.failed("an archive wrote outside")
