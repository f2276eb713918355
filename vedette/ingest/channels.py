"""Event-log channel names in canonical case.

Senders write "Security" and "security" for the same channel
(docs/telemetry-windows.md), and the channel is part of a record's
identity.
"""

from vedette.model.memoize import memoize

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
WINRM = "Microsoft-Windows-WinRM/Operational"
RDP_CLIENT = "Microsoft-Windows-TerminalServices-RDPClient/Operational"
APPX_DEPLOYMENT = "Microsoft-Windows-AppXDeploymentServer/Operational"
APPX_PACKAGING = "Microsoft-Windows-AppxPackaging/Operational"
APP_RUNTIME = "Microsoft-Windows-AppModel-Runtime/Admin"
APPLOCKER_DEPLOYMENT = "Microsoft-Windows-AppLocker/Packaged app-Deployment"
APPLOCKER_EXECUTION = "Microsoft-Windows-AppLocker/Packaged app-Execution"
EXCHANGE = "MSExchange Management"
CERTIFICATES = "Microsoft-Windows-CertificateServicesClient-Lifecycle-System/Operational"
DIAGNOSIS = "Microsoft-Windows-Diagnosis-Scripted/Operational"
DIRECTORY = "Directory Service"
DNS_SERVER = "DNS Server"
DNS_SERVER_AUDIT = "Microsoft-Windows-DNS-Server/Audit"
IIS_CONFIGURATION = "Microsoft-IIS-Configuration/Operational"
LSA = "Microsoft-Windows-LSA/Operational"
PRINT_ADMIN = "Microsoft-Windows-PrintService/Admin"
SMB_CONNECTIVITY = "Microsoft-Windows-SmbClient/Connectivity"
SMB_SERVER = "Microsoft-Windows-SMBServer/Connectivity"
VIRTUAL_DISKS = "Microsoft-Windows-VHDMP/Operational"

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
    WINRM,
    RDP_CLIENT,
    APPX_DEPLOYMENT,
    APPX_PACKAGING,
    APP_RUNTIME,
    APPLOCKER_DEPLOYMENT,
    APPLOCKER_EXECUTION,
    EXCHANGE,
    CERTIFICATES,
    DIAGNOSIS,
    DIRECTORY,
    DNS_SERVER,
    DNS_SERVER_AUDIT,
    IIS_CONFIGURATION,
    LSA,
    PRINT_ADMIN,
    SMB_CONNECTIVITY,
    SMB_SERVER,
    VIRTUAL_DISKS,
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
    """Returns the canonical channel name. If the sender names no channel, returns the provider's
    channel."""
    return _in_one_spelling(channel) or _OF_PROVIDER.get(provider.lower(), "")


@memoize(4_096)
def _in_one_spelling(channel: str) -> str:
    name = channel.strip()
    return _CANONICAL.get(name.lower(), name)
