"""What is remembered of one process, so that later records can be completed from it.

Values merge as the store merges them (`max`, model/columns.py): whatever the order in which
records are learned, the same is known afterwards. `told` is False while something is known that
no `Facts` has said yet; `tell` says it once, as a fact without a time of its own.
"""

from vedette.ingest.paths import file_name
from vedette.model.event import Facts, Outcome
from vedette.model.memoize import remembered


@remembered(65_536)
def shared(text: str) -> str:
    """The same text object for equal text: paths, users and hashes repeat on every host."""
    return text


class Known:
    """A process as far as it is known. `id` and `start_us` never change."""

    __slots__ = (
        "_cmdline",
        "_cmdline_told",
        "created",
        "end_us",
        "ended",
        "guid",
        "id",
        "keyed",
        "logon_type",
        "md5",
        "names",
        "parent_id",
        "parent_path",
        "parent_pid",
        "path",
        "pid",
        "pid_sent",
        "pids",
        "same_as",
        "sha256",
        "start_us",
        "told",
        "username",
    )

    def __init__(self, process_id: str, start_us: int) -> None:
        self.id = process_id
        self.start_us = start_us
        """0 when only the pid is known."""
        self.guid = ""
        """As the sender names it: ProcessGuid without braces, exec_id, pid:pidversion."""
        self.keyed = False
        """Its id is made of a ProcessGuid, not of pid and start."""
        self.pid = 0
        self.pids: tuple[int, ...] = ()
        """Mostly the one. Sysmon for Linux gives a GUID twice when a program starts twice in a
        second, and may name a thread's pid; `pid` is the highest."""
        self.pid_sent: object = None
        """The pid as the sender wrote it last: equal again means nothing to learn."""
        self.end_us = 0
        self.path = ""
        self.username = ""
        self.md5 = ""
        self.sha256 = ""
        self.parent_id = ""
        self.parent_pid = 0
        """For when only the parent's pid is known; see `Processes.parent_id_of`."""
        self.parent_path = ""
        self.logon_type = 0
        self.created = False
        """A record of its creation with a ProcessGuid was seen."""
        self.ended = False
        """A record of its end with a ProcessGuid was seen."""
        self.told = False
        self.names = 0
        """Under how many names the context holds it."""
        self.same_as: Known | None = None
        """The process with a ProcessGuid that this one (known by pid and start) is."""
        self._cmdline = ""
        self._cmdline_told = 0

    def learn(
        self,
        path: str = "",
        username: str = "",
        cmdline: str = "",
        md5: str = "",
        sha256: str = "",
        parent_id: str = "",
        logon_type: int = 0,
        end_us: int = 0,
    ) -> None:
        """Takes what is new. Hashes, parent and end are for other records' use and are not
        told: the records that carry them say them in their own `Facts`."""
        if path > self.path:
            self.path = shared(path)
            self.told = False
        if username > self.username:
            self.username = shared(username)
            self.told = False
        if logon_type > self.logon_type:
            self.logon_type = logon_type
            self.told = False
        if cmdline > self._cmdline and hash(cmdline) != self._cmdline_told:
            self._cmdline = cmdline
            self.told = False
        if md5 or sha256 or parent_id or end_us:  # of few records
            self.md5 = max(self.md5, md5)
            self.sha256 = max(self.sha256, sha256)
            self.parent_id = max(self.parent_id, parent_id)
            self.end_us = max(self.end_us, end_us)

    def learn_parent(self, pid: int, path: str) -> None:
        """What a record tells of the parent that names it by pid only."""
        if (pid, path) > (self.parent_pid, self.parent_path):
            self.parent_pid = pid
            self.parent_path = shared(path)

    def tell(self, out: list[Outcome]) -> None:
        """Appends the implicit facts of this process, unless they were told before."""
        if not self.told:
            self.told = True
            out.append(Facts(self.id, 0, self._values()))

    def retell(self) -> None:
        """Everything known counts as not told."""
        self.told = False
        self._cmdline_told = 0

    def _values(self) -> dict[str, str | int | bytes]:
        values: dict[str, str | int | bytes] = {}
        if self.guid:
            values["process_guid"] = self.guid
        if self.pid:
            values["process_pid"] = self.pid
        if self.start_us:
            values["start"] = self.start_us
        if self.path:
            values["path"] = self.path
            values["process_name"] = file_name(self.path)
        if self.username:
            values["username"] = self.username
        if self.logon_type:
            values["logon_type"] = self.logon_type
        if self._cmdline:
            # Long ones would fill the memory: from here on its hash says that it was told.
            values["cmdline"] = self._cmdline
            self._cmdline_told = hash(self._cmdline)
            self._cmdline = ""
        return values
