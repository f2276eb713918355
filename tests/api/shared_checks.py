"""The shared checks of the query language as stored data: `python -m tests.api.shared_checks DIR`
makes a store in which every check has a host of its own, and on it one process.

A process whose check is about a binary runs that binary. Runs in a process of its own, because
one process can have one store open.
"""

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.claims import claimed
from vedette.model.address import pack_address
from vedette.model.binary_fields import JOINED_FIELDS
from vedette.model.event import BinarySeen, Filemod, Modload, Netconn, ProcessEvent, Regmod
from vedette.model.fields import PROCESS
from vedette.model.segment import PartialSegment
from vedette.model.tokens import cmdline_tokens
from vedette.store.engine.open import open_engine
from vedette.store.schema.create import create_tables
from vedette.store.write.commit import BinaryRow, Commit, ProcessWindow
from vedette.store.write.insert import write_commit

SHARED = Path(os.environ.get("VEDETTE_SHARED") or Path(__file__).parents[3] / "shared")
QUERIES = SHARED / "data" / "queries"

WINDOW_MS = 1_780_300_800_000
WINDOW_US = WINDOW_MS * 1_000


@dataclass(frozen=True)
class Check:
    """A query, a document, and whether they match."""

    number: int
    query: str
    document: dict[str, str]
    matches: bool

    @property
    def host(self) -> str:
        return f"check-{self.number}"

    @property
    def is_of_binary(self) -> bool:
        return bool(self.document) and _BINARY_NAMES.issuperset(self.document)

    @property
    def is_of_process(self) -> bool:
        """Whether the document has fields of a process alone."""
        fields = map(PROCESS.find, self.document)
        return all(field is not None and field.kind == "column" for field in fields)


_BINARY_NAMES = {name for name, _, _ in JOINED_FIELDS}


def checks() -> list[Check]:
    """All shared checks, numbered in their order; [] without the shared folder."""
    path = QUERIES / "vectors.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    found = map(json.loads, lines)
    return [Check(n, one["query"], one["doc"], one["match"]) for n, one in enumerate(found)]


def stored_checks() -> list[Check]:
    return [check for check in checks() if check.is_of_process or check.is_of_binary]


def commit() -> Commit:
    """The documents of the checks, as the write path would leave them."""
    made = stored_checks()
    return Commit(
        segments=[_segment(check) for check in made],
        binaries=[_binary(check) for check in made if check.is_of_binary],
        processes=[
            ProcessWindow(WINDOW_MS, _process_id(check), check.number + 1, WINDOW_MS)
            for check in made
        ],
    )


def _process_id(check: Check) -> str:
    return f"{check.number + 1:08x}-0000-0000-0000-{check.number:012x}"


def _md5(check: Check) -> str:
    return f"{check.number:032x}"


def _segment(check: Check) -> PartialSegment:
    known: dict[str, Any] = {
        **{"hostname": check.host, "last_update": WINDOW_US, "last_server_update": WINDOW_US},
        **{"first_server_update": WINDOW_US, "seq": 1},
    }
    if check.is_of_binary:
        known["process_md5"] = _md5(check)
    events: dict[str, list[ProcessEvent]] = {}
    for name, value in check.document.items() if check.is_of_process else ():
        reported = list(_events(name, value, _process_id(check)))
        if reported:
            events[type(reported[0]).__name__.lower()] = reported
        elif not name.endswith("_count"):
            known[name] = value
    if "cmdline" in known:
        known["cmdline_tokens"] = cmdline_tokens(known["cmdline"])
    return PartialSegment(
        WINDOW_MS,
        WINDOW_MS,
        WINDOW_MS,
        check.number + 1,
        _process_id(check),
        claimed(known),
        events,
        [check.number + 1],
        [],
    )


def _events(name: str, value: str, process_id: str) -> Iterator[ProcessEvent]:
    """Yields the event that a value of a field describes; nothing for metadata."""
    match name:
        case "filemod":
            yield Filemod(process_id, WINDOW_US, 1, value)
        case "regmod":
            yield Regmod(process_id, WINDOW_US, 1, value)
        case "modload_count":
            for number in range(int(value)):
                yield Modload(process_id, WINDOW_US, f"c:\\m\\{number}.dll")
        case "domain" | "ipaddr" | "ipv6addr":
            address = "192.0.2.1" if name == "domain" else value
            domain = value if name == "domain" else ""
            yield Netconn(
                process_id,
                WINDOW_US,
                1,
                6,
                pack_address("10.0.0.9"),
                50_000,
                pack_address(address),
                443,
                domain,
            )


def _binary(check: Check) -> BinaryRow:
    known = dict(check.document)
    path = known.pop("observed_filename", "")
    seen = BinarySeen(WINDOW_US, _md5(check), "", "", path, known)
    return BinaryRow(check.number + 1, check.host, "Default Group", "windows", seen, WINDOW_US, 1)


def main(directory: Path) -> None:
    engine = open_engine(directory)
    create_tables(engine)
    write_commit(engine, commit())
    engine.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
