"""Tables of the Linux audit system: record types, system calls, socket addresses.

Only the numbers that the normaliser uses have names; others stay numbers.
"""

from ipaddress import IPv4Address, IPv6Address

EVENT_IDS: dict[str, int] = {
    "USER_AUTH": 1100,
    "USER_ACCT": 1101,
    "USER_MGMT": 1102,
    "CRED_ACQ": 1103,
    "CRED_DISP": 1104,
    "USER_START": 1105,
    "USER_END": 1106,
    "USER_AVC": 1107,
    "USER_CHAUTHTOK": 1108,
    "USER_ERR": 1109,
    "CRED_REFR": 1110,
    "USER_LOGIN": 1112,
    "USER_LOGOUT": 1113,
    "ADD_USER": 1114,
    "DEL_USER": 1115,
    "ADD_GROUP": 1116,
    "DEL_GROUP": 1117,
    "TEST": 1120,
    "USER_CMD": 1123,
    "USER_TTY": 1124,
    "SYSTEM_BOOT": 1127,
    "SYSTEM_SHUTDOWN": 1128,
    "SYSTEM_RUNLEVEL": 1129,
    "SERVICE_START": 1130,
    "SERVICE_STOP": 1131,
    "GRP_MGMT": 1132,
    "GRP_CHAUTHTOK": 1133,
    "DAEMON_START": 1200,
    "DAEMON_END": 1201,
    "DAEMON_ABORT": 1202,
    "DAEMON_CONFIG": 1203,
    "SYSCALL": 1300,
    "PATH": 1302,
    "IPC": 1303,
    "SOCKETCALL": 1304,
    "CONFIG_CHANGE": 1305,
    "SOCKADDR": 1306,
    "CWD": 1307,
    "EXECVE": 1309,
    "EOE": 1320,
    "BPRM_FCAPS": 1321,
    "CAPSET": 1322,
    "MMAP": 1323,
    "NETFILTER_PKT": 1324,
    "NETFILTER_CFG": 1325,
    "SECCOMP": 1326,
    "PROCTITLE": 1327,
    "OBJ_PID": 1318,
    "TTY": 1319,
    "KERN_MODULE": 1330,
    "FANOTIFY": 1331,
    "BPF": 1334,
    "AVC": 1400,
    "SELINUX_ERR": 1401,
    "MAC_POLICY_LOAD": 1403,
    "MAC_STATUS": 1404,
    "MAC_CONFIG_CHANGE": 1405,
    "ANOM_PROMISCUOUS": 1700,
    "ANOM_ABEND": 1701,
    "ANOM_LINK": 1702,
    "INTEGRITY_RULE": 1805,
    "ANOM_LOGIN_FAILURES": 2100,
    "ANOM_ADD_ACCT": 2114,
    "ANOM_DEL_ACCT": 2115,
    "ANOM_MOD_ACCT": 2116,
    "ANOM_ROOT_TRANS": 2117,
    "CRYPTO_KEY_USER": 2404,
    "CRYPTO_SESSION": 2405,
    "VIRT_CONTROL": 2500,
}
"""Record type numbers (linux/audit.h), see `event_id_of`."""

TYPE_NAMES: dict[str, str] = {str(number): name for name, number in EVENT_IDS.items()}
"""Record type names by number, for kernel logs."""


def event_id_of(record_type: str) -> int:
    """Event id of an audit event: the number of its main record type; 0 for system calls, which
    are identified by name, and for unknown types."""
    return 0 if record_type == "SYSCALL" else EVENT_IDS.get(record_type, 0)


_CALLS: tuple[tuple[str, int | None, int | None, int | None], ...] = (
    # name, x86_64, aarch64, i386
    ("execve", 59, 221, 11),
    ("execveat", 322, 281, 358),
    ("clone", 56, 220, 120),
    ("fork", 57, None, 2),
    ("vfork", 58, None, 190),
    ("clone3", 435, 435, 435),
    ("exit_group", 231, 94, 252),
    ("connect", 42, 203, 362),
    ("accept", 43, 202, None),
    ("accept4", 288, 242, 364),
    ("bind", 49, 200, 361),
    ("sendto", 44, 206, 369),
    ("sendmsg", 46, 211, 370),
    ("open", 2, None, 5),
    ("openat", 257, 56, 295),
    ("openat2", 437, 437, 437),
    ("open_by_handle_at", 304, 265, 342),
    ("creat", 85, None, 8),
    ("truncate", 76, 45, 92),
    ("ftruncate", 77, 46, 93),
    ("unlink", 87, None, 10),
    ("unlinkat", 263, 35, 301),
    ("rmdir", 84, None, 40),
    ("rename", 82, None, 38),
    ("renameat", 264, 38, 302),
    ("renameat2", 316, 276, 353),
    ("link", 86, None, 9),
    ("linkat", 265, 37, 303),
    ("symlink", 88, None, 83),
    ("symlinkat", 266, 36, 304),
    ("mkdir", 83, None, 39),
    ("mkdirat", 258, 34, 296),
    ("mknod", 133, None, 14),
    ("mknodat", 259, 33, 297),
    ("ptrace", 101, 117, 26),
    ("process_vm_writev", 311, 271, 348),
    ("init_module", 175, 105, 128),
    ("finit_module", 313, 273, 350),
)

_ARCHITECTURES = {"c000003e": 1, "c00000b7": 2, "40000003": 3}
_NUMBERS: dict[tuple[int, int], str] = {
    (column, number): call[0]
    for call in _CALLS
    for column, number in enumerate(call[1:], 1)
    if number is not None
}


def call_name(number: str, architecture: str) -> str:
    """Name of a system call by its number and the `arch` field; "" if it is not in the table."""
    column = _ARCHITECTURES.get(architecture.lower().removeprefix("0x"), 1)
    return _NUMBERS.get((column, int(number[:18])), "") if number.isdecimal() else ""


def socket_address(saddr: str) -> dict[str, str]:
    """Family, address and port of a hexadecimal `struct sockaddr`; {} if malformed.

    Assumes little-endian hosts.
    """
    try:
        raw = bytes.fromhex(saddr)
    except ValueError:
        return {}
    family = int.from_bytes(raw[:2], "little")
    if family == 2 and len(raw) >= 8:
        address: IPv4Address | IPv6Address = IPv4Address(raw[4:8])
        name = "inet"
    elif family == 10 and len(raw) >= 24:
        address, name = IPv6Address(raw[8:24]), "inet6"
    elif family == 1:
        return {"saddr_fam": "local", "path": raw[2:].strip(b"\0").decode("utf-8", "replace")}
    else:
        return {"saddr_fam": str(family)} if raw else {}
    return {"saddr_fam": name, "addr": str(address), "port": str(int.from_bytes(raw[2:4], "big"))}
