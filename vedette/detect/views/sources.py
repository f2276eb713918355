"""Event classes, and their mapping from Sigma log sources.

A class is named `PRODUCT/CATEGORY` for events of a kind from any sender, and `PRODUCT//SERVICE` for
all events of a log. An event has all classes that it belongs to. A rule is evaluated on the events
of its classes.
"""

from typing import Final

SYSMON_CATEGORIES: Final[dict[int, tuple[str, ...]]] = {
    1: ("process_creation",),
    2: ("file_change",),
    3: ("network_connection",),
    4: ("sysmon_status",),
    5: ("process_termination",),
    6: ("driver_load",),
    7: ("image_load",),
    8: ("create_remote_thread",),
    9: ("raw_access_thread",),
    10: ("process_access",),
    11: ("file_event",),
    12: ("registry_event",),
    13: ("registry_event", "registry_set"),
    14: ("registry_event", "registry_rename"),
    15: ("create_stream_hash",),
    16: ("sysmon_status",),
    17: ("pipe_created",),
    18: ("pipe_created",),
    19: ("wmi_event",),
    20: ("wmi_event",),
    21: ("wmi_event",),
    22: ("dns_query",),
    23: ("file_delete",),
    24: ("clipboard_capture",),
    25: ("process_tampering",),
    26: ("file_delete", "file_delete_detected"),
    27: ("file_block_executable",),
    28: ("file_block_shredding",),
    29: ("file_executable_detected",),
    255: ("sysmon_error",),
}
"""Maps Sysmon event ids to categories. Id 12 has a further category that depends on its
operation."""

CHANNEL_SERVICES: Final[dict[str, tuple[str, ...]]] = {
    "application": ("application",),
    "security": ("security",),
    "system": ("system",),
    "windows powershell": ("powershell-classic",),
    "dns server": ("dns-server",),
    "directory service": ("ldap",),
    "msexchange management": ("msexchange-management",),
    "openssh/operational": ("openssh",),
    "microsoft-windows-sysmon/operational": ("sysmon",),
    "microsoft-windows-powershell/operational": ("powershell",),
    "powershellcore/operational": ("powershell",),
    "microsoft-windows-applocker/exe and dll": ("applocker",),
    "microsoft-windows-applocker/msi and script": ("applocker",),
    "microsoft-windows-applocker/packaged app-deployment": ("applocker",),
    "microsoft-windows-applocker/packaged app-execution": ("applocker",),
    "microsoft-windows-appmodel-runtime/admin": ("appmodel-runtime",),
    "microsoft-windows-appxdeploymentserver/operational": ("appxdeployment-server",),
    "microsoft-windows-appxpackaging/operational": ("appxpackaging-om",),
    "microsoft-windows-bits-client/operational": ("bits-client",),
    "microsoft-windows-capi2/operational": ("capi2",),
    "microsoft-windows-certificateservicesclient-lifecycle-system/operational": (
        "certificateservicesclient-lifecycle-system",
    ),
    "microsoft-windows-codeintegrity/operational": ("codeintegrity-operational",),
    "microsoft-windows-diagnosis-scripted/operational": ("diagnosis-scripted",),
    "microsoft-windows-dns-client/operational": ("dns-client",),
    "microsoft-windows-dns client events/operational": ("dns-client",),
    "microsoft-windows-dns-server/audit": ("dns-server-audit",),
    "microsoft-windows-dns-server/analytical": ("dns-server-analytic",),
    "microsoft-windows-driverframeworks-usermode/operational": ("driver-framework",),
    "microsoft-windows-hyper-v-worker": ("hyper-v-worker",),
    "microsoft-windows-hyper-v-worker-admin": ("hyper-v-worker",),
    "microsoft-windows-hyper-v-worker-operational": ("hyper-v-worker",),
    "microsoft-iis-configuration/operational": ("iis-configuration",),
    "microsoft-windows-iis-configuration/operational": ("iis-configuration",),
    "microsoft-windows-kernel-event-tracing": ("kernel-event-tracing",),
    "microsoft-windows-kernel-eventtracing": ("kernel-event-tracing",),
    "microsoft-windows-kernel-eventtracing/admin": ("kernel-event-tracing",),
    "microsoft-windows-kernel-shimengine/operational": ("kernel-shimengine",),
    "microsoft-windows-kernel-shimengine/diagnostic": ("kernel-shimengine",),
    "microsoft-windows-ldap-client/debug": ("ldap", "ldap_debug"),
    "microsoft-windows-lsa/operational": ("lsa-server",),
    "microsoft-windows-ntfs/operational": ("ntfs",),
    "microsoft-windows-ntlm/operational": ("ntlm",),
    "microsoft-windows-printservice/admin": ("printservice-admin",),
    "microsoft-windows-printservice/operational": ("printservice-operational",),
    "microsoft-windows-security-mitigations/kernelmode": ("security-mitigations",),
    "microsoft-windows-security-mitigations/usermode": ("security-mitigations",),
    "microsoft-windows-security-mitigations/kernel mode": ("security-mitigations",),
    "microsoft-windows-security-mitigations/user mode": ("security-mitigations",),
    "microsoft-windows-shell-core/operational": ("shell-core",),
    "microsoft-windows-smbclient/connectivity": ("smbclient-connectivity",),
    "microsoft-windows-smbclient/security": ("smbclient-security",),
    "microsoft-windows-smbserver/connectivity": ("smbserver-connectivity",),
    "microsoft-windows-taskscheduler/operational": ("taskscheduler",),
    "microsoft-windows-terminalservices-localsessionmanager/operational": (
        "terminalservices-localsessionmanager",
    ),
    "microsoft-windows-vhdmp/operational": ("vhdmp",),
    "microsoft-windows-windows defender/operational": ("windefend",),
    "microsoft-windows-windows firewall with advanced security/firewall": ("firewall-as",),
    "microsoft-windows-wmi-activity/operational": ("wmi",),
    "microsoft-servicebus-client": ("microsoft-servicebus-client", "servicebus-client"),
    "microsoft-servicebus-client/operational": ("microsoft-servicebus-client", "servicebus-client"),
    "microsoft-servicebus-client/admin": ("microsoft-servicebus-client", "servicebus-client"),
    "microsoft-windows-application-experience/program-telemetry": ("application-experience",),
    "microsoft-windows-application-experience/program-compatibility-assistant": (
        "application-experience",
    ),
    "microsoft-windows-bitlocker/bitlocker management": ("bitlocker",),
    "microsoft-windows-dhcp-server/operational": ("dhcp",),
    "microsoft-windows-sense/operational": ("sense",),
    "microsoft-windows-smbclient/audit": ("smbclient-audit",),
    "microsoft-windows-smbserver/audit": ("smbserver-audit",),
    "microsoft-windows-terminalservices-rdpclient/operational": ("terminalservices-rdpclient",),
    "microsoft-windows-terminalservices-remoteconnectionmanager/operational": (
        "terminalservices-remoteconnectionmanager",
    ),
    "microsoft-windows-winrm/operational": ("winrm",),
    "rpcfw": ("rpc-firewall",),
}
"""Maps the lower-case name of a channel to its services."""

LOG_SOURCES: Final[dict[str, tuple[str, ...]]] = {
    "web_access": ("web/webserver",),
    "iis_access": ("web/webserver", "windows//iis"),
    "apache_error": ("web//apache",),
    "nginx_error": ("web//nginx",),
    "kubernetes_audit": ("kubernetes//audit",),
    "opencanary": ("opencanary/application",),
    **{
        channel: tuple(f"linux//{one}" for one in (*services, "syslog", ""))
        for channel, services in {
            "sshd": ("sshd", "auth"),
            "sudo": ("sudo", "auth"),
            "auth": ("auth",),
            "cron": ("cron",),
            "clamav": ("clamav",),
            "vsftpd": ("vsftpd",),
            "guacamole": ("guacamole",),
            "syslog": (),
        }.items()
    },
}
"""Maps the channel of a text log to its classes."""

_WINDOWS_CATEGORIES: Final = frozenset(
    {name for names in SYSMON_CATEGORIES.values() for name in names}
    | {"registry_add", "registry_delete", "ps_script", "ps_module", "ps_classic_start"}
    | {"ps_classic_provider_start", "ps_classic_script", "antivirus", "firewall", "file_access"}
)
_UNIX_CATEGORIES: Final = frozenset(
    {"process_creation", "process_termination", "file_event", "file_change", "file_delete"}
    | {"network_connection", "dns_query", "image_load"}
)
_SERVICES: Final[dict[str, frozenset[str]]] = {
    "windows": frozenset(name for names in CHANNEL_SERVICES.values() for name in names) | {"iis"},
    "linux": frozenset({"auditd", "sysmon", "syslog", "auth", "sshd", "sudo", "cron"})
    | {"clamav", "vsftpd", "guacamole"},
    "macos": frozenset(),
}
CATEGORIES: Final[dict[str, frozenset[str]]] = {
    "windows": _WINDOWS_CATEGORIES,
    "linux": _UNIX_CATEGORIES,
    "macos": _UNIX_CATEGORIES,
}
"""Categories that telemetry of each product can have."""

_ELSEWHERE: Final[dict[tuple[str | None, str | None, str | None], tuple[str, ...]]] = {
    ("rpc_firewall", "application", None): ("windows//rpc-firewall",),
    **dict.fromkeys(
        ((product, "webserver", None) for product in (None, "apache", "nginx", "linux")),
        ("web/webserver",),
    ),
    ("kubernetes", None, "audit"): ("kubernetes//audit",),
    ("kubernetes", "application", "audit"): ("kubernetes//audit",),
    ("opencanary", "application", None): ("opencanary/application",),
    **{(None, None, one): (f"web//{one}",) for one in ("apache", "nginx")},
}
"""Classes of log sources with a product of their own."""

_SAME: Final = {"dns": "dns_query"}
"""Maps category names of sender-independent rules to our categories."""


def sources_of(product: str | None, category: str | None, service: str | None) -> tuple[str, ...]:
    """Returns the classes of a log source; () if no collected telemetry belongs to it."""
    named = _ELSEWHERE.get((product, category, service))
    if named is not None:
        return named
    if product is None and category is None:
        return ()
    category = _SAME.get(category, category) if category is not None else None
    found = []
    for name in (product,) if product is not None else tuple(CATEGORIES):
        if name not in CATEGORIES:
            continue
        if category is not None:
            if category in CATEGORIES[name] and (service is None or service in _SERVICES[name]):
                found.append(f"{name}/{category}")
        elif service is not None:
            if service in _SERVICES[name]:
                found.append(f"{name}//{service}")
        else:
            found.append(f"{name}//")
    return tuple(found)
