"""All metadata of a process, without its events (docs/api-objects.md#process-metadata)."""

from typing import Final

from vedette.model.scope import Scope
from vedette.search.processes.process_columns import Row
from vedette.search.processes.process_lookup import unknown_process, with_parent
from vedette.search.tagged import with_process_tags
from vedette.store.engine.client import Engine
from vedette.store.read.process_metadata import process_row

_PARENT_COLUMNS: Final = ("parent_name", "parent_pid", "parent_md5")
_COLUMNS: Final = (
    "hostname",
    "group",
    "os_type",
    "host_type",
    "interface_ip",
    "comms_ip",
    "host_clock",
    "filtering_known_dlls",
    "process_name",
    "path",
    "process_md5",
    "process_sha256",
    "process_pid",
    "cmdline",
    "username",
    "uid",
    "logon_type",
    "start",
    "creation_observed",
    "tampered",
    "parent_id",
    *_PARENT_COLUMNS,
)


def metadata(engine: Engine, scope: Scope, process_id: str) -> Row:
    """Returns a process over all its segments, with `host_clock` and the flags that process objects
    omit. Raises NotFoundError."""
    known = process_row(engine, process_id, scope, _COLUMNS, ())
    if known is None:
        raise unknown_process(engine, scope, process_id)
    tagged = with_process_tags(engine, known)
    return with_parent(engine, scope, tagged, _PARENT_COLUMNS)
