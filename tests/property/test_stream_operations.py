"""A stream gives what a plain list of the same process's events gives, whatever is done to it.

Each example is a process of its own in one store: events arrive in the newest window or in a new
one, and between that streams are moved, filtered and read, on one or the other of two servers, at
once or after a while, in which those that are not persistent may expire. The model is a list of
events that is sorted and filtered anew for every step; it shares no code with the streams.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.contract.store.rows import process_id, store
from tests.support.forms import in_form
from tests.support.started_state import put_started_state
from vedette.errors import NotFoundError
from vedette.model.address import pack_address
from vedette.model.event import (
    Childproc,
    Crossproc,
    Filemod,
    Modload,
    Netconn,
    Processblock,
    ProcessEvent,
    Regmod,
)
from vedette.model.event_facets import EVENT_FACETS
from vedette.model.scope import EVERYTHING
from vedette.model.segment import PartialSegment
from vedette.search.streams import stream
from vedette.search.streams.filtered_counts import FilteredCounts
from vedette.search.streams.stream import Page, Reader
from vedette.search.streams.stream_cursor import JumpBy, JumpTo, Seek
from vedette.state.db.database import Database, open_database
from vedette.store.engine.client import ClickHouseEngine
from vedette.web.processes.analysis.stream_events_json import stream_body

NOW_US = 1_700_000_500_000_000
WINDOW_MS = 300_000
BEGIN_MS = 1_700_000_400_000
KINDS = ("filemod", "modload", "regmod", "netconn", "childproc", "crossproc", "processblock")
PATHS = ("c:\\a\\x.exe", "c:\\a\\y.exe", "c:\\b\\x.exe", "/etc/passwd", "plain")
ADDRESSES = ("10.0.0.1", "10.0.0.2", "2001:db8::1")
_NUMBERS = count(500)


def event(kind: str, process: str, time_us: int, choice: int) -> ProcessEvent:
    path, remote = PATHS[choice % 5], pack_address(ADDRESSES[choice % 3])
    match kind:
        case "filemod":
            return Filemod(process, time_us, (1, 2, 4, 8)[choice % 4], path, file_type=choice % 2)
        case "modload":
            return Modload(process, time_us, path)
        case "regmod":
            return Regmod(process, time_us, (1, 2, 4, 8)[choice % 4], f"\\registry\\user\\{choice}")
        case "netconn":
            reported = {
                "domain": f"d{choice % 3}",
                "ja3": f"j{choice % 2}",
                "ja3s": f"s{choice % 3}",
            }
            return Netconn(process, time_us, 1, 6, remote, 1, remote, choice, **reported)
        case "childproc":
            digests = {"md5": f"m{choice % 2}", "sha256": f"h{choice % 3}"}
            return Childproc(process, time_us, 1, 0, process_id(choice), path, **digests)
        case "crossproc":
            return Crossproc(process, time_us, 1, process_id(choice), path)
    return Processblock(process, time_us, 1, path=path)


def ids_of(kind: str, one: Any) -> dict[str, str]:
    """The values of the facet fields, as docs/process-analysis-facets.md defines them."""
    ids = {"event_type": kind}
    path = getattr(one, "path", "")
    if kind in ("filemod", "childproc", "processblock", "crossproc", "modload"):
        ids["directory"] = path[: max(path.rfind("\\"), path.rfind("/")) + 1]
    if kind == "filemod":
        ids |= {"filemod_action": str(one.operation)}
        ids |= {"filemod_filetype": "1"} if one.file_type else {}
    if kind == "childproc":
        ids |= {"childproc_filepath": path, "childproc_md5": one.md5}
        ids |= {"childproc_sha256": one.sha256}
    if kind == "netconn":
        text = next(text for text in ADDRESSES if pack_address(text) == one.remote_ip)
        ids |= {"ipv6_address" if ":" in text else "ipv4_address": text, "domain": one.domain}
        ids |= {"ja3_fingerprint": one.ja3, "ja3s_fingerprint": one.ja3s}
    if kind == "regmod":
        ids |= {"regmod_hive": "\\registry\\user", "regmod_action": str(one.operation)}
    return ids


CRITERIA = {
    "event_type": KINDS,
    "directory": ("c:\\a\\", "c:\\b\\", "/etc/", "nowhere"),
    "filemod_action": ("1", "created", "deleted", "8"),
    "filemod_filetype": ("1", "PE"),
    "childproc_filepath": PATHS,
    "childproc_md5": ("m0", "m1"),
    "childproc_sha256": ("h0", "h2"),
    "ipv4_address": ("10.0.0.1", "10.0.0.2"),
    "ipv6_address": ("2001:db8::1", "2001:DB8:0::1"),
    "domain": ("d0", "d2"),
    "ja3_fingerprint": ("j0", "j1"),
    "ja3s_fingerprint": ("s0", "s2"),
    "regmod_action": ("1", "first_write", "deleted_key", "8"),
    "regmod_hive": ("\\registry\\user", "\\registry\\machine"),
}
assert set(CRITERIA) == set(EVENT_FACETS)
WORDS = {
    **{"created": "1", "deleted": "4", "PE": "1", "2001:DB8:0::1": "2001:db8::1"},
    **{"first_write": "2", "deleted_key": "4"},
}


@dataclass
class SentStory:
    """One event of the model; the order is that of its first four members."""

    segment: int
    time_us: int
    kind: str
    place: int
    event: Any

    @property
    def key(self) -> tuple[int, int, int, int]:
        return self.segment, self.time_us, KINDS.index(self.kind), self.place


@dataclass
class Model:
    """A process as a list, and one stream of it."""

    events: list[SentStory] = field(default_factory=list)
    segments: list[int] = field(default_factory=list)
    terminated: bool = False
    criteria: dict[str, list[str]] = field(default_factory=dict)
    at: tuple[int, int] = (0, 0)
    ref: int = 0
    now_s: int = 0
    used_s: int = 0

    def view(self, until_us: int | None = None) -> list[SentStory]:
        found = [
            one
            for one in sorted(self.events, key=lambda one: one.key)
            if until_us is None or one.time_us <= until_us
        ]
        for name, values in self.criteria.items():
            wanted = {WORDS.get(value, value) for value in values}
            if wanted:
                found = [one for one in found if ids_of(one.kind, one.event).get(name) in wanted]
        return found

    def index(self, view: list[SentStory]) -> int:
        segment, offset = self.at
        before = sum(one.segment < segment for one in view)
        return before + min(offset, sum(one.segment == segment for one in view))

    def place(self, view: list[SentStory], index: int) -> tuple[int, int]:
        segment = view[index].segment if index < len(view) else self.segments[-1]
        return segment, index - sum(one.segment < segment for one in view)

    def move(self, view: list[SentStory], step: Any) -> int:
        """Does a move; -1, 1 when it went too far."""
        index = self.index(view)
        filled = sorted({one.segment for one in view})
        overshot = 0
        if isinstance(step, Seek):
            index += step.by
            overshot = (index > len(view)) - (index < 0)
            self.at = self.place(view, max(0, min(index, len(view))))
        elif isinstance(step, JumpTo):
            self.ref = step.segment_id if step.segment_id > 1 else self.segments[0]
            self.at = (self.ref, 0)
            self.at = self.place(view, self.index(view))
        else:
            here = view[index].segment if index < len(view) else None
            now = filled.index(here) if here is not None else max(len(filled) - 1, 0)
            now += step.by
            if 0 <= now < len(filled):
                self.at = (filled[now], 0)
            else:
                overshot = 1 if now >= len(filled) and (filled or step.by) else 0
                overshot = -1 if now < 0 else overshot
                self.at = self.place(view, 0 if now < 0 else len(view))
            self.ref = self.at[0]
        return overshot

    def refilter(self, criteria: dict[str, list[str]]) -> None:
        segment, offset = self.at
        old = [one for one in self.view() if one.segment == segment]
        self.criteria = criteria
        new = [one for one in self.view() if one.segment == segment]
        if offset:
            offset = len(new) if offset >= len(old) else sum(o.key < old[offset].key for o in new)
        self.at, self.ref = (segment, offset), segment

    def answer(self, rows: int, until_us: int | None, overshot: int) -> dict[str, Any]:
        view = self.view(until_us)
        index = self.index(view)
        segment, offset = self.place(view, index)
        end = "complete" if self.terminated else "current"
        before_ref = sum(one.segment < self.ref for one in view)
        return {
            "status_fw": "void" if overshot > 0 else "ready" if index + rows < len(view) else end,
            "status_bw": "void" if overshot < 0 else "ready" if index else "complete",
            "ref_segment_id": self.ref,
            "cur_segment_id": segment,
            "head_as_ref_segment_offset": index - before_ref,
            "head_as_cur_segment_offset": offset,
            "events": [
                (one.segment, one.kind, one.time_us, shown(one.event))
                for one in view[index : index + rows]
            ],
        }


def shown(one: Any) -> Any:
    """Returns the value that distinguishes events of a kind in an answer."""
    return one.remote_port if isinstance(one, Netconn) else one.path


def read_back(body: dict[str, Any]) -> dict[str, Any]:
    body = {name: value for name, value in body.items() if name != "stream_id"}
    body["events"] = [
        (
            one["segment_id"],
            one["type"],
            int(one["time"][-7:-1]),
            one["data"].get(
                "remote_port", one["data"].get("path", one["data"].get("blocked_path"))
            ),
        )
        for one in body["events"]
    ]
    return body


TIMES = st.integers(1, 40)
ARRIVALS = st.tuples(
    st.just("arrive"),
    st.booleans(),
    st.lists(st.tuples(st.sampled_from(KINDS), TIMES, st.integers(0, 11)), max_size=8),
)
UNTIL = st.none() | TIMES
MOVES = (
    st.none()
    | st.integers(-12, 12).map(Seek)
    | st.integers(-3, 3).map(JumpBy)
    | st.integers(0, 5).map(JumpTo)
)
READS = st.tuples(st.just("read"), st.integers(0, 9), MOVES, UNTIL)
FILTERS = st.tuples(
    st.just("filter"),
    st.dictionaries(
        st.sampled_from(sorted(CRITERIA)), st.lists(st.integers(0, 6), max_size=3), max_size=2
    ),
    st.integers(0, 9),
    UNTIL,
)
TTL_S = 1_000
WAITS = st.tuples(st.just("wait"), st.sampled_from((300, 600, 1_200)))
"""No sum of them lies where a stream may be alive or dead (docs/process-analysis.md)."""
STEPS = st.lists(
    st.one_of(READS, READS, READS, ARRIVALS, FILTERS, WAITS, st.tuples(st.just("end"))),
    max_size=12,
)


Servers = Callable[[int, int], Reader]
"""Who reads at one of two servers, so many seconds after the beginning."""


@pytest.fixture(scope="module")
def servers(
    root_engine: ClickHouseEngine, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Servers]:
    from vedette.store.engine.capabilities import EMBEDDED
    from vedette.store.schema.create import create_tables

    engine = root_engine.sibling("test_stream_operations", EMBEDDED)
    create_tables(engine)
    folder: Path = tmp_path_factory.mktemp("state")
    credentials = put_started_state(folder, NOW_US)
    databases: list[Database] = [open_database("", folder) for _ in range(2)]
    name, views = credentials.username, [FilteredCounts(), FilteredCounts()]

    def reader(server: int, now_s: int) -> Reader:
        now_us = NOW_US + now_s * 1_000_000
        return Reader(engine, databases[server], views[server], EVERYTHING, name, TTL_S, now_us)

    yield reader
    for database in databases:
        database.close()
    engine.close()
    root_engine.command("DROP DATABASE test_stream_operations SYNC")


def arrive(reader: Reader, process: str, model: Model, opens: bool, drawn: list[Any]) -> None:
    """A commit: into the newest window, or a new one."""
    if opens or not model.segments:
        model.segments.append(BEGIN_MS + WINDOW_MS * len(model.segments))
    segment = model.segments[-1]
    by_kind: dict[str, list[ProcessEvent]] = {}
    for kind, time_us, choice in drawn:
        one = event(kind, process, time_us, choice)
        place = sum(old.segment == segment and old.kind == kind for old in model.events)
        model.events.append(SentStory(segment, time_us, kind, place, one))
        by_kind.setdefault(kind, []).append(one)
    metadata = {"first_server_update": segment * 1_000, "terminated": int(model.terminated)}
    part = PartialSegment(BEGIN_MS, segment, segment, 1, process, metadata, by_kind, [], [])
    store(reader.engine, part)


@settings(
    max_examples=in_form(20, 40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    first=ARRIVALS, steps=STEPS, at=st.lists(st.integers(0, 1), min_size=12), stays=st.booleans()
)
def test_a_stream_and_a_list_give_the_same(
    servers: Servers, first: Any, steps: list[Any], at: list[int], stays: bool
) -> None:
    process, model = process_id(next(_NUMBERS)), Model()
    arrive(servers(0, 0), process, model, True, first[2])
    body = stream_body(stream.create(servers(0, 0), process, 1, stays))
    model.at, model.ref = (model.segments[0], 0), model.segments[0]
    stream_id = body["stream_id"]
    assert read_back(body) == model.answer(0, None, 0)
    for server, step in zip(at, steps, strict=False):
        here = servers(server, model.now_s)
        if step[0] in ("read", "filter") and not stays and model.now_s - model.used_s > TTL_S:
            with pytest.raises(NotFoundError, match="expired"):
                stream.read(here, stream_id, Page())
            return
        do(here, process, model, stream_id, step)
    stream.remove(servers(1, model.used_s), stream_id)
    with pytest.raises(NotFoundError, match=stream_id):
        stream.read(servers(0, model.used_s), stream_id, Page())


def do(here: Reader, process: str, model: Model, stream_id: str, step: Any) -> None:
    """One step, on the stream and on the model; they give the same."""
    match step:
        case "arrive", opens, drawn:
            arrive(here, process, model, opens, drawn)
        case ("end",):
            model.terminated = True
            arrive(here, process, model, False, [])
        case "wait", seconds:
            model.now_s += seconds
        case "read", rows, move, until_us:
            if isinstance(move, JumpTo) and move.segment_id > 1:
                move = JumpTo(model.segments[move.segment_id % len(model.segments)])
            overshot = 0 if move is None else model.move(model.view(until_us), move)
            body = stream_body(stream.read(here, stream_id, Page(rows, move, until_us)))
            assert read_back(body) == model.answer(rows, until_us, overshot)
            model.used_s = model.now_s
        case "filter", drawn, rows, until_us:
            criteria = {
                name: [CRITERIA[name][n % len(CRITERIA[name])] for n in chosen]
                for name, chosen in drawn.items()
            }
            model.refilter(criteria)
            page = Page(rows, None, until_us)
            body = stream_body(stream.filter_events(here, stream_id, criteria, page))
            assert read_back(body) == model.answer(rows, until_us, 0)
            model.used_s = model.now_s
