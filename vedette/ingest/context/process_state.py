"""Cached state of a process, used to complete later records of its host.

Path, user and command line come from the source with the best rank, then the best value (a drive is
better than an NT device), so the order of learning does not matter. `is_reported` is False while
learned values have not been reported in `Facts`. `report` emits them once, without a time, with
rank `OWN` or lower: the creation record reports its own metadata itself.
"""

from vedette.ingest.paths import file_name, path_preference
from vedette.model.event import Facts, Outcome
from vedette.model.memoize import memoize
from vedette.model.metadata_rank import Rank


@memoize(65_536)
def interned(text: str) -> str:
    """Returns one shared object for equal texts. Paths, users and hashes repeat on every host."""
    return text


_OWN = int(Rank.OWN)


class ProcessState:
    """The known state of a process. `id` and `start_us` never change."""

    __slots__ = (
        "_cmdline",
        "_cmdline_rank",
        "_cmdline_reported",
        "created",
        "end_us",
        "ended",
        "guid",
        "id",
        "is_reported",
        "keyed",
        "logon_type",
        "md5",
        "names",
        "parent_id",
        "parent_path",
        "parent_pid",
        "path",
        "path_rank",
        "pid",
        "pid_sent",
        "pids",
        "same_as",
        "sha256",
        "start_us",
        "username",
        "username_rank",
    )

    def __init__(self, process_id: str, start_us: int) -> None:
        self.id = process_id
        self.start_us = start_us
        """0 if only the pid is known."""
        self.guid = ""
        """The sender's own id: ProcessGuid without braces, exec_id, pid:pidversion."""
        self.keyed = False
        """Whether the id is derived from a ProcessGuid, not from pid and start."""
        self.pid = 0
        self.pids: tuple[int, ...] = ()
        """Usually a single pid. Sysmon for Linux uses a GUID twice if a program starts twice within
        a second, and may report the pid of a thread. `pid` is the highest."""
        self.pid_sent: object = None
        """The pid as the sender last wrote it. If it is equal again, there is nothing to learn."""
        self.end_us = 0
        self.path = ""
        self.path_rank = 0
        self.username = ""
        self.username_rank = 0
        self.md5 = ""
        self.sha256 = ""
        self.parent_id = ""
        self.parent_pid = 0
        """Used if only the parent's pid is known; see `HostContext.parent_id_of`."""
        self.parent_path = ""
        self.logon_type = 0
        self.created = False
        """Whether a creation record with a ProcessGuid was seen."""
        self.ended = False
        """Whether an end record with a ProcessGuid was seen."""
        self.is_reported = False
        self.names = 0
        """Number of names of this process in the index."""
        self.same_as: ProcessState | None = None
        """Entry of the same process with a ProcessGuid; set only if this entry is keyed by pid and
        start."""
        self._cmdline = ""
        self._cmdline_rank = 0
        self._cmdline_reported = 0

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
        rank: int = _OWN,
    ) -> None:
        """Merges values from a source of this rank. Hashes, parent and end only complete other
        records; `report` omits them because their own records report them."""
        if path and self._is_better(path, rank):
            self.is_reported = (
                self.is_reported and path == self.path and min(rank, _OWN) <= self.path_rank
            )
            self.path = interned(path)
            self.path_rank = rank
        if username and (rank, username) > (self.username_rank, self.username):
            self.is_reported = (
                self.is_reported
                and username == self.username
                and min(rank, _OWN) <= self.username_rank
            )
            self.username = interned(username)
            self.username_rank = rank
        if logon_type > self.logon_type:
            self.logon_type = logon_type
            self.is_reported = False
        if (
            cmdline
            and (rank, cmdline) > (self._cmdline_rank, self._cmdline)
            and hash(cmdline) != self._cmdline_reported
        ):
            self._cmdline = cmdline
            self._cmdline_rank = rank
            self.is_reported = False
        if md5 or sha256 or parent_id or end_us:  # only in few records
            self.md5 = max(self.md5, md5)
            self.sha256 = max(self.sha256, sha256)
            self.parent_id = max(self.parent_id, parent_id)
            self.end_us = max(self.end_us, end_us)

    def _is_better(self, path: str, rank: int) -> bool:
        if rank != self.path_rank or path == self.path:
            return rank > self.path_rank
        return path_preference(path) > path_preference(self.path)

    def learn_parent(self, pid: int, path: str) -> None:
        """Merges what a record reports about a parent that it identifies only by pid."""
        if (pid, path) > (self.parent_pid, self.parent_path):
            self.parent_pid = pid
            self.parent_path = interned(path)

    def report(self, out: list[Outcome]) -> None:
        """Appends facts with the learned values, unless they were already reported."""
        if self.is_reported:
            return
        self.is_reported = True
        values = self._values()
        rank = self.path_rank or self.username_rank or self._cmdline_rank or _OWN
        ranks = {min(rank, _OWN): values}
        if self.path:
            values = ranks.setdefault(min(self.path_rank, _OWN), {})
            values["path"] = self.path
            values["process_name"] = file_name(self.path)
        if self.username:
            ranks.setdefault(min(self.username_rank, _OWN), {})["username"] = self.username
        if self._cmdline:
            # Long command lines would fill memory: keep only a hash, which marks it as reported.
            ranks.setdefault(min(self._cmdline_rank, _OWN), {})["cmdline"] = self._cmdline
            self._cmdline_reported = hash(self._cmdline)
            self._cmdline = ""
            self._cmdline_rank = 0
        out += [Facts(self.id, 0, values, rank) for rank, values in ranks.items() if values]

    def mark_unreported(self) -> None:
        """Marks all known values as not reported."""
        self.is_reported = False
        self._cmdline_reported = 0

    def _values(self) -> dict[str, str | int | bytes]:
        values: dict[str, str | int | bytes] = {}
        if self.guid:
            values["process_guid"] = self.guid
        if self.pid:
            values["process_pid"] = self.pid
        if self.start_us:
            values["start"] = self.start_us
        if self.logon_type:
            values["logon_type"] = self.logon_type
        return values
