"""Templates of `_bulk` bodies that can be sent repeatedly, each time as new events.

A template is a body of recorded events with the offsets of the values that must differ each time:
times, record ids, GUIDs and pids of processes that start in it, ephemeral ports, and the random
part of temporary names. Filling it takes a few slice assignments per event, which leaves the cores
to the server.

Processes may span several templates, so all templates of a connection share one `Cycle`. Processes
that started before the recording keep their GUID, as services do.
"""

import re
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from vedette.model.ids import guid_start_us
from vedette.simulate.day import iter_events
from vedette.simulate.fleet import Fleet
from vedette.simulate.timestamps import second_text

RECORD_DIGITS = 14
_RECORD_EPOCH_S = 1_600_000_000
_RECORDS_PER_SECOND = 100_000
"""Record ids start at the current time, so that a later run continues above an earlier one; they
fit 48 bits until 2109."""

_PID_FIRST, _PIDS = 10_000, 13_800
"""Pids of five digits, multiples of four, below 65,536."""

_RECORDING_START_US = 1_767_778_200 * 1_000_000
"""A Wednesday, half past nine: within working hours."""

_TOKENS = re.compile(
    rb'"@timestamp":"(?P<iso>.{19})\.'
    rb'|UtcTime":"(?P<utc>.{19})\.'
    rb'|"record_id":(?P<record>\d+)'
    rb'|Process(?:Guid|GUID)":"\{.{8}-(?P<guid>[^}]{27})\}","\w*ProcessId":"(?P<pid>\d+)"'
    rb'|"SourcePort":"(?P<port>\d{5})"'
    rb'|"process":\{"pid":(?P<logger>\d+)'
    rb"|(?<![0-9a-fA-Fx])(?P<nonce>[0-9a-f]{8})(?![0-9a-zA-Z-])"
)
_COMPUTER = re.compile(rb'"computer_name":"([^"]+)"')
_CHANNEL = re.compile(rb'"channel":"([^"]+)"')

_PORTS = tuple(b"%d" % (50_000 + number * 7 % 15_000) for number in range(15_000))


@dataclass(slots=True)
class Cycle:
    """State shared by the templates of one connection, which are sent in turn."""

    record_ids: list[int] = field(default_factory=list)
    """Last record id by stream: a (host, channel)."""
    guids: list[bytes] = field(default_factory=list)
    """Last 27 characters of each process's GUID, after the host's prefix."""
    pids: list[bytes] = field(default_factory=list)
    """Pid of each process, as five digits."""
    next_pids: list[int] = field(default_factory=list)
    """Last used pid slot of each host."""
    sequence: int = 0
    """Counter for all values that must be new: processes, ports, names."""


@dataclass(slots=True)
class Template:
    """A body and the byte offsets to fill."""

    body: bytearray
    events: int = 0
    iso: "array[int]" = field(default_factory=lambda: array("L"))
    utc: "array[int]" = field(default_factory=lambda: array("L"))
    ports: "array[int]" = field(default_factory=lambda: array("L"))
    nonces: "array[int]" = field(default_factory=lambda: array("L"))
    records: list[tuple[int, int]] = field(default_factory=list)
    """(offset, stream) of each record id."""
    guids: list[tuple[int, int]] = field(default_factory=list)
    """(offset, process) of each GUID."""
    pids: list[tuple[int, int]] = field(default_factory=list)
    """(offset, process) of each pid."""
    births: list[tuple[int, int]] = field(default_factory=list)
    """(process, host) of the processes that start in this template."""

    def fill(self, cycle: Cycle, second: int) -> None:
        """Fills the body for the epoch second `second`."""
        body = self.body
        self._assign_process_ids(cycle, second)
        self._fill_times(*second_text(second))
        record_ids = cycle.record_ids
        for offset, stream in self.records:
            record_ids[stream] = number = record_ids[stream] + 1
            body[offset : offset + RECORD_DIGITS] = b"%d" % number
        guids, pids = cycle.guids, cycle.pids
        for offset, process in self.guids:
            body[offset : offset + 27] = guids[process]
        for offset, process in self.pids:
            body[offset : offset + 5] = pids[process]
        self._fill_unique_ids(cycle)

    def _assign_process_ids(self, cycle: Cycle, second: int) -> None:
        """Assigns new GUIDs, which contain the second of the process start
        (docs/telemetry-formats.md#real-world-data, fact 2), and new pids."""
        start = b"%04x-%04x-" % (second & 0xFFFF, second >> 16)
        for process, host in self.births:
            cycle.sequence += 1
            number = cycle.sequence
            cycle.guids[process] = start + b"%04x-%012x" % (number >> 32, number & 0xFFFFFFFF)
            cycle.next_pids[host] = slot = (cycle.next_pids[host] + 1) % _PIDS
            cycle.pids[process] = b"%d" % (_PID_FIRST + slot * 4)

    def _fill_times(self, iso: bytes, utc: bytes) -> None:
        body = self.body
        for offset in self.iso:
            body[offset : offset + 19] = iso
        for offset in self.utc:
            body[offset : offset + 19] = utc

    def _fill_unique_ids(self, cycle: Cycle) -> None:
        body, number = self.body, cycle.sequence
        for offset in self.ports:
            number += 1
            body[offset : offset + 5] = _PORTS[number % 15_000]
        for offset in self.nonces:
            number += 1
            body[offset : offset + 8] = b"%08x" % (number * 2_654_435_761 & 0xFFFFFFFF)
        cycle.sequence = number


def record_templates(
    fleet: Fleet, template_count: int, events_each: int, now_s: int
) -> tuple[list[Template], Cycle]:
    """Returns templates of a fleet of Windows hosts, to be sent in this order, repeatedly, and
    their cycle."""
    recorder = _Recorder(_RECORDING_START_US, now_s)
    total = template_count * events_each
    recording = iter_events(
        fleet, _RECORDING_START_US, hours=1, events=total + total // 5 + 2_000, stories=()
    )
    lines = (b"".join(stream.frame(at_us, body)) for at_us, stream, body in recording)
    templates = [recorder.template(lines, events_each) for _ in range(template_count)]
    return [template for template in templates if template.events], recorder.cycle


class _Recorder:
    """Converts framed events to templates, and numbers their shared values."""

    def __init__(self, start_us: int, now_s: int) -> None:
        self.cycle = Cycle()
        self._start_s = start_us // 1_000_000
        self._first_record = (now_s - _RECORD_EPOCH_S) * _RECORDS_PER_SECOND
        self._streams: dict[bytes, int] = {}
        self._hosts: dict[bytes, int] = {}
        self._processes: dict[bytes, int] = {}
        self._by_pid: dict[tuple[int, bytes], int] = {}

    def template(self, lines: Iterator[bytes], events: int) -> Template:
        """Returns a template of the next events."""
        template = Template(bytearray())
        for line in islice(lines, events):
            self._add(template, line)
            template.events += 1
        return template

    def _add(self, template: Template, line: bytes) -> None:
        computer = _found(_COMPUTER, line)
        host = self._number(self._hosts, computer, self.cycle.next_pids, len(self._hosts) * 97)
        body, position = template.body, 0
        for match in _TOKENS.finditer(line):
            kind = match.lastgroup or ""
            start, end = match.span("guid" if kind == "pid" else kind)
            body += line[position:start]
            offset, position = len(body), end
            match kind:
                case "record":
                    stream = self._number(
                        self._streams,
                        computer + _found(_CHANNEL, line),
                        self.cycle.record_ids,
                        self._first_record,
                    )
                    template.records.append((offset, stream))
                    body += b"0" * RECORD_DIGITS
                case "pid":
                    position = self._add_process(template, match, host)
                case "logger":
                    process = self._by_pid.get((host, match["logger"]))
                    if process is not None and b"PowerShell" in line:
                        template.pids.append((offset, process))
                        body += b"00000"
                    else:
                        body += match["logger"]
                case _:
                    _PLACES[kind](template).append(offset)
                    body += match[kind]
        body += line[position:]

    def _add_process(self, template: Template, match: re.Match[bytes], host: int) -> int:
        """Adds GUID and pid of a process that starts in the recording to the template; copies those
        of other processes. Returns the offset in the line up to which it copied."""
        body, guid = template.body, match["guid"]
        if guid_start_us("00000000-" + guid.decode()) < self._start_s * 1_000_000:
            body += match.string[match.start("guid") : match.end("pid")]
            return match.end("pid")
        known = len(self._processes)
        process = self._processes.setdefault(guid, known)
        if process == known:
            self.cycle.guids.append(b"")
            self.cycle.pids.append(b"")
            template.births.append((process, host))
        self._by_pid[host, match["pid"]] = process
        template.guids.append((len(body), process))
        body += guid + match.string[match.end("guid") : match.start("pid")]
        template.pids.append((len(body), process))
        body += b"00000"
        return match.end("pid")

    @staticmethod
    def _number(numbers: dict[bytes, int], name: bytes, counters: list[int], first: int) -> int:
        """Returns the number of a name; a new name gets a counter that starts at `first`."""
        number = numbers.get(name)
        if number is None:
            number = numbers[name] = len(numbers)
            counters.append(first)
        return number


_PLACES: dict[str, Callable[[Template], "array[int]"]] = {
    "iso": lambda template: template.iso,
    "utc": lambda template: template.utc,
    "port": lambda template: template.ports,
    "nonce": lambda template: template.nonces,
}


def _found(pattern: re.Pattern[bytes], line: bytes) -> bytes:
    match = pattern.search(line)
    return match[1] if match else b""
