"""A Linux host: the verbs of `Machine` as laurel's audit events."""

from vedette.simulate import laurel
from vedette.simulate.fleet import Host
from vedette.simulate.machine import Process
from vedette.simulate.stamp import MILLIS
from vedette.simulate.stream import PlainStream
from vedette.simulate.unix_machine import UnixMachine

IN_PROGRESS = -115
"""What a non-blocking connect returns; it counts as a connection (telemetry.md 6)."""

_SYSTEM_USERS = {"root": 0, "www-data": 33, "tomcat": 998, "postgres": 113, "builder": 1001}


class LinuxMachine(UnixMachine):
    def __init__(self, host: Host, seed: int, start_us: int) -> None:
        super().__init__(host, seed, start_us)
        self.user = host.user.login
        self._serial = self.rng.randrange(10_000, 900_000)
        head = b'{"create":{"_index":"laurel"}}\n{"NODE":"%b",' % host.name.encode()
        self._stream = PlainStream(head, b"}\n")
        self.adopt("root", "/usr/lib/systemd/systemd", "/sbin/init", "root", self.boot_us)

    def run(
        self, at_us: int, path: str, command_line: str, parent: Process, user: str = ""
    ) -> Process:
        pid = self.next_pid()
        cloned = laurel.syscall(parent, self._event_id(at_us - 300), "clone", pid, b"exec")
        self._log(at_us - 300, cloned + laurel.title(parent))
        process = self._build(pid, path, command_line, user or parent.user, at_us, parent)
        self._log(at_us, laurel.execution(process, self._folder(process.user)))
        return process

    def exit(self, at_us: int, process: Process) -> None:
        body = laurel.syscall(process, self._event_id(at_us), "exit_group", 0, b"exit")
        self._log(at_us, body + laurel.title(process))

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
        body = laurel.syscall(process, self._event_id(at_us), "connect", result, b"net")
        self._log(at_us, body + laurel.socket_address(address, port) + laurel.title(process))

    def accept(self, at_us: int, process: Process, address: str, port: int) -> None:
        body = laurel.syscall(process, self._event_id(at_us), "accept4", 9, b"net")
        self._log(at_us, body + laurel.socket_address(address, port) + laurel.title(process))

    def write(self, at_us: int, process: Process, path: str) -> None:
        self._touch(at_us, process, path, "openat", b"CREATE")

    def delete(self, at_us: int, process: Process, path: str) -> None:
        self._touch(at_us, process, path, "unlink", b"DELETE")

    def _touch(self, at_us: int, process: Process, path: str, name: str, kind: bytes) -> None:
        result = 3 if name == "openat" else 0
        body = laurel.syscall(process, self._event_id(at_us), name, result, b"file")
        folder = path.rpartition("/")[0] or "/"
        self._log(at_us, body + laurel.file_paths(folder, path, kind) + laurel.title(process))

    def _build(
        self,
        pid: int,
        path: str,
        command_line: str,
        user: str,
        start_us: int,
        parent: Process | None,
    ) -> Process:
        members = laurel.subject(pid, path, user, _SYSTEM_USERS.get(user, 1000), parent)
        key = self._event_id(start_us)
        return Process(pid, path, command_line or path, user, start_us, key, members, parent)

    def _event_id(self, at_us: int) -> bytes:
        """`seconds.milliseconds:serial`, as auditd numbers its events."""
        self._serial += 1
        second, micros = divmod(at_us, 1_000_000)
        return b"%d.%b:%d" % (second, MILLIS[micros // 1000], self._serial)

    def _folder(self, user: str) -> str:
        return f"/home/{user}" if user == self.user else "/"

    def _log(self, at_us: int, body: bytes) -> None:
        self.out.append((at_us, self._stream, body))
