"""Event-log channel names in canonical case.

Senders write "Security" and "security" for one channel
(docs/telemetry-formats.md#wrappers-of-windows-events), and the channel is part of a record's
identity.
"""

from vedette.model.memoize import remembered

SYSMON = "Microsoft-Windows-Sysmon/Operational"
SYSMON_LINUX = "Linux-Sysmon/Operational"
SECURITY = "Security"
SYSTEM = "System"
APPLICATION = "Application"
POWERSHELL = "Microsoft-Windows-PowerShell/Operational"
POWERSHELL_CORE = "PowerShellCore/Operational"
POWERSHELL_CLASSIC = "Windows PowerShell"
WMI = "Microsoft-Windows-WMI-Activity/Operational"
TASKS = "Microsoft-Windows-TaskScheduler/Operational"
DEFENDER = "Microsoft-Windows-Windows Defender/Operational"
FIREWALL = "Microsoft-Windows-Windows Firewall With Advanced Security/Firewall"
BITS = "Microsoft-Windows-Bits-Client/Operational"
APPLOCKER_EXE = "Microsoft-Windows-AppLocker/EXE and DLL"
APPLOCKER_SCRIPT = "Microsoft-Windows-AppLocker/MSI and Script"
CODE_INTEGRITY = "Microsoft-Windows-CodeIntegrity/Operational"
SESSIONS = "Microsoft-Windows-TerminalServices-LocalSessionManager/Operational"
REMOTE_DESKTOP = "Microsoft-Windows-TerminalServices-RemoteConnectionManager/Operational"
NTLM = "Microsoft-Windows-NTLM/Operational"
PRINT = "Microsoft-Windows-PrintService/Operational"
DRIVERS = "Microsoft-Windows-DriverFrameworks-UserMode/Operational"
DNS_CLIENT = "Microsoft-Windows-DNS-Client/Operational"
LDAP_CLIENT = "Microsoft-Windows-LDAP-Client/Debug"
SMB_CLIENT = "Microsoft-Windows-SmbClient/Security"
OPENSSH = "OpenSSH/Operational"

KNOWN: tuple[str, ...] = (
    SYSMON,
    SYSMON_LINUX,
    SECURITY,
    SYSTEM,
    APPLICATION,
    POWERSHELL,
    POWERSHELL_CORE,
    POWERSHELL_CLASSIC,
    WMI,
    TASKS,
    DEFENDER,
    FIREWALL,
    BITS,
    APPLOCKER_EXE,
    APPLOCKER_SCRIPT,
    CODE_INTEGRITY,
    SESSIONS,
    REMOTE_DESKTOP,
    NTLM,
    PRINT,
    DRIVERS,
    DNS_CLIENT,
    LDAP_CLIENT,
    SMB_CLIENT,
    OPENSSH,
)

_CANONICAL = {name.lower(): name for name in KNOWN}

_OF_PROVIDER = {
    "microsoft-windows-sysmon": SYSMON,
    "linux-sysmon": SYSMON_LINUX,
    "microsoft-windows-security-auditing": SECURITY,
    "microsoft-windows-eventlog": SECURITY,
    "microsoft-windows-powershell": POWERSHELL,
    "powershell": POWERSHELL_CLASSIC,
    "service control manager": SYSTEM,
}


def canonical(channel: str, provider: str = "") -> str:
    """Canonical channel name; that of the provider if the sender names no channel."""
    return _in_one_spelling(channel) or _OF_PROVIDER.get(provider.lower(), "")


@remembered(4_096)
def _in_one_spelling(channel: str) -> str:
    name = channel.strip()
    return _CANONICAL.get(name.lower(), name)
