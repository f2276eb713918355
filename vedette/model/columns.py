"""The columns of a stored process segment, as data.

One row of `segment` is what one process did in one window of server time (docs/telemetry-model.md).
From these tuples the store makes its tables, fold its drafts, and the field catalogue its
targets; nothing else may name a column.

Physical names of event columns are `<kind>_<field>`, for example `filemod_path`; the fields
are those of the structs in `model/event.py` without `process_id`. All arrays of one kind have
the same length and order. `<kind>_count` is their length, summed over partial rows.
"""

from dataclasses import dataclass
from typing import Literal

from vedette.model import event
from vedette.model.metadata_rank import RANK_COLUMN_OF, RANK_COLUMNS

ColumnType = Literal["text", "u8", "u16", "u32", "u64", "i32", "time", "ip"]
"""text String; time DateTime64(6, 'UTC') given as epoch microseconds; ip 16 bytes, IPv6."""

Merge = Literal["max", "min"]
"""How partial rows of a segment agree, whatever their order. `max`: a known text wins over ""
and a known number over 0. `min` columns must be given in every partial row."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a segment's metadata or of a binary."""

    name: str
    type: ColumnType
    merge: Merge = "max"


KEY: tuple[Column, ...] = (
    Column("partition_ms", "u64"),  # opening time of the hot partition it was written to
    Column("window_ms", "u64"),  # start of the window of server time
    Column("sensor_id", "u32"),
    Column("process_id", "text"),
    Column("segment_id", "u64"),  # window_ms + how many full segments the window had before
)
"""What identifies a segment. Partial rows with the same key are one segment."""

HOST: tuple[Column, ...] = (
    Column("hostname", "text"),
    Column("group", "text"),  # name of the sensor group when the events arrived
    Column("os_type", "text"),  # windows, linux, osx
    Column("host_type", "text"),  # workstation, server, domain_controller; "" reads workstation
    Column("interface_ip", "ip"),
    Column("comms_ip", "ip"),
    Column("host_clock", "u16"),  # what the host's clock shows: see model/host.py
    Column("filtering_known_dlls", "u8"),  # its group left out loads of known DLLs
)

PROCESS: tuple[Column, ...] = (
    Column("start", "time"),
    Column("path", "text"),
    Column("process_name", "text"),  # file name of the path, as written
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
    Column("process_guid", "text"),  # as the sender names it: ProcessGuid, exec_id, pid:pidversion
    Column("parent_id", "text"),
    Column("parent_name", "text"),
    Column("parent_path", "text"),
    Column("parent_pid", "u32"),
    Column("parent_md5", "text"),
    Column("parent_sha256", "text"),
    Column("parent_cmdline", "text"),
    Column("parent_username", "text"),
)
"""What normalise may put into `Facts.values` (`start` and `end_time` as epoch microseconds)."""

DERIVED: tuple[Column, ...] = (
    Column("cmdline_tokens", "text"),  # model/tokens.py, made by fold whenever cmdline is known
    Column("parent_cmdline_tokens", "text"),
    *(Column(name, "u64") for name in RANK_COLUMNS),  # model/metadata_rank.py
)

TOUCHED: tuple[Column, ...] = (
    Column("last_update", "time"),  # newest event time
    Column("last_server_update", "time"),  # newest commit
    Column("first_server_update", "time", "min"),
    Column("seq", "u64"),  # commit number of the newest partial row
)
"""Given by the writer at commit."""

METADATA: tuple[Column, ...] = HOST + PROCESS + DERIVED + TOUCHED

CORRECTED: tuple[Column, ...] = tuple(
    column
    for column in (*PROCESS, *DERIVED)
    if column.name in RANK_COLUMN_OF or column.name in RANK_COLUMNS
)
"""Metadata that is decided by rank (`model/metadata_rank.py`)."""

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
"""What normalise may put into `BinarySeen.values` (numbers and times as decimal text)."""

SIGHTING: tuple[Column, ...] = (
    *(Column(name, "text") for name in ("md5", "sha256", "sha1")),
    *BINARY,
    Column("first_seen", "time", "min"),  # host's clock
    Column("last_seen", "time"),
    Column("added", "time", "min"),  # server's clock
    *(Column(name, "text") for name in ("os_type", "group", "hostname")),
    Column("seq", "u64"),
)
"""Metadata of a binary on one sensor, without the paths it was seen at."""


READ_ONLY: tuple[Column, ...] = (
    Column("image_format", "text"),  # pe, elf, macho; other for what is none of them
    Column("build_id", "text"),  # hexadecimal
    Column("interpreter", "text"),
    Column("section_entropy", "text"),  # JSON: [name, bits a byte] of each section
    Column("read_problems", "text"),  # what could not be read, one reason a line
    Column("icon_sha256", "text"),  # of the icon's blob
    Column("digsig_countersign_time", "time"),
)
"""What only the bytes of a file say."""

NOT_READ: frozenset[str] = frozenset({"tampered"})
"""Columns of `BINARY` that no file says of itself."""

READING: tuple[Column, ...] = (
    Column("md5", "text"),
    Column("sha256", "text"),
    Column("first_seen", "time", "min"),  # as `added`
    Column("added", "time", "min"),  # when the bytes were first stored
    *(column for column in BINARY if column.name not in NOT_READ),
    *READ_ONLY,
)
"""What was read from the bytes of a file."""


@dataclass(frozen=True, slots=True)
class EventKind:
    """One kind of event: the struct, its columns in the struct's order, its counter."""

    name: str
    struct: type
    fields: tuple[tuple[str, ColumnType], ...]
    counted: bool = True
    """False for kinds that docs/api-objects.md has no list and no count for."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """Physical array columns, without their Array()."""
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
"""The kind of an event value."""
