"""A Mac: the operations of `Machine` as Endpoint Security messages, or as osquery result rows.

Neither has connection events. osquery's process table has no file events either, so those hosts
report processes only.
"""

from vedette.simulate.fleet import Host
from vedette.simulate.machine import Process
from vedette.simulate.stream import PlainStream
from vedette.simulate.unix import endpoint_security as es
from vedette.simulate.unix.machine import UnixMachine

_OSQUERY = (
    b'{"create":{"_index":"osquery"}}\n{"name":"pack_fleet_es_process_events",'
    b'"hostIdentifier":"%b","epoch":0,"counter":0,"numerics":false,"action":"added",'
)
_ESLOGGER = b'{"create":{"_index":"eslogger"}}\n{"host":{"name":"%b"},'


class MacMachine(UnixMachine):
    def __init__(self, host: Host, seed: int, start_us: int) -> None:
        super().__init__(host, seed, start_us)
        self.user = host.user.login
        self._number = self.rng.randrange(1_000, 50_000)
        self._by_osquery = host.role == "mac_osquery"
        head = _OSQUERY if self._by_osquery else _ESLOGGER
        self._stream = PlainStream(head % host.name.encode(), b"}\n")
        self.add_running("root", "/sbin/launchd", "/sbin/launchd", "root", self.boot_us)

    def run(
        self, at_us: int, path: str, command_line: str, parent: Process, user: str = ""
    ) -> Process:
        if self._by_osquery:
            pid = self.next_pid()
            process = self._build(pid, path, command_line, user or parent.user, at_us, parent)
            self._row(at_us, process, "exec")
            return process
        # Between fork and exec the child is a copy of its parent, with its own version.
        copy = self._build(
            self.next_pid(), parent.path, parent.command_line, parent.user, at_us - 400, parent
        )
        self._message(at_us - 400, parent.subject, "fork", b'{"child":%b}' % copy.subject)
        process = self._build(copy.pid, path, command_line, user or parent.user, at_us, parent)
        folder = f"/Users/{process.user}" if process.user == self.user else "/"
        event = es.execution(process.subject, process.command_line, folder)
        self._message(at_us, copy.subject, "exec", event)
        return process

    def exit(self, at_us: int, process: Process) -> None:
        if self._by_osquery:
            self._row(at_us, process, "exit")
        else:
            self._message(at_us, process.subject, "exit", b'{"stat":0}')

    def connect(
        self,
        at_us: int,
        process: Process,
        address: str,
        port: int,
        name: str = "",
        *,
        udp: bool = False,
    ) -> None:
        """Does nothing: Endpoint Security has no connection event."""

    def accept(self, at_us: int, process: Process, address: str, port: int) -> None:
        """Does nothing: Endpoint Security has no connection event."""

    def write(self, at_us: int, process: Process, path: str) -> None:
        if not self._by_osquery:
            self._message(at_us, process.subject, "create", es.creation(path))
            self._message(at_us + 2_000, process.subject, "close", es.closing(path))

    def delete(self, at_us: int, process: Process, path: str) -> None:
        if not self._by_osquery:
            self._message(at_us, process.subject, "unlink", es.removal(path))

    def _build(
        self,
        pid: int,
        path: str,
        command_line: str,
        user: str,
        start_us: int,
        parent: Process | None,
    ) -> Process:
        version = self._next_number()
        line = command_line or path
        process = Process(
            pid, path, line, user, start_us, b"%d:%d" % (pid, version), b"", b"", parent
        )
        process.subject = es.subject(process, version, self._uid(user))
        return process

    def _uid(self, user: str) -> int:
        return self.host.user.uid if user == self.user else 0

    def _next_number(self) -> int:
        self._number += 1
        return self._number

    def _message(self, at_us: int, process: bytes, kind: str, event: bytes) -> None:
        body = es.message(at_us, kind, self._next_number(), process, event)
        self.out.append((at_us, self._stream, body))

    def _row(self, at_us: int, process: Process, kind: str) -> None:
        uid = self._uid(process.user)
        body = es.osquery_row(process, at_us, kind, self._next_number(), process.user, uid)
        self.out.append((at_us, self._stream, body))
