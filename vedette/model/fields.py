"""The catalogue of search fields of processes: names a query may use, how their values are read,
and the columns that answer (docs/reference/fields.md). The parser, the checker and the reference
pages all read it; SQL takes column names from nowhere else.

A field's `type` says how a value is understood (docs/query-language.md#values-by-type). Its
`sources` are columns of `segment`, or one of `DERIVED`; a value matches when it matches in any of
them. A field without sources has the constant value 0: nothing of the kind is recorded yet.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from vedette.model.binary_fields import JOINED_FIELDS
from vedette.model.columns import EVENT_KINDS
from vedette.model.event import FileOperation
from vedette.model.field import Field, Join, catalogue

JOINS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "process_binary": ("process_md5", "process_sha256"),
        "parent_binary": ("parent_md5", "parent_sha256"),
        "child_binary": ("childproc_md5", "childproc_sha256"),
        "modload_binary": ("modload_md5", "modload_sha256"),
        "filewrite_binary": ("filemod_md5", "filemod_sha256"),
    }
)
"""Which binaries a segment leads to (docs/query-language.md#processes-by-their-files), by the
columns of their hashes: the MD5, or the SHA-256 where a sender reports no other hash."""

WRITTEN: Mapping[str, str] = MappingProxyType(
    {
        "written_md5": "filemod_md5",
        "written_sha256": "filemod_sha256",
        "written_sha1": "filemod_sha1",
    }
)
"""Hashes of files that were created or written: the columns without the events that delete a
file, for which senders report the hash too."""

WRITTEN_JOIN = "filewrite_binary"
"""The one of `JOINS` that leads to written files alone."""

OPERATION = "filemod_operation"
NOT_WRITTEN = int(FileOperation.DELETED)
"""The operation that `WRITTEN` leaves out."""

SHAPE_COLUMN = "cmdline_shape"
"""Which command lines are alike: a column that the store computes (`store/schema/tables.py`)."""

DERIVED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "destination_port": ("netconn_outbound", "netconn_remote_port", "netconn_local_port"),
        "cross_code": ("crossproc_kind", "crossproc_is_target"),
        "start_hour": ("start",),
        "start_weekday": ("start",),
        "pair_hosts": ("process_name", "parent_name"),
        "shape_hosts": ("process_name", SHAPE_COLUMN),
        **{name: (column, OPERATION) for name, column in WRITTEN.items()},
        **JOINS,
        WRITTEN_JOIN: (*JOINS[WRITTEN_JOIN], OPERATION),
    }
)
"""What is computed from columns of one row, or from parallel arrays of one kind. Numbers:
`destination_port` is the remote port of an outbound connection and the local port of an inbound
one; `cross_code` is 2 * kind + is_target; `start_hour` 0-23 and `start_weekday` 0 (Sunday) to 6
are those of the start in UTC; `pair_hosts` and `shape_hosts` are of `RARITIES`. The rest are
`WRITTEN` and `JOINS`."""

RARITIES: frozenset[str] = frozenset({"pair_hosts", "shape_hosts"})
"""Numbers of `DERIVED` that all segments of the scope decide: on how many hosts a program of the
name ran with a parent of that name, and with a command line of that shape. A segment alone cannot
answer them."""

CROSS_CODES: Mapping[str, int] = MappingProxyType(
    {"remotethread": 2, "remotethreadtarget": 3, "processopen": 4, "processopentarget": 5}
)
"""Values of `crossproc_type` as `cross_code`."""

BLOCK_STATUSES: tuple[str, ...] = (
    "a-ProcessTerminated",
    "b-NotTerminatedCBProcess",
    "c-NotTerminatedSystemProcess",
    "d-NotTerminatedCriticalSystemProcess",
    "e-NotTerminatedWhitelistPath",
    "f-NotTerminatedOpenProcessError",
    "g-NotTerminatedTerminateError",
)
"""Values of `blocked_status`, by number of the block's result."""

EVENT_COLUMNS: frozenset[str] = frozenset(
    column.name for kind in EVENT_KINDS for column in kind.columns
)
"""Array columns: a value matches when it matches one element."""


def is_event_source(source: str) -> bool:
    """Whether the source is a column of events: it may be known in one partial row only, and in one
    segment of a process only (docs/query-language.md#one-segment-at-a-time)."""
    return all(column in EVENT_COLUMNS for column in DERIVED.get(source, (source,)))


def _hashes(kind: Literal["md5", "sha1", "sha256"], *fields: tuple[str, str, bool]) -> list[Field]:
    return [Field(name, kind, (source,), default) for name, source, default in fields]


_PROCESS: tuple[Field, ...] = (
    # Who ran.
    Field("process_name", "name", ("process_name",), True, paths=("path",)),
    Field("parent_name", "name", ("parent_name",), True, paths=("parent_path",)),
    Field("childproc_name", "name", (), True, paths=("childproc_path",)),
    Field("path", "path", ("path",), True),
    Field("parent_path", "path", ("parent_path",)),
    Field("cmdline", "cmdline", ("cmdline",), True),
    Field("parent_cmdline", "cmdline", ("parent_cmdline",)),
    Field("current_directory", "path", ("current_directory",)),
    Field(
        "original_filename",
        "text",
        ("original_filename",),
        # Some senders report it with the process, others with the file: either matches.
        join=Join("process_binary", "original_filename"),
    ),
    Field("username", "account", ("username",), True),
    Field("parent_username", "account", ("parent_username",)),
    Field("uid", "keyword", ("uid",)),
    Field("integrity_level", "keyword", ("integrity_level",)),
    Field("logon_id", "keyword", ("logon_id",)),
    Field("logon_type", "integer", ("logon_type",)),
    Field("terminal_session_id", "keyword", ("terminal_session_id",)),
    # Hashes.
    *_hashes(
        "md5",
        ("process_md5", "process_md5", True),
        ("parent_md5", "parent_md5", True),
        ("childproc_md5", "childproc_md5", True),
        ("filewrite_md5", "written_md5", True),
        ("blocked_md5", "processblock_md5", True),
        ("crossproc_md5", "crossproc_md5", False),
        ("modload_md5", "modload_md5", False),
    ),
    *_hashes(
        "sha256",
        ("process_sha256", "process_sha256", True),
        ("parent_sha256", "parent_sha256", True),
        ("childproc_sha256", "childproc_sha256", True),
        ("filewrite_sha256", "written_sha256", True),
        ("blocked_sha256", "processblock_sha256", False),
        ("crossproc_sha256", "crossproc_sha256", False),
        ("modload_sha256", "modload_sha256", False),
    ),
    *_hashes(
        "sha1",
        ("process_sha1", "process_sha1", False),
        ("filemod_sha1", "written_sha1", False),
        ("modload_sha1", "modload_sha1", False),
    ),
    Field(
        "md5",
        "md5",
        ("process_md5", "parent_md5", "childproc_md5", "modload_md5", "written_md5"),
        True,
    ),
    Field(
        "sha256",
        "sha256",
        ("process_sha256", "parent_sha256", "childproc_sha256", "modload_sha256", "written_sha256"),
        True,
    ),
    Field("sha1", "sha1", ("process_sha1", "written_sha1", "modload_sha1")),
    # What it did.
    Field("modload", "path", ("modload_path",), True),
    Field("modload_signature", "keyword", ("modload_digsig_result",)),
    Field("modload_publisher", "text", ("modload_digsig_publisher",)),
    Field("filemod", "path", ("filemod_path",), True),
    Field("filemod_note", "text", ("filemod_note",)),
    Field("regmod", "registry", ("regmod_path",), True),
    Field("regmod_value", "text", ("regmod_value",)),
    Field("domain", "domain", ("netconn_domain", "dnsquery_name"), True),
    Field("dns", "domain", ("dnsquery_name",)),
    Field("dns_answer", "text", ("dnsquery_answers",)),
    Field("ipaddr", "ipv4", ("netconn_remote_ip",), aliases=("ip_address",)),
    Field("ipv6addr", "ipv6", ("netconn_remote_ip",)),
    Field("ipport", "integer", ("destination_port",)),
    Field("ja3", "keyword", ("netconn_ja3",)),
    Field("ja3s", "keyword", ("netconn_ja3s",)),
    Field("pipe", "path", ("pipe_name",)),
    Field("scriptblock", "text", ("scriptblock_text",)),
    Field("crossproc_name", "name", (), paths=("crossproc_path",)),
    Field("crossproc_type", "cross_type", ("cross_code",), True),
    Field("crossproc_access", "integer", ("crossproc_access",)),
    Field("crossproc_start_module", "path", ("crossproc_start_module",)),
    Field("crossproc_start_function", "keyword", ("crossproc_start_function",)),
    Field("blocked_status", "block_status", ("processblock_block_result",)),
    Field("block_type", "integer", ("processblock_block_type",)),
    *(
        Field(f"{kind.name}_count", "count", (f"{kind.name}_count",))
        for kind in EVENT_KINDS
        if kind.counted
    ),
    Field("emet_count", "count"),
    # Where.
    Field("hostname", "hostname", ("hostname",), True),
    Field("group", "keyword", ("group",), True),
    Field("host_type", "host_type", ("host_type",), True),
    Field("os_type", "keyword", ("os_type",)),
    Field("sensor_id", "integer", ("sensor_id",)),
    Field("interface_ip", "address", ("interface_ip",)),
    Field("comms_ip", "address", ("comms_ip",)),
    # Which process, which document.
    Field("process_id", "process_id", ("process_id",), aliases=("id", "unique_id")),
    Field("process_guid", "process_id", ("process_id", "process_guid")),
    Field("parent_id", "process_id", ("parent_id",), aliases=("parent_unique_id", "parent_guid")),
    # How common it is.
    Field("prevalence_pair", "integer", ("pair_hosts",)),
    Field("prevalence_cmdline", "integer", ("shape_hosts",)),
    Field("process_pid", "integer", ("process_pid",)),
    Field("parent_pid", "integer", ("parent_pid",)),
    Field("segment_id", "integer", ("segment_id",)),
    # When, and how it ended.
    Field("start", "time", ("start",)),
    Field("last_update", "time", ("last_update",)),
    Field(
        "last_server_update",
        "time",
        ("last_server_update",),
        aliases=("server_added_timestamp",),
    ),
    Field("hour_of_day", "integer", ("start_hour",)),
    Field("day_of_week", "integer", ("start_weekday",)),
    Field("creation_observed", "bool", ("creation_observed",)),
    Field("terminated", "bool", ("terminated",)),
    Field("exit_status", "keyword", ("exit_status",)),
    Field("tampered", "bool", ("tampered",)),
    Field("filtering_known_dlls", "bool", ("filtering_known_dlls",)),
    Field("has_emet_config", "bool"),
    Field("has_emet_event", "bool"),
)

JOIN_SUFFIXES: Mapping[str, str] = MappingProxyType(
    {
        "_process": "process_binary",
        "_filewrite": "filewrite_binary",
        "_parent": "parent_binary",
        "_child": "child_binary",
        "_modload": "modload_binary",
    }
)
"""Which hash of the process a joined field looks up; without one the process's own (5)."""


def _joined() -> list[Field]:
    """Fields of binaries under their own names, where the segment has no column of that name,
    and with every suffix."""
    taken = {field.name for field in _PROCESS}
    endings = {"": "process_binary", **JOIN_SUFFIXES}
    return [
        Field(name + suffix, kind, kind="join", join=Join(source, field))
        for name, field, kind in JOINED_FIELDS
        for suffix, source in endings.items()
        if name + suffix not in taken
    ]


PROCESS = catalogue((*_PROCESS, *_joined()))
"""Fields of process search."""
