"""Sigma's regression set: every file holds an event that its rule must find, and so must the
rule's query, converted for this search.

All files go into one server; the process of the event is known by its ProcessGuid. A rule of
image loads, registry, file or network events finds the process by its events.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.recorded.expected import guid_of
from tests.recorded.raw import members, read_file
from tests.recorded.server import Server, running
from tests.recorded.sets import FOLDER, MANIFEST, NEEDED, archive

SET = "s01_sigma_regression"
QUERIES = FOLDER.parent / "queries" / "sigma_fixed.txt"
FOUND_MIN = 33

MISSES: dict[str, str] = {
    "Files With System DLL Name In Unsuspected Locations": "the same cmd.exe wrote a file to "
    "System32 for another rule of the set, and a negated path asks all files of the segment",
    "Potential File Extension Spoofing Using Right-to-Left Override": "the rule asks for text "
    "within a file name; a path is found from the beginning of a name",
    "Potential Defense Evasion Via Right-to-Left Override": "the rule asks for text within a "
    "word of the command line; words are found from their beginning",
}
"""Rules whose query misses its event, and why."""

pytestmark = [NEEDED, pytest.mark.xdist_group(f"set-{SET}")]


class Case(NamedTuple):
    """A rule with a query, and the processes of its events: host and ProcessGuid."""

    title: str
    query: str
    processes: frozenset[tuple[str, str]]


def queries() -> dict[str, str]:
    """Query by rule id."""
    lines = QUERIES.read_text(encoding="utf-8").splitlines()
    return {rule: query for rule, _, query in (line.split("\t", 2) for line in lines)}


def cases() -> list[Case]:
    known = queries()
    files = dict(members(archive(SET)))
    return [
        Case(title, known[rule], frozenset(processes_of(files, label["evtx"])))
        for label in MANIFEST[SET]["labels"]
        for rule, title in label["rules"]
        if rule in known
    ]


def processes_of(files: dict[str, bytes], names: list[str]) -> Iterator[tuple[str, str]]:
    for name in names:
        for record in read_file(name, files[name]):
            guid = guid_of(record.data.get("ProcessGuid"))
            if guid is not None:
                yield record.host, guid


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp(SET)
    logs = folder / "logs"
    logs.mkdir()
    for number, (name, content) in enumerate(members(archive(SET))):
        if name.endswith(".evtx"):
            (logs / f"{number:03d}.evtx").write_bytes(content)
    data = folder / "data"
    data.mkdir()
    with running(data) as server:
        server.take(logs)
        yield server


def is_found(server: Server, case: Case) -> bool:
    found = {reported(segment) for segment in server.segments(case.query)}
    return not found.isdisjoint({(host, guid[8:]) for host, guid in case.processes})


def reported(segment: dict[str, Any]) -> tuple[str, str]:
    """Host and ProcessGuid of a result, whose first digits are the sensor's."""
    return segment["hostname"].lower(), segment["id"][8:]


def test_every_query_finds_the_process_of_its_event_but_for_known_misses(server: Server) -> None:
    every = cases()
    missed = {case.title for case in every if not is_found(server, case)}
    assert missed == set(MISSES)
    assert len(every) - len(missed) >= FOUND_MIN
