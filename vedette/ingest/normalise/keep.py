"""Default selection of event-log records that are stored: what log search and detection read.

Records that yield process events are always stored as those, and not as records in addition, except
logons and service installs, which are stored as both. The selection omits high-volume records such
as closed handles, adjusted tokens, bind permissions and script block starts.
"""

from vedette.ingest import channels
from vedette.ingest.normalise import keep_unix
from vedette.ingest.normalise.normaliser import Keep
from vedette.ingest.normalise.values import free_text
from vedette.ingest.record import Record
from vedette.model.event import Kept
from vedette.model.log_fields import LEVELS

WHOLE: tuple[str, ...] = (
    channels.SYSMON,  # WMI, raw reads, clipboard, status, and events of unidentified processes
    channels.SYSMON_LINUX,
    channels.WMI,
    channels.TASKS,
    channels.DEFENDER,
    channels.FIREWALL,
    channels.BITS,
    channels.APPLOCKER_EXE,
    channels.APPLOCKER_SCRIPT,
    channels.CODE_INTEGRITY,
    channels.SESSIONS,
    channels.REMOTE_DESKTOP,
    channels.NTLM,
    channels.PRINT,
    channels.DRIVERS,
    channels.DNS_CLIENT,
    channels.LDAP_CLIENT,
    channels.SMB_CLIENT,
    channels.OPENSSH,
    channels.WINRM,
    channels.APPX_DEPLOYMENT,
    channels.APPX_PACKAGING,
    channels.APP_RUNTIME,
    channels.APPLOCKER_DEPLOYMENT,
    channels.APPLOCKER_EXECUTION,
    channels.EXCHANGE,
    channels.CERTIFICATES,
    channels.DIAGNOSIS,
    channels.DIRECTORY,
    channels.DNS_SERVER,
    channels.DNS_SERVER_AUDIT,
    channels.IIS_CONFIGURATION,
    channels.LSA,
    channels.PRINT_ADMIN,
    channels.SMB_CONNECTIVITY,
    channels.SMB_SERVER,
    channels.VIRTUAL_DISKS,
    channels.RPC_FIREWALL,
    channels.DHCP_SERVER,
    channels.BITLOCKER,
    channels.SMB_SERVER_AUDIT,
    channels.SMB_CLIENT_AUDIT,
    channels.APP_TELEMETRY,
    channels.APP_COMPATIBILITY,
    channels.SENSE,
)
"""Channels stored completely."""

_SECURITY = (
    (517, 1100, 1102, 1104),  # the log itself
    (4608, 4610, 4611, 4614, 4616, 4618, 4622, 4649, 4692, 4693, 4694, 4695),  # system
    (4624, 4625, 4634, 4647, 4648, 4672, 4675, 4768, 4769, 4770, 4771, 4776, 4778, 4779),  # logon
    (4800, 4801, 4964, 5632, 5633),
    (4656, 4657, 4659, 4660, 4661, 4662, 4663, 4664, 4670, 4673, 4674, 4715, 4719),  # objects
    (4688, 4689, 4696, 4697, 4698, 4699, 4700, 4701, 4702, 4704, 4705, 4706, 4707, 4713),
    (4717, 4718, 4739, 4817, 4902, 4904, 4905, 4907, 4908, 4912),  # policy
    (*range(4720, 4739), *range(4740, 4768), *range(4780, 4784), 4793, 4794, 4797, 4798, 4799),
    (4825, 4826, 4865, 4866, 4867, 4868, 4870, 4882, 4885, 4886, 4887, 4888, 4890, 4892, 4898),
    (4899, 4900),  # certificate services
    (4944, 4946, 4947, 4948, 4949, 4950, 4954, 4956),  # firewall rules
    (5024, 5025, 5027, 5028, 5029, 5030, 5034, 5035, 5037, 5038, 5058, 5059, 5061),
    (5136, 5137, 5138, 5139, 5141, 5140, 5142, 5143, 5144, 5145, 5379, 5382, 5447),
    (5152, 5157, 6144, 6145, 6281, 6410, 6416, 6419, 6420, 6421, 6422, 6423, 6424),
)

_SYSTEM = tuple(
    event_id
    for group in (
        (1, 4, 6, 12, 13, 16, 19, 20, 27, 37, 39, 41, 42, 50, 55, 56, 98, 104, 1001, 1014, 1074),
        (1031, 1032, 1033, 1034, 5723, 5805, 5827, 5828, 5829, 5830, 5831, 6005, 6006, 6008),
        (7000, 7009, 7023, 7024, 7030, 7031, 7034, 7035, 7036, 7040, 7045, 9009, 10001),
        (16962, 16965, 16990, 16991),
    )
    for event_id in group
)

_APPLICATION = tuple(
    event_id
    for group in (
        (1, 11, 216, 325, 326, 327, 865, 866, 867, 868, 882, 1000, 1001, 1002, 1022, 1033, 1034),
        (1040, 1042, 1511, 2303, 3000, 5007, 7025, 8128, 11707, 11708, 11724, 15457, 17135),
        (18456, 33205),
    )
    for event_id in group
)

_POWERSHELL = (4100, 4103, 4104, 8193, 8194, 24577, 32784, 40961, 40962, 53504, 53506)

IDS: tuple[tuple[str, tuple[int, ...]], ...] = (
    (channels.SECURITY, tuple(event_id for group in _SECURITY for event_id in group)),
    (channels.SYSTEM, _SYSTEM),
    (channels.APPLICATION, _APPLICATION),
    (channels.POWERSHELL, _POWERSHELL),
    (channels.POWERSHELL_CORE, (4100, 4103, 4104, 40961, 40962, 53504)),
    (channels.RDP_CLIENT, (1024, 1029, 1102)),  # connections, without their steps
    (channels.POWERSHELL_CLASSIC, (400, 403, 500, 501, 600, 800)),
)
"""Event ids stored from channels that are too large to store completely."""

KEEP = Keep.of(WHOLE + keep_unix.WHOLE, IDS + keep_unix.IDS)
"""Default value of the `keep` setting."""

ENVELOPE = frozenset(
    {
        "@timestamp",
        "@version",
        "ActivityID",
        "Category",
        "Channel",
        "Computer",
        "EventID",
        "EventLog",
        "EventRecordID",
        "EventReceivedTime",
        "EventTime",
        "EventTypeOrignal",
        "ExecutionProcessID",
        "ExecutionThreadID",
        "HostIP",
        "Hostname",
        "Keywords",
        "Level",
        "MG",
        "ManagementGroupName",
        "Opcode",
        "OpcodeValue",
        "ProviderGuid",
        "ProviderName",
        "RecordId",
        "RecordNumber",
        "RelatedActivityID",
        "Severity",
        "SeverityLevel",
        "SeverityValue",
        "SourceModuleName",
        "SourceModuleType",
        "SourceName",
        "SourceSystem",
        "Task",
        "TenantId",
        "ThreadID",
        "TimeCreated",
        "TimeGenerated",
        "Version",
        "_ResourceId",
        "host",
        "port",
        "tags",
    }
)
"""Envelope members of flat records (NXLog, Get-WinEvent, Azure) that are not event data."""

_NOTHING: frozenset[str] = frozenset()
_WHO = frozenset(
    {"AccountName", "AccountType", "Domain", "ERROR_EVT_UNRESOLVED", "EventType", "UserID"}
)
"""Members that NXLog adds about the logging account: stored, but not event data."""


def kept(record: Record, time_us: int) -> Kept:
    """Returns the record to store: event data as text without envelope members. Includes the
    rendered message only if the record has no event data."""
    skipped = ENVELOPE if "EventID" in record.data else _NOTHING
    fields: dict[str, str] = {}
    for name, value in record.data.items():
        if name not in skipped and (text := free_text(value)):
            fields[name] = text
    message = fields.pop("Message", "")
    if message and not fields.keys() - _WHO:
        fields["Message"] = message
    level = LEVELS[record.level] if 0 <= record.level < len(LEVELS) else ""
    return Kept(
        time_us,
        record.channel,
        record.event_id,
        record.record_id,
        record.provider,
        fields,
        level,
    )
