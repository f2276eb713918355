"""Events and process facts, as values. One source record yields any number of them.

`ingest` creates these values, `fold` groups them by process, and `store` writes each kind as
parallel arrays of a segment. `model/columns.py` names the columns after the fields here; a test
compares both. Every event belongs to one process, `process_id` (36 characters,
docs/clients.md#ids-and-times), and has a time in epoch microseconds, UTC.

Conventions: an unknown text is "", an unknown number 0, an unknown address `UNKNOWN_IP` (16 zero
bytes). Hashes are lower-case hex. Addresses are 16 bytes, IPv4 mapped into IPv6
(`model/address.py`).
"""

from enum import IntEnum

from msgspec import Struct

from vedette.model.metadata_rank import Rank

UNKNOWN_IP = bytes(16)


class FileOperation(IntEnum):
    """Operations on files: numbers of `filemod_complete` (docs/api-objects.md#process-events)."""

    CREATED = 1
    FIRST_WRITE = 2
    DELETED = 4
    LAST_WRITE = 8


class RegistryOperation(IntEnum):
    """Operations on the registry: numbers of `regmod_complete`
    (docs/api-objects.md#process-events)."""

    CREATED_KEY = 1
    WRITTEN = 2
    DELETED_KEY = 4
    DELETED_VALUE = 8


class CrossKind(IntEnum):
    """Kinds of cross-process events: numbers of `crossproc_complete`
    (docs/api-objects.md#process-events)."""

    REMOTE_THREAD = 1
    PROCESS_OPEN = 2


class ChildKind(IntEnum):
    """Ways in which a child process starts (docs/process-analysis-events.md sub-types).
    OTHER if the source does not report it."""

    OTHER = 0
    FORK = 1
    EXEC = 2
    OTHER_EXEC = 3


class PipeOperation(IntEnum):
    """Operations on named pipes (Sysmon events 17 and 18)."""

    CREATED = 1
    CONNECTED = 2


class Facts(Struct, gc=False):
    """Metadata of a process from one record. `values` maps metadata columns (`columns.METADATA`) to
    values. Facts are not counted as events. `time_us` advances `last_update`; 0 means that the fact
    has no time of its own, such as facts about a parent in the record of its child."""

    process_id: str
    time_us: int
    values: dict[str, str | int | bytes]
    rank: int = int(Rank.OWN)
    """Trust in the source (`model/metadata_rank.py`)."""


class Filemod(Struct, gc=False):
    process_id: str
    time_us: int
    operation: int
    path: str
    md5: str = ""
    sha256: str = ""
    sha1: str = ""
    file_type: int = 0
    tamper: int = 0
    note: str = ""
    """Further text for detection: previous creation time, archived, stream contents."""


class Modload(Struct, gc=False):
    process_id: str
    time_us: int
    path: str
    md5: str = ""
    sha256: str = ""
    sha1: str = ""
    digsig_result: str = ""
    digsig_publisher: str = ""


class Regmod(Struct, gc=False):
    process_id: str
    time_us: int
    operation: int
    path: str
    value: str = ""
    """The data written (Sysmon 13 `Details`) or the new name (Sysmon 14)."""
    tamper: int = 0


class Netconn(Struct, gc=False):
    process_id: str
    time_us: int
    outbound: int
    protocol: int
    local_ip: bytes
    local_port: int
    remote_ip: bytes
    remote_port: int
    domain: str = ""
    ja3: str = ""
    ja3s: str = ""


class Childproc(Struct, gc=False):
    process_id: str
    time_us: int
    started: int
    """1 for a start, 0 for an end."""
    kind: int
    child_id: str
    path: str = ""
    pid: int = 0
    md5: str = ""
    sha256: str = ""
    command_line: str = ""
    username: str = ""
    suppressed: int = 0
    tamper: int = 0


class Crossproc(Struct, gc=False):
    process_id: str
    time_us: int
    kind: int
    target_id: str
    """The other process, whichever direction the event has."""
    path: str = ""
    md5: str = ""
    sha256: str = ""
    subtype: int = 0
    """1 handle to a process, 2 handle to a thread; 0 for remote threads."""
    access: int = 0
    is_target: int = 0
    """1 if this process is the target and `target_id` the source."""
    start_module: str = ""
    start_function: str = ""
    tamper: int = 0


BLOCK_RESULT_UNKNOWN = 255
"""The source does not report what happened to the process, or it blocked a file or a connection."""


class Processblock(Struct, gc=False):
    process_id: str
    time_us: int
    block_type: int
    block_event: int = 0
    block_result: int = BLOCK_RESULT_UNKNOWN
    """Index into `fields.BLOCK_STATUSES`."""
    block_error: int = 0
    path: str = ""
    command_line: str = ""
    md5: str = ""
    sha256: str = ""
    uid: str = ""
    username: str = ""


class Dnsquery(Struct, gc=False):
    """A DNS query. The field `domain:` searches it, but it is not a connection
    (docs/api-processes.md)."""

    process_id: str
    time_us: int
    name: str
    status: int = 0
    answers: str = ""


class Pipe(Struct, gc=False):
    process_id: str
    time_us: int
    operation: int
    name: str


class Scriptblock(Struct, gc=False):
    """One part of a PowerShell script block (event 4104)."""

    process_id: str
    time_us: int
    block_id: str
    part: int
    parts: int
    text: str
    path: str = ""


ProcessEvent = (
    Filemod
    | Modload
    | Regmod
    | Netconn
    | Childproc
    | Crossproc
    | Processblock
    | Dnsquery
    | Pipe
    | Scriptblock
)


class BinarySeen(Struct, gc=False):
    """Metadata of a file's image, stored by hash and sensor (docs/telemetry-model.md). `values`
    maps columns of `columns.BINARY` to text. At least one of `md5`, `sha256`, `sha1` is set."""

    time_us: int
    md5: str
    sha256: str
    sha1: str
    path: str
    values: dict[str, str]


class Kept(Struct, gc=False):
    """A record that belongs to no process or that the model has no event kind for. Stored for
    detection."""

    time_us: int
    channel: str
    event_id: int
    record_id: int
    provider: str
    fields: dict[str, str]
    level: str = ""
    """Name of the level of an event-log record (`log_fields.LEVELS`); "" if unknown."""


Outcome = Facts | ProcessEvent | BinarySeen | Kept
"""Types that a normaliser can return."""
