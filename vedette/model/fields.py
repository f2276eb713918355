"""Catalogue of the search fields of processes: the names in queries, how values are read, and the
columns that are searched (docs/reference/fields.md). The parser, the checker and the reference
pages read it. It is the only source of column names in search SQL.

A field's `type` decides how a value is read (docs/query-values.md). Its `sources`
are columns of `segment` or keys of `DERIVED`; a value matches if it matches any source. A field
without sources has the constant value 0 because no such data is recorded yet.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from vedette.model.binary_fields import JOINED_FIELDS
from vedette.model.columns import EVENT_KINDS, SHAPE
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
"""Binaries that a segment refers to (docs/query-files.md). Maps the
join's name to the hash columns of the segment: the MD5, or the SHA-256 for senders that report no
other hash."""

WRITTEN: Mapping[str, str] = MappingProxyType(
    {
        "written_md5": "filemod_md5",
        "written_sha256": "filemod_sha256",
        "written_sha1": "filemod_sha1",
    }
)
"""Hashes of created or written files. Maps the source to its column. Events that delete a file are
left out, because senders report the hash for those too."""

WRITTEN_JOIN = "filewrite_binary"
"""The key of `JOINS` for written files."""

OPERATION = "filemod_operation"
NOT_WRITTEN = int(FileOperation.DELETED)
"""The file operation that `WRITTEN` excludes."""

RULE_HITS: Mapping[str, str] = MappingProxyType(
    {"hit_rule_id": "rule_id", "hit_rule_name": "rule_name"}
)
"""Texts of the rules that fired on a segment, by the columns of the table `hit`. A segment alone
does not answer them."""

DERIVED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "destination_port": ("netconn_outbound", "netconn_remote_port", "netconn_local_port"),
        "cross_code": ("crossproc_kind", "crossproc_is_target"),
        "start_hour": ("start",),
        "start_weekday": ("start",),
        "pair_hosts": ("process_name", "parent_name"),
        "shape_hosts": ("process_name", SHAPE.name),
        **{name: (column, OPERATION) for name, column in WRITTEN.items()},
        **dict.fromkeys(RULE_HITS, ("sensor_id", "process_id", "segment_id")),
        **JOINS,
        WRITTEN_JOIN: (*JOINS[WRITTEN_JOIN], OPERATION),
    }
)
"""Sources computed from other columns of a row, or from parallel arrays of one event kind.
`destination_port` is the remote port of an outbound connection and the local port of an inbound
connection. `cross_code` is 2 * kind + is_target. `start_hour` (0-23) and `start_weekday` (0 Sunday
to 6) are derived from the start in UTC. `pair_hosts` and `shape_hosts` are described at `RARITIES`.
The rest are `WRITTEN`, `RULE_HITS` and `JOINS`."""

RARITIES: frozenset[str] = frozenset({"pair_hosts", "shape_hosts"})
"""Sources of `DERIVED` that are counted over all segments in the scope: number of hosts on which a
program of this name ran with a parent of that name, and with a command line of that shape. They
cannot be computed from a single segment."""

NOT_IN_SEGMENT: frozenset[str] = RARITIES.union(RULE_HITS)
"""Sources that a segment in memory cannot answer, so that watchlists refuse them."""

CROSS_CODES: Mapping[str, int] = MappingProxyType(
    {"remotethread": 2, "remotethreadtarget": 3, "processopen": 4, "processopentarget": 5}
)
"""Maps values of `crossproc_type` to `cross_code`."""

BLOCK_STATUSES: tuple[str, ...] = (
    "a-ProcessTerminated",
    "b-NotTerminatedCBProcess",
    "c-NotTerminatedSystemProcess",
    "d-NotTerminatedCriticalSystemProcess",
    "e-NotTerminatedWhitelistPath",
    "f-NotTerminatedOpenProcessError",
    "g-NotTerminatedTerminateError",
)
"""Values of `blocked_status`. The index is the number of the block result."""

EVENT_COLUMNS: frozenset[str] = frozenset(
    column.name for kind in EVENT_KINDS for column in kind.columns
)
"""Array columns. A query value matches if it matches any element."""


def is_event_source(source: str) -> bool:
    """Whether the source consists of event columns. Its value may be present in only one partial
    row, and in only one segment of a process (docs/query-evaluation.md#one-segment-at-a-time)."""
    return all(column in EVENT_COLUMNS for column in DERIVED.get(source, (source,)))


def _hashes(kind: Literal["md5", "sha1", "sha256"], *fields: tuple[str, str, bool]) -> list[Field]:
    return [Field(name, kind, (source,), default) for name, source, default in fields]


_PROCESS: tuple[Field, ...] = (
    # Identity.
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
        # Senders report it either with the process or with the file; both are searched.
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
    # Activity.
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
    # Host.
    Field("hostname", "hostname", ("hostname",), True),
    Field("group", "keyword", ("group",), True),
    Field("host_type", "host_type", ("host_type",), True),
    Field("os_type", "keyword", ("os_type",)),
    Field("sensor_id", "integer", ("sensor_id",)),
    Field("interface_ip", "address", ("interface_ip",)),
    Field("comms_ip", "address", ("comms_ip",)),
    # Process and document.
    Field("process_id", "process_id", ("process_id",), aliases=("id", "unique_id")),
    Field("process_guid", "process_id", ("process_id", "process_guid")),
    Field("parent_id", "process_id", ("parent_id",), aliases=("parent_unique_id", "parent_guid")),
    # Prevalence.
    Field("prevalence_pair", "integer", ("pair_hosts",)),
    Field("prevalence_cmdline", "integer", ("shape_hosts",)),
    Field("process_pid", "integer", ("process_pid",)),
    Field("parent_pid", "integer", ("parent_pid",)),
    Field("segment_id", "integer", ("segment_id",)),
    # Detection.
    Field("rule", "keyword", ("hit_rule_id",), aliases=("rule_id",)),
    Field("rule_name", "keyword", ("hit_rule_name",)),
    # Times and end of the process.
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
"""Maps the suffix of a joined field's name to its key of `JOINS`. A name without suffix uses the
process's own binary."""


def _joined() -> list[Field]:
    """Returns the joined fields of binaries: with every suffix, and without suffix where the
    segment has no field of that name."""
    taken = {field.name for field in _PROCESS}
    endings = {"": "process_binary", **JOIN_SUFFIXES}
    return [
        Field(name + suffix, kind, kind="join", join=Join(source, field))
        for name, field, kind in JOINED_FIELDS
        for suffix, source in endings.items()
        if name + suffix not in taken
    ]


PROCESS = catalogue(
    (*_PROCESS, *_joined()),
    always=("process_id", "sensor_id", "segment_id", "last_update", "last_server_update"),
)
"""Fields of process search."""
