"""The columns of stored process segments, as data.

A row of `segment` describes one process in one window of server time (docs/telemetry-model.md). The
store derives its tables from these tuples, `ingest/fold.py` its drafts, and the field catalogue its
columns. No other module may spell out a column list.

Event columns are named `<kind>_<field>`, for example `filemod_path`. The fields are those of the
structs in `model/event.py` without `process_id`. All arrays of one kind have the same length and
order. `<kind>_count` is that length, summed over partial rows.
"""

from dataclasses import dataclass, replace
from typing import Final, Literal

from vedette.model import event
from vedette.model.metadata_rank import GROUP_OF, GROUPS, RANK_COLUMNS

ColumnType = Literal["text", "u8", "u16", "u32", "u64", "i32", "time", "ip"]
"""`text` is String. `time` is DateTime64(6, 'UTC'), passed as epoch microseconds. `ip` is 16 bytes
in IPv6 format."""

RANK_LENGTH: Final = 8
"""Length of a rank: big-endian in front of a text, the upper half of a number."""

Merge = Literal["max", "min"]
"""Aggregate function that merges the values of partial rows of a segment, in any order. With `max`,
a nonempty text wins over "" and a nonzero number over 0. `min` columns must be set in every partial
row."""


@dataclass(frozen=True, slots=True)
class Column:
    """A metadata column of a segment or a column of a binary."""

    name: str
    type: ColumnType
    merge: Merge = "max"
    """Merge function of its partial rows, unless the column has a group."""
    group: str = ""
    """Group of `model/metadata_rank.py`. The column is stored with the rank of its claim in front,
    as `<name>_claim`, so that the greatest stored value is that of the best claim; `<name>` is an
    alias of its value. All columns of a claim have one rank, so the best claim wins as a whole."""

    @property
    def physical(self) -> str:
        """The name of the column that holds the values in the table `segment`."""
        return f"{self.name}_claim" if self.group else self.name

    def shown(self, stored: str) -> str:
        """SQL: the value of a stored one, which is an SQL expression."""
        if not self.group:
            return stored
        match self.type:
            case "text":
                return f"substring({stored}, {RANK_LENGTH + 1:d})"
            case "time":
                return f"fromUnixTimestamp64Micro(toInt64({stored}), 'UTC')"
            case _:
                return f"toUInt{self.type[1:]}({stored})"

    def rank(self, stored: str) -> str:
        """SQL: the rank of a stored value of a group."""
        if self.type == "text":
            return f"reinterpretAsUInt64(reverse(substring({stored}, 1, {RANK_LENGTH:d})))"
        return f"toUInt64(bitShiftRight({stored}, {8 * RANK_LENGTH:d}))"


def _grouped(*columns: Column) -> tuple[Column, ...]:
    return tuple(replace(column, group=GROUP_OF.get(column.name, "")) for column in columns)


KEY: tuple[Column, ...] = (
    Column("partition_ms", "u64"),  # opening time of the hot partition that received the row
    Column("window_ms", "u64"),  # start of the window of server time
    Column("sensor_id", "u32"),
    Column("process_id", "text"),
    Column("segment_id", "u64"),  # window_ms + number of earlier full segments of the window
)
"""Key of a segment. Partial rows with the same key form one segment."""

HOST: tuple[Column, ...] = (
    Column("hostname", "text"),
    Column("group", "text"),  # name of the sensor group when the events arrived
    Column("os_type", "text"),  # windows, linux, osx
    Column("host_type", "text"),  # workstation, server, domain_controller; "" means workstation
    Column("interface_ip", "ip"),
    Column("comms_ip", "ip"),
    Column("host_clock", "u16"),  # UTC offset of the host's clock, see model/host.py
    Column("filtering_known_dlls", "u8"),  # the group's filters drop loads of known DLLs
)

PROCESS: tuple[Column, ...] = _grouped(
    Column("start", "time"),
    Column("path", "text"),
    Column("process_name", "text"),  # last part of `path`, with its letter case
    Column("process_pid", "u32"),
    Column("process_md5", "text"),
    Column("process_sha256", "text"),
    Column("process_sha1", "text"),
    Column("cmdline", "text"),
    Column("username", "text"),
    Column("uid", "text"),  # Linux uid or Windows SID
    Column("creation_observed", "u8"),
    Column("terminated", "u8"),
    Column("end_time", "time"),
    Column("exit_status", "text"),
    Column("tampered", "u8"),
    Column("original_filename", "text"),
    Column("integrity_level", "text"),
    Column("current_directory", "text"),
    Column("logon_id", "text"),
    Column("logon_type", "u32"),
    Column("terminal_session_id", "text"),
    Column("process_guid", "text"),  # the sender's own id: ProcessGuid, exec_id, pid:pidversion
    Column("parent_id", "text"),
    Column("parent_name", "text"),
    Column("parent_path", "text"),
    Column("parent_pid", "u32"),
    Column("parent_md5", "text"),
    Column("parent_sha256", "text"),
    Column("parent_cmdline", "text"),
    Column("parent_username", "text"),
)
"""Columns that a normaliser may set in `Facts.values`. `start` and `end_time` are epoch
microseconds."""

DERIVED: tuple[Column, ...] = _grouped(
    Column("cmdline_tokens", "text"),  # model/tokens.py; fold computes it whenever cmdline is set
    Column("parent_cmdline_tokens", "text"),
    *(Column(name, "u64") for name in RANK_COLUMNS),  # model/metadata_rank.py
)

TOUCHED: tuple[Column, ...] = (
    Column("last_update", "time"),  # newest event time
    Column("last_server_update", "time"),  # newest commit
    Column("first_server_update", "time", "min"),
    Column("seq", "u64"),  # commit number of the newest partial row
)
"""Columns that the writer sets at commit."""

METADATA: tuple[Column, ...] = HOST + PROCESS + DERIVED + TOUCHED

SHAPE = Column("cmdline_shape", "u64", group="command")
"""Which command lines are alike (`model/tokens.py`); made from `cmdline` when rows are stored."""

CLAIMS: Final[dict[str, tuple[Column, ...]]] = {
    group.name: (
        *(column for name in group.columns for column in METADATA if column.name == name),
        *((SHAPE,) if SHAPE.group == group.name else ()),
    )
    for group in GROUPS
}
"""The stored columns of each group. The first one gives the group's rank to reads."""

RANKS: Final[dict[str, Column]] = {
    group.name: column
    for group in GROUPS
    for column in METADATA
    if column.name == group.rank_column
}
"""The rank column of each group, which is no stored column."""

BINARY: tuple[Column, ...] = (
    Column("file_version", "text"),
    Column("product_name", "text"),
    Column("product_version", "text"),
    Column("product_desc", "text"),
    Column("company_name", "text"),
    Column("file_desc", "text"),
    Column("original_filename", "text"),
    Column("internal_name", "text"),
    Column("legal_copyright", "text"),
    Column("legal_trademark", "text"),
    Column("private_build", "text"),
    Column("special_build", "text"),
    Column("comments", "text"),
    Column("imphash", "text"),
    Column("digsig_result", "text"),  # one of field.SIGN_RESULTS
    Column("digsig_result_code", "text"),  # the operating system's result, decimal
    Column("digsig_publisher", "text"),
    Column("digsig_issuer", "text"),
    Column("digsig_subject", "text"),
    Column("digsig_prog_name", "text"),
    Column("digsig_sign_time", "time"),
    Column("is_executable_image", "u8"),
    Column("is_64bit", "u8"),
    Column("tampered", "u8"),
    Column("orig_mod_len", "u64"),  # bytes
)
"""Columns that a normaliser may set in `BinarySeen.values`. Numbers and times are decimal text."""

SIGHTING: tuple[Column, ...] = (
    *(Column(name, "text") for name in ("md5", "sha256", "sha1")),
    *BINARY,
    Column("first_seen", "time", "min"),  # host's clock
    Column("last_seen", "time"),
    Column("added", "time", "min"),  # server's clock
    *(Column(name, "text") for name in ("os_type", "group", "hostname")),
    Column("seq", "u64"),
)
"""Metadata of a binary on one sensor, without the paths of the file."""


READ_ONLY: tuple[Column, ...] = (
    Column("image_format", "text"),  # pe, elf, macho, or other
    Column("build_id", "text"),  # hexadecimal
    Column("interpreter", "text"),
    Column("section_entropy", "text"),  # JSON: [name, bits per byte] of each section
    Column("read_problems", "text"),  # reasons for failed parts of the reading, one per line
    Column("icon_sha256", "text"),  # hash of the icon's blob
    Column("digsig_countersign_time", "time"),
)
"""Columns that come only from reading the bytes of a file."""

NOT_READ: frozenset[str] = frozenset({"tampered"})
"""Columns of `BINARY` that cannot be read from a file."""

UNREAD_AT: Final = 1
"""Value of `read_at` in the row of an added file that has not been read yet. Any reading replaces
that row. Sightings have 0."""

READING: tuple[Column, ...] = (
    Column("md5", "text"),
    Column("sha256", "text"),
    Column("first_seen", "time", "min"),  # equal to `added`
    Column("added", "time", "min"),  # time when the bytes were first stored
    *(column for column in BINARY if column.name not in NOT_READ),
    *READ_ONLY,
)
"""Columns of a reading: facts from the bytes of a file."""


@dataclass(frozen=True, slots=True)
class EventKind:
    """An event kind: its struct and the columns of its fields, in the struct's order."""

    name: str
    struct: type
    fields: tuple[tuple[str, ColumnType], ...]
    counted: bool = True
    """False for kinds that have no list and no count in docs/api-objects.md."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """Array columns of the kind, with the type of their elements."""
        return tuple(Column(f"{self.name}_{name}", kind) for name, kind in self.fields)


EVENT_KINDS: tuple[EventKind, ...] = (
    EventKind(
        "filemod",
        event.Filemod,
        (
            ("time", "time"),
            ("operation", "u8"),
            ("path", "text"),
            ("md5", "text"),
            ("sha256", "text"),
            ("sha1", "text"),
            ("file_type", "u8"),
            ("tamper", "u8"),
            ("note", "text"),
        ),
    ),
    EventKind(
        "modload",
        event.Modload,
        (
            ("time", "time"),
            ("path", "text"),
            ("md5", "text"),
            ("sha256", "text"),
            ("sha1", "text"),
            ("digsig_result", "text"),
            ("digsig_publisher", "text"),
        ),
    ),
    EventKind(
        "regmod",
        event.Regmod,
        (
            ("time", "time"),
            ("operation", "u8"),
            ("path", "text"),
            ("value", "text"),
            ("tamper", "u8"),
        ),
    ),
    EventKind(
        "netconn",
        event.Netconn,
        (
            ("time", "time"),
            ("outbound", "u8"),
            ("protocol", "u8"),
            ("local_ip", "ip"),
            ("local_port", "u16"),
            ("remote_ip", "ip"),
            ("remote_port", "u16"),
            ("domain", "text"),
            ("ja3", "text"),
            ("ja3s", "text"),
        ),
    ),
    EventKind(
        "childproc",
        event.Childproc,
        (
            ("time", "time"),
            ("started", "u8"),
            ("kind", "u8"),
            ("child_id", "text"),
            ("path", "text"),
            ("pid", "u32"),
            ("md5", "text"),
            ("sha256", "text"),
            ("command_line", "text"),
            ("username", "text"),
            ("suppressed", "u8"),
            ("tamper", "u8"),
        ),
    ),
    EventKind(
        "crossproc",
        event.Crossproc,
        (
            ("time", "time"),
            ("kind", "u8"),
            ("target_id", "text"),
            ("path", "text"),
            ("md5", "text"),
            ("sha256", "text"),
            ("subtype", "u8"),
            ("access", "u32"),
            ("is_target", "u8"),
            ("start_module", "text"),
            ("start_function", "text"),
            ("tamper", "u8"),
        ),
    ),
    EventKind(
        "processblock",
        event.Processblock,
        (
            ("time", "time"),
            ("block_type", "u8"),
            ("block_event", "u8"),
            ("block_result", "u8"),
            ("block_error", "u32"),
            ("path", "text"),
            ("command_line", "text"),
            ("md5", "text"),
            ("sha256", "text"),
            ("uid", "text"),
            ("username", "text"),
        ),
    ),
    EventKind(
        "dnsquery",
        event.Dnsquery,
        (("time", "time"), ("name", "text"), ("status", "u32"), ("answers", "text")),
        counted=False,
    ),
    EventKind(
        "pipe",
        event.Pipe,
        (("time", "time"), ("operation", "u8"), ("name", "text")),
        counted=False,
    ),
    EventKind(
        "scriptblock",
        event.Scriptblock,
        (
            ("time", "time"),
            ("block_id", "text"),
            ("part", "u32"),
            ("parts", "u32"),
            ("text", "text"),
            ("path", "text"),
        ),
        counted=False,
    ),
)

KIND_BY_STRUCT: dict[type, EventKind] = {kind.struct: kind for kind in EVENT_KINDS}
"""Maps the class of an event to its kind."""
