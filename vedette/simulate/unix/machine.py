"""Common parts of Linux and macOS machines: processes that run before the sensor starts."""

from abc import abstractmethod

from vedette.simulate.machine import Machine, Process


class UnixMachine(Machine):
    """A machine whose first process, `root`, has pid 1 and is the ancestor of all others."""

    def add_running(
        self, name: str, path: str, command_line: str, user: str, start_us: int
    ) -> Process:
        pid = 1 if name == "root" else self.next_pid()
        parent = self.resident.get("root")
        process = self._build(pid, path, command_line, user, start_us, parent)
        self.resident[name] = process
        return process

    @abstractmethod
    def _build(
        self,
        pid: int,
        path: str,
        command_line: str,
        user: str,
        start_us: int,
        parent: Process | None,
    ) -> Process:
        """Returns a process with the identifiers of this machine's sensor."""
