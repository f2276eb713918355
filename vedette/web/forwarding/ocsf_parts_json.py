"""OCSF objects that several events share: devices, processes, users, files.

Unknown members are omitted, because the schema validates many of them against patterns.
"""

from typing import Any, Final

Body = dict[str, Any]

_OS: Final = {"WINDOWS": ("Windows", 100), "LINUX": ("Linux", 200), "MAC": ("macOS", 300)}
_REGULAR_FILE: Final = 1
_UNKNOWN: Final = 0


def some(**members: Any) -> Body:
    """Returns the members that have a value: no empty strings, lists or objects, and no None."""
    return {name: value for name, value in members.items() if value not in ("", None, [], {})}


def device(native: Body) -> Body:
    """Returns the reporting host."""
    name, type_id = _OS.get(native["device_os"], ("Unknown", _UNKNOWN))
    group = native["device_policy"]
    return some(
        uid=str(native["device_id"]),
        hostname=native["device_name"],
        type_id=_UNKNOWN,
        os={"name": name, "type_id": type_id},
        ip=native["device_internal_ip"],
        groups=[{"name": group}] if group else [],
    )


def endpoint(native: Body, **members: Any) -> Body:
    """Returns the reporting host as an endpoint of a connection."""
    return some(uid=str(native["device_id"]), hostname=native["device_name"], **members)


def process_of(native: Body, path: str) -> Body:
    """Returns the process that a record is about, with its parent if known."""
    parent = some(
        uid=native.get("parent_guid"),
        pid=native.get("parent_pid") or None,
        cmd_line=native["parent_cmdline"],
        file=file(native.get("parent_path", "")),
    )
    return some(
        uid=native["process_guid"],
        pid=native.get("process_pid") or None,
        cmd_line=native["process_cmdline"],
        user=user(native["process_username"]),
        file=file(path, native["process_md5"], native["process_sha256"]),
        parent_process=parent if is_identified(parent) else {},
    )


def is_identified(process: Body) -> bool:
    """Returns whether a process has the members that the schema requires."""
    return "uid" in process or "pid" in process


def user(name: str) -> Body:
    return some(name=name)


def file(path: str, md5: str = "", sha256: str = "") -> Body:
    """Returns a file with its hashes; {} without a path."""
    if not path:
        return {}
    hashes = [
        {"algorithm_id": number, "value": digest}
        for number, digest in ((1, md5), (3, sha256))
        if digest
    ]
    name = path.replace("\\", "/").rstrip("/").rpartition("/")[2] or path
    return some(path=path, name=name, type_id=_REGULAR_FILE, hashes=hashes)


def file_of(native: Body, kind: str) -> Body:
    """Returns the file that an event of a kind is about."""
    md5, sha256 = native.get(f"{kind}_md5", ""), native.get(f"{kind}_sha256", "")
    return file(native[f"{kind}_path"], md5, sha256)
