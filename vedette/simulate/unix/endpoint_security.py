"""Endpoint Security messages in the format of `eslogger`, and rows of osquery's table of these
messages.

Event type numbers are those of the EndpointSecurity framework.
"""

from vedette.simulate.machine import Process
from vedette.simulate.software import file_hashes
from vedette.simulate.timestamps import iso_text, second_text
from vedette.simulate.unix.text import arguments, inode_of, quoted, split_line

TYPES = {"exec": 9, "fork": 11, "close": 12, "create": 13, "exit": 15, "rename": 25, "unlink": 32}

_PLATFORM = ("/bin/", "/usr/", "/sbin/", "/System/")


def signing_id(path: str) -> str:
    name = path.rsplit("/", 1)[-1].replace(" ", "-").lower()
    return f"com.apple.{name}" if path.startswith(_PLATFORM) else f"example.{name}"


def code_hash(path: str) -> str:
    return file_hashes(path, "14.5").sha256[:40]


def subject(process: Process, pid_version: int, uid: int) -> bytes:
    """Returns the JSON of a process, rendered once."""
    parent = process.parent
    ppid = parent.pid if parent else 1
    system = process.path.startswith(_PLATFORM)
    token = b'{"pid":%d,"pidversion":%d,"euid":%d,"ruid":%d,"egid":20,"rgid":20,"auid":%d}' % (
        process.pid,
        pid_version,
        uid,
        uid,
        uid,
    )
    return (
        b'{"audit_token":%b,"ppid":%d,"original_ppid":%d,"group_id":%d,"session_id":%d,'
        b'"executable":{"path":%b,"path_truncated":false,"stat":{"st_ino":%d,"st_mode":33261}},'
        b'"signing_id":%b,"team_id":%b,"cdhash":"%b","codesigning_flags":570509313,'
        b'"is_platform_binary":%b,"is_es_client":false,"start_time":"%b","tty":null}'
        % (
            token,
            ppid,
            ppid,
            process.pid,
            ppid,
            quoted(process.path),
            inode_of(process.path),
            quoted(signing_id(process.path)),
            b"null" if system else b'"H4LD3N0PT1"',
            code_hash(process.path).encode(),
            b"true" if system else b"false",
            iso_text(process.start_us),
        )
    )


def message(at_us: int, kind: str, number: int, process: bytes, event: bytes) -> bytes:
    """Returns a message without its outer braces; `event` is the value of `event.<kind>`."""
    return (
        b'"schema_version":1,"version":7,"mach_time":%d,"event_type":%d,"seq_num":%d,'
        b'"global_seq_num":%d,"time":"%b","process":%b,"event":{"%b":%b},"action_type":1,'
        b'"action":{"result":{"result_type":0,"result":{"auth":0}}},"thread":{"thread_id":%d}'
        % (
            at_us * 24,
            TYPES[kind],
            number,
            number,
            iso_text(at_us),
            process,
            kind.encode(),
            event,
            4000 + number % 9000,
        )
    )


def execution(target: bytes, command_line: str, folder: str) -> bytes:
    return (
        b'{"target":%b,"args":%b,"cwd":{"path":%b,"path_truncated":false},"script":null,'
        b'"dyld_exec_path":"/usr/lib/dyld","last_fd":2,"image_cputype":16777228}'
        % (target, arguments(command_line), quoted(folder))
    )


def creation(path: str) -> bytes:
    return b'{"destination_type":0,"destination":{"existing_file":%b}}' % _file(path)


def closing(path: str) -> bytes:
    return b'{"modified":true,"target":%b}' % _file(path)


def removal(path: str) -> bytes:
    folder = path.rpartition("/")[0]
    return b'{"target":%b,"parent_dir":%b}' % (_file(path), _file(folder))


def _file(path: str) -> bytes:
    return b'{"path":%b,"path_truncated":false,"stat":{"st_ino":%d,"st_mode":33188}}' % (
        quoted(path),
        inode_of(path),
    )


def osquery_row(process: Process, at_us: int, kind: str, number: int, user: str, uid: int) -> bytes:
    """Returns columns of es_process_events; every value is text."""
    second = b"%d" % (at_us // 1_000_000)
    parent = b"%d" % (process.parent.pid if process.parent else 1)
    line = quoted(process.command_line)
    return (
        b'"unixTime":%b,"calendarTime":"%b UTC","columns":{"version":"7","seq_num":"%d",'
        b'"global_seq_num":"%d","pid":"%d","path":%b,"parent":"%b","original_parent":"%b",'
        b'"cmdline":%b,"cmdline_count":"%d","env":"","env_count":"0","cwd":"/","uid":"%d",'
        b'"euid":"%d","gid":"20","egid":"20","username":"%b","signing_id":%b,"team_id":"",'
        b'"cdhash":"%b","platform_binary":"1","exit_code":"%b","child_pid":"","time":"%b",'
        b'"event_type":"%b","eid":"%010d"}'
        % (
            second,
            second_text(at_us // 1_000_000)[1],
            number,
            number,
            process.pid,
            quoted(process.path),
            parent,
            parent,
            line,
            len(split_line(process.command_line)),
            uid,
            uid,
            user.encode(),
            quoted(signing_id(process.path)),
            code_hash(process.path).encode(),
            b"0" if kind == "exit" else b"",
            second,
            kind.encode(),
            number,
        )
    )
