"""Events and facts about processes that one source record yields, as values.

`ingest` makes these, `fold` gathers them by process, `store` writes each kind as parallel
arrays of a segment (`model/columns.py` names the columns after the fields here, and a test
holds the two together). Every event belongs to one process, `process_id`
(36 characters, docs/clients.md#ids-and-times), and has a time in epoch microseconds, UTC.

Conventions: text that is not known is "", a number 0, an address the 16 zero bytes of
`UNKNOWN_IP`; hashes are lower-case hex; addresses are 16 bytes, IPv4 mapped into IPv6
(`model/address.py`).
"""

from enum import IntEnum

from msgspec import Struct

from vedette.model.metadata_rank import Rank

UNKNOWN_IP = bytes(16)


class FileOperation(IntEnum):
    """docs/api-objects.md#process-events, filemod_complete."""

    CREATED = 1
    FIRST_WRITE = 2
    DELETED = 4
    LAST_WRITE = 8


class RegistryOperation(IntEnum):
    """docs/api-objects.md#process-events, regmod_complete."""

    CREATED_KEY = 1
    WRITTEN = 2
    DELETED_KEY = 4
    DELETED_VALUE = 8


class CrossKind(IntEnum):
    """docs/api-objects.md#process-events, crossproc_complete."""

    REMOTE_THREAD = 1
    PROCESS_OPEN = 2


class ChildKind(IntEnum):
    """How a child began (docs/process-analysis.md#events-of-a-stream sub-types); OTHER where the
    source does not say."""

    OTHER = 0
    FORK = 1
    EXEC = 2
    OTHER_EXEC = 3


class PipeOperation(IntEnum):
    """Sysmon 17 and 18."""

    CREATED = 1
    CONNECTED = 2


class Facts(Struct, gc=False):
    """Metadata learned of a process: `values` maps metadata columns (`columns.METADATA`) to
    values. Not a countable event; `time_us` moves `last_update` unless it is 0, which means
    that the fact has no time of its own (what a child says of its parent)."""

    process_id: str
    time_us: int
    values: dict[str, str | int | bytes]
    rank: int = int(Rank.OWN)
    """How far the source is to be believed (`model/metadata_rank.py`)."""


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
    """Further text detection may ask for: previous creation time, archived, stream contents."""


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
    """The data written (Sysmon 13 `Details`) or the new name (14)."""
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
    """The other process, in both directions."""
    path: str = ""
    md5: str = ""
    sha256: str = ""
    subtype: int = 0
    """1 handle to a process, 2 handle to a thread; 0 for remote threads."""
    access: int = 0
    is_target: int = 0
    """1 when this process is the target and `target_id` names the source."""
    start_module: str = ""
    start_function: str = ""
    tamper: int = 0


BLOCK_RESULT_UNKNOWN = 255
"""The source does not say what became of the process, or blocked something else: a file, a
connection."""


class Processblock(Struct, gc=False):
    process_id: str
    time_us: int
    block_type: int
    block_event: int = 0
    block_result: int = BLOCK_RESULT_UNKNOWN
    """A number of `fields.BLOCK_STATUSES`."""
    block_error: int = 0
    path: str = ""
    command_line: str = ""
    md5: str = ""
    sha256: str = ""
    uid: str = ""
    username: str = ""


class Dnsquery(Struct, gc=False):
    """A queried name; answers `domain:` but is no connection (docs/http-api.md)."""

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
    """One part of a PowerShell script block (4104)."""

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
    """What was learned of a file's image: kept by hash and sensor (docs/telemetry-model.md).
    `values` maps
    columns of `columns.BINARY` to text; `md5`, `sha256`, `sha1` may be "" but not all three."""

    time_us: int
    md5: str
    sha256: str
    sha1: str
    path: str
    values: dict[str, str]


class Kept(Struct, gc=False):
    """A record without a process, or without a place in the model, kept for detection."""

    time_us: int
    channel: str
    event_id: int
    record_id: int
    provider: str
    fields: dict[str, str]


Outcome = Facts | ProcessEvent | BinarySeen | Kept
"""Everything `normalise` can return."""
