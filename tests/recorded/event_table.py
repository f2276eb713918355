"""The process list that counts each event: docs/telemetry-events.md as data.

Written for these tests and read by nothing else. Lists are those of
docs/api-objects.md#process-events; `start`, `end`, `pipe`, `dns`, `script` and `facts` are kept too
but no list of the API holds them. Every process that an event names has a document, `named` ones
too: anyone who follows a cross-process event finds its target.
"""

LISTS = ("filemod", "modload", "regmod", "netconn", "childproc", "crossproc")

OWN, PARENT, SOURCE, TARGET = "own", "parent", "source", "target"
SYSTEM, SERVICES = "system", "services"
"""Whose an event is: a process it names, the host's System process, its services.exe."""

Effect = tuple[str, str]
"""A list, and whose."""

SYSMON: dict[int, tuple[Effect, ...]] = {
    1: (("start", OWN), ("childproc", PARENT)),
    2: (("filemod", OWN),),
    3: (("netconn", OWN),),
    5: (("end", OWN), ("childproc", PARENT)),
    6: (("modload", SYSTEM),),
    7: (("modload", OWN),),
    8: (("crossproc", SOURCE), ("crossproc", TARGET)),
    10: (("crossproc", SOURCE), ("named", TARGET)),
    11: (("filemod", OWN),),
    12: (("regmod", OWN),),
    13: (("regmod", OWN),),
    14: (("regmod", OWN), ("regmod", OWN)),
    15: (("filemod", OWN),),
    17: (("pipe", OWN),),
    18: (("pipe", OWN),),
    22: (("dns", OWN),),
    23: (("filemod", OWN),),
    25: (("facts", OWN),),
    26: (("filemod", OWN),),
    27: (("filemod", OWN),),
    28: (("filemod", OWN),),
    29: (("filemod", OWN),),
}
"""Sysmon on Windows and Linux. 4, 9, 16, 19-21, 24 and 255 are records, never events."""

SECURITY: dict[int, tuple[Effect, ...]] = {
    4688: (("start", OWN), ("childproc", PARENT)),
    4689: (("end", OWN), ("childproc", PARENT)),
    4657: (("regmod", OWN),),
    4697: (("regmod", SERVICES),),
    5156: (("netconn", OWN),),
}
"""The childproc of 4688 and 4689 only where Sysmon 1 and 5 do not report it; objects (4656, 4663)
by `ACCESS`. All others are records or nothing."""

ACCESS: dict[str, tuple[tuple[int, str], ...]] = {
    "File": ((0x2 | 0x4, "filemod"), (0x10000, "filemod")),
    "Key": ((0x2, "regmod"), (0x4, "regmod"), (0x10000, "regmod")),
    "Process": ((0xFFFFFFFF, "crossproc"),),
}
"""Meaning of an access mask of 4663 for an object: a list name for each group of bits that is set.
A requested handle (4656) opens a process; for files and keys only its use counts."""

HARMFUL_ACCESS = 0x1 | 0x2 | 0x8 | 0x10 | 0x20 | 0x40 | 0x80 | 0x800 | 0x40000 | 0x80000
"""Rights of a GrantedAccess (Sysmon 10) with which an open counts for its target too
(docs/event-strings.md)."""

SYSTEM_LOG: dict[int, tuple[Effect, ...]] = {7045: (("regmod", SERVICES),)}

POWERSHELL: dict[int, tuple[Effect, ...]] = {4104: (("script", OWN),)}

AUDIT: tuple[Effect, ...] = (("start", OWN), ("childproc", PARENT))
"""A successful execve; one that failed is nothing."""

CHANNELS: dict[str, dict[int, tuple[Effect, ...]]] = {
    "microsoft-windows-sysmon/operational": SYSMON,
    "linux-sysmon/operational": SYSMON,
    "security": SECURITY,
    "system": SYSTEM_LOG,
    "microsoft-windows-powershell/operational": POWERSHELL,
}
