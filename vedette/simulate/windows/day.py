"""Activities of Windows hosts by role: resident processes, logons, and the activity list."""

from vedette.simulate.activity import Activity
from vedette.simulate.fleet import Role
from vedette.simulate.machine import SECOND_US
from vedette.simulate.software import PROGRAM
from vedette.simulate.windows import background, server, workstation
from vedette.simulate.windows.machine import LOCAL_SYSTEM, WindowsMachine
from vedette.simulate.windows.short_programs import load_modules

_SERVICE_GROUPS = (
    "netsvcs -p",
    "LocalService -p",
    "NetworkService -p",
    "LocalSystemNetworkRestricted -p",
)
_DEFENDER = "msmpeng.exe"

_SERVICES: tuple[tuple[str, str, str], ...] = (
    ("services", "services.exe", r"C:\Windows\system32\services.exe"),
    ("winlogon", "winlogon.exe", "winlogon.exe"),
    ("lsass", "lsass.exe", r"C:\Windows\system32\lsass.exe"),
    *(
        (f"svchost{n}", "svchost.exe", rf"C:\Windows\System32\svchost.exe -k {group}")
        for n, group in enumerate(_SERVICE_GROUPS)
    ),
    ("defender", _DEFENDER, ""),
    ("spooler", "spoolsv.exe", r"C:\Windows\System32\spoolsv.exe"),
    ("wmi", "wmiprvse.exe", r"C:\Windows\system32\wbem\wmiprvse.exe"),
    ("indexer", "searchindexer.exe", r"C:\Windows\system32\SearchIndexer.exe /Embedding"),
    ("shipper", "winlogbeat.exe", ""),
    ("monitor", "monitor-agent.exe", r'"C:\Program Files\Halden\monitor-agent.exe" --service'),
)
_ROLE_SERVICES: dict[str, tuple[tuple[str, str, str], ...]] = {
    "domain_controller": (
        ("dns", "dns.exe", r"C:\Windows\system32\dns.exe"),
        ("replication", "dfsrs.exe", r"C:\Windows\system32\DFSRs.exe"),
    ),
    "mail_server": (
        ("mailbox", "msexchangemailboxassistants.exe", ""),
        (
            "w3wp",
            "w3wp.exe",
            r'c:\windows\system32\inetsrv\w3wp.exe -ap "MSExchangeOWAAppPool" -v "v4.0"',
        ),
    ),
    "web_server": (
        ("w3wp", "w3wp.exe", r'c:\windows\system32\inetsrv\w3wp.exe -ap "HaldenShop" -v "v4.0"'),
    ),
    "database_server": (("sql", "sqlservr.exe", '"sqlservr.exe" -sMSSQLSERVER'),),
}
_SESSION: tuple[tuple[str, str, str], ...] = (
    ("explorer", "explorer.exe", r"C:\Windows\Explorer.EXE"),
    ("browser", "chrome.exe", f'"{PROGRAM["chrome.exe"]}" --profile-directory=Default'),
    ("outlook", "outlook.exe", f'"{PROGRAM["outlook.exe"]}" /recycle'),
    ("chat", "teamline.exe", f'"{PROGRAM["teamline.exe"]}" --autostart'),
    ("editor", "code.exe", f'"{PROGRAM["code.exe"]}"'),
)


def boot(m: WindowsMachine) -> None:
    """Adds the processes that run when the day begins; they have no creation event."""
    for number, (name, path, line) in enumerate(_SERVICES + _ROLE_SERVICES.get(m.host.role, ())):
        m.add_running(name, path, line, LOCAL_SYSTEM, m.boot_us + (number + 3) * SECOND_US)


def resume_session(m: WindowsMachine) -> None:
    """Adds the session of a user who is already logged on when the day begins."""
    for number, (name, path, line) in enumerate(_SESSION):
        m.add_running(name, path, line, m.user, m.start_us - (90 - number) * 60 * SECOND_US)


def log_on(m: WindowsMachine, at: int) -> None:
    m.logon(at, m.user)
    shell = m.run(
        at + 400_000,
        "userinit.exe",
        r"C:\Windows\system32\userinit.exe",
        m.resident["winlogon"],
        m.user,
    )
    parent = shell
    for number, (name, path, line) in enumerate(_SESSION):
        start = at + (number * 7 + 1) * SECOND_US
        process = m.run(start, path, line, parent)
        load_modules(m, start, process, 24)
        m.resident[name] = process
        parent = m.resident["explorer"]
    m.exit(at + 30 * SECOND_US, shell)


def log_off(m: WindowsMachine, at: int) -> None:
    for number, (name, _, _) in enumerate(reversed(_SESSION)):
        m.exit(at + number * 300_000, m.resident.pop(name))
    m.logoff(at + 3 * SECOND_US, m.user)


_SERVERS: frozenset[Role] = frozenset(
    {"domain_controller", "mail_server", "web_server", "file_server", "database_server"}
)
_MAILED: frozenset[Role] = frozenset({"mail_server", "web_server"})

ACTIVITIES: tuple[Activity[WindowsMachine], ...] = (
    Activity(background.service_settings, 10),
    Activity(background.query_processes, 5),
    Activity(background.report_telemetry, 5),
    Activity(background.scheduled_task, 3),
    Activity(background.scan_memory, 1),
    Activity(background.index_files, 1),
    Activity(background.update_windows, 0.12),
    Activity(background.inventory_script, 0.5),
    Activity(workstation.browse, 24, needs_user=True),
    Activity(workstation.fetch_file, 2, needs_user=True),
    Activity(workstation.read_mail, 10, needs_user=True),
    Activity(workstation.edit_document, 2, needs_user=True),
    Activity(workstation.use_chat, 12, needs_user=True),
    Activity(workstation.use_files, 7, needs_user=True),
    Activity(workstation.run_diagnostics, 0.15, needs_user=True),
    Activity(workstation.build_software, 1.5, frozenset({"developer"}), needs_user=True),
    Activity(workstation.use_git, 8, frozenset({"developer"}), needs_user=True),
    Activity(server.serve_directory, 25, frozenset({"domain_controller"})),
    Activity(server.serve_web, 25, _MAILED),
    Activity(server.serve_files, 25, frozenset({"file_server"})),
    Activity(server.serve_sql, 20, frozenset({"database_server"})),
    Activity(server.run_backup, 0.2, _SERVERS),
)
