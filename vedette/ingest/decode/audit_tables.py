"""Tables of the Linux audit system: record types and socket addresses. `audit_calls.py` has the
system calls.

Only numbers that the normaliser uses have names; others remain numbers.
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
    """Returns the event id of an audit event: the number of its main record type. 0 for system
    calls, which are identified by name, and for unknown types."""
    return 0 if record_type == "SYSCALL" else EVENT_IDS.get(record_type, 0)


def socket_address(saddr: str) -> dict[str, str]:
    """Returns family, address and port of a hexadecimal `struct sockaddr`; {} if malformed.

    The family is in the byte order of the host. All families are below 256, so a larger number is
    from a big-endian host.
    """
    try:
        raw = bytes.fromhex(saddr)
    except ValueError:
        return {}
    family = int.from_bytes(raw[:2], "little")
    if family > 0xFF:
        family = int.from_bytes(raw[:2], "big")
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
