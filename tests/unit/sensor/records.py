"""Audit records as the kernel sends them: a netlink header, then the text."""

import struct

_CALL = (
    "arch=c000003e syscall={number} success={success} exit={exit} a0={a0} a1={a1} a2={a2} a3=0"
    " items=2 ppid=100 pid=200 auid={auid} uid=1000 gid=1000 euid=1000 suid=1000 fsuid=1000"
    ' egid=1000 sgid=1000 fsgid=1000 tty=pts0 ses=7 comm="x" exe="{exe}" subj=unconfined key=(null)'
)
SECOND = 1_700_000_000
SYSCALL, PATH, SOCKADDR, CWD, EXECVE, EOE, MODULE = 1300, 1302, 1306, 1307, 1309, 1320, 1330


def datagram(kind: int, text: str, serial: int = 1, at: str = f"{SECOND}.125") -> bytes:
    body = f"audit({at}:{serial}): {text}".encode()
    return struct.pack("=IHHII", len(body), kind, 0, 0, 0) + body


def call(number: int, **members: object) -> str:
    """The SYSCALL record of an x86-64 call."""
    usual: dict[str, object] = {
        "success": "yes",
        "exit": 0,
        "a0": "0",
        "a1": "0",
        "a2": "0",
        "auid": 1000,
        "exe": "/usr/bin/x",
    }
    return _CALL.format(number=number, **{**usual, **members})


def path(name: str, nametype: str, item: int = 0, mode: str = "0100644") -> str:
    quoted = name if name.isalnum() and name.isupper() else f'"{name}"'
    return (
        f"item={item} name={quoted} inode=5 dev=fe:00 mode={mode} ouid=0 ogid=0 rdev=00:00"
        f" nametype={nametype} cap_fp=0 cap_fi=0 cap_fe=0 cap_fver=0 cap_frootid=0"
    )


def event(*records: tuple[int, str], serial: int = 1) -> list[bytes]:
    """The datagrams of one event, with its end."""
    return [datagram(kind, text, serial) for kind, text in (*records, (EOE, ""))]
