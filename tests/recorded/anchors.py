"""A query by hand for every anchor of the manifest: the records of an attack that must be found.

What a query must find is in the manifest (count and hosts); what proves it is `of`: "process"
counts processes, a list of the API counts the events of the found processes that hold `text`,
and "tally" stands for records without a process, which the import's own summary counts.
"""

from typing import NamedTuple


class Anchor(NamedTuple):
    """Search for an anchor of the manifest. Same order as in the manifest."""

    query: str
    of: str = "process"
    text: str = ""


ANCHORS: dict[str, tuple[Anchor, ...]] = {
    "m01_psexec_lateral": (
        Anchor('process_name:cmd.exe parent_name:services.exe cmdline:"start /b"'),
        Anchor("process_name:powershell.exe cmdline:-enc"),
        Anchor("process_name:whoami.exe parent_name:powershell.exe"),
    ),
    "m02_mavinject_dll": (
        Anchor("process_name:mavinject.exe cmdline:/injectrunning"),
        Anchor(
            "process_name:mavinject.exe crossproc_name:notepad.exe crossproc_type:remotethread",
            "crossproc",
            "RemoteThread",
        ),
        Anchor("modload:t1055.dll", "modload", "T1055.dll"),
    ),
    "m03_wmi_subscription_remote": (
        Anchor("process_name:movewmi.exe"),
        Anchor("process_name:scrcons.exe parent_name:svchost.exe"),
        Anchor("", "tally"),
    ),
    "m04_enable_rdp": (
        Anchor("process_name:reg.exe cmdline:fdenytsconnection*"),
        Anchor("process_name:netsh.exe cmdline:remotedesktop"),
        Anchor("regmod:fdenytsconnections", "regmod", "fDenyTSConnections"),
    ),
    "m05_uac_fodhelper": (
        Anchor("process_name:fodhelper.exe"),
        Anchor("process_name:powershell.exe parent_name:fodhelper.exe"),
        Anchor("regmod:*ms-settings*", "regmod", "ms-settings"),
    ),
    "m06_proxylogon_webshell": (
        Anchor("process_name:cmd.exe parent_name:w3wp.exe cmdline:whoami"),
        Anchor("filemod:*.aspx*", "filemod", ".aspx"),
    ),
    "m07_lsass_procdump": (
        Anchor("process_name:procdump*.exe cmdline:lsass.exe"),
        Anchor(
            "process_name:procdump64.exe crossproc_name:lsass.exe crossproc_type:processopen",
            "crossproc",
            "lsass.exe",
        ),
    ),
    "m08_aptsimulator_cs": (
        Anchor("process_name:createnamedpipe.exe cmdline:msagent_*"),
        Anchor("process_name:b6a1458f396.exe"),
        Anchor("pipe:msse-1337-server"),
    ),
    "m09_purplesharp_ad_playbook": (
        Anchor("process_name:purplesharp.exe cmdline:t1110.003"),
        Anchor("process_name:wsmprovhost.exe"),
    ),
    "m10_psexec_lsa_secrets": (
        Anchor("process_name:psexesvc.exe parent_name:services.exe"),
        Anchor("process_name:reg.exe parent_name:psexesvc.exe cmdline:policy"),
    ),
    "m11_log4shell_linux_sysmon": (
        Anchor('path:/bin/bash parent_name:java cmdline:"{base64,-d}"'),
        Anchor("process_name:java netconn_count:[1 TO *]", "netconn"),
    ),
    "m14_dll_injection_empire": (
        Anchor(
            "process_name:powershell.exe crossproc_name:notepad.exe crossproc_type:remotethread",
            "crossproc",
            "RemoteThread",
        ),
    ),
    "m15_wmic_xsl": (
        Anchor("process_name:wmic.exe cmdline:/format:"),
        Anchor("process_name:calc.exe parent_name:wmic.exe"),
    ),
    "m16_psinject": (
        Anchor(
            "process_name:powershell.exe crossproc_name:notepad.exe crossproc_type:remotethread",
            "crossproc",
            "RemoteThread",
        ),
    ),
}
