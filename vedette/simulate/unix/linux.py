"""A Linux host: the operations of `Machine` as audit events in laurel's format."""

from vedette.simulate.fleet import Host
from vedette.simulate.machine import Process
from vedette.simulate.stream import PlainStream
from vedette.simulate.timestamps import MILLIS
from vedette.simulate.unix import laurel
from vedette.simulate.unix.machine import UnixMachine

IN_PROGRESS = -115
"""Result of a non-blocking connect; it counts as a connection
(docs/telemetry-events.md)."""

_SYSTEM_USERS = {"root": 0, "www-data": 33, "tomcat": 998, "postgres": 113, "builder": 1001}


class LinuxMachine(UnixMachine):
    def __init__(self, host: Host, seed: int, start_us: int) -> None:
        super().__init__(host, seed, start_us)
        self.user = host.user.login
        self._serial = self.rng.randrange(10_000, 900_000)
        head = b'{"create":{"_index":"laurel"}}\n{"NODE":"%b",' % host.name.encode()
        self._stream = PlainStream(head, b"}\n")
        self.add_running("root", "/usr/lib/systemd/systemd", "/sbin/init", "root", self.boot_us)

    def run(
        self, at_us: int, path: str, command_line: str, parent: Process, user: str = ""
    ) -> Process:
        pid = self.next_pid()
        self._call(at_us - 300, parent, "clone", pid)
        process = self._build(pid, path, command_line, user or parent.user, at_us, parent)
        body = laurel.execution(process, self._folder(process.user))
        self.out.append((at_us, self._stream, body))
        return process

    def exit(self, at_us: int, process: Process) -> None:
        self._call(at_us, process, "exit_group", 0)

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
        if name:
            self.connect(at_us - 30_000, process, "10.10.0.21", 53, udp=True)
        result = 0 if udp else IN_PROGRESS
        self._call(at_us, process, "connect", result, laurel.socket_address(address, port))

    def accept(self, at_us: int, process: Process, address: str, port: int) -> None:
        self._call(at_us, process, "accept4", 9, laurel.socket_address(address, port))

    def write(self, at_us: int, process: Process, path: str) -> None:
        self._touch(at_us, process, path, "openat", b"CREATE")

    def delete(self, at_us: int, process: Process, path: str) -> None:
        self._touch(at_us, process, path, "unlink", b"DELETE")

    def _touch(self, at_us: int, process: Process, path: str, name: str, kind: bytes) -> None:
        result = 3 if name == "openat" else 0
        folder = path.rpartition("/")[0] or "/"
        self._call(at_us, process, name, result, laurel.file_paths(folder, path, kind))

    def _build(
        self,
        pid: int,
        path: str,
        command_line: str,
        user: str,
        start_us: int,
        parent: Process | None,
    ) -> Process:
        key = self._event_id(start_us)
        subject = laurel.subject(key, pid, path, user, _SYSTEM_USERS.get(user, 1000), parent)
        line = command_line or path
        return Process(pid, path, line, user, start_us, key, subject, laurel.title(line), parent)

    def _event_id(self, at_us: int) -> bytes:
        """Returns `seconds.milliseconds:serial`, like auditd."""
        self._serial += 1
        second, micros = divmod(at_us, 1_000_000)
        return b"%d%b:%d" % (second, MILLIS[micros // 1000], self._serial)

    def _folder(self, user: str) -> str:
        return f"/home/{user}" if user == self.user else "/"

    def _call(
        self, at_us: int, process: Process, name: str, result: int, details: bytes = b""
    ) -> None:
        """Logs a system call; `details` are the records between SYSCALL and PROCTITLE."""
        begin = laurel.syscall(process, self._event_id(at_us), name, result)
        self.out.append((at_us, self._stream, begin + details + process.tail))
