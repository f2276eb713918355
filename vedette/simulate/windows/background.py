"""Background activities of Windows: services, scheduled tasks, updates, scanners."""

from vedette.simulate.addresses import (
    DC_NAME,
    MONITOR_NAME,
    UPDATE_NAMES,
    address_of,
)
from vedette.simulate.machine import SECOND_US, Process
from vedette.simulate.software import PROGRAM
from vedette.simulate.windows.machine import WindowsMachine
from vedette.simulate.windows.short_programs import load_modules, run_tool


def _service(m: WindowsMachine) -> Process:
    return m.resident[f"svchost{int(m.rng.random() * 4)}"]


def service_settings(m: WindowsMachine, at: int) -> None:
    service = _service(m)
    key = m.rng.choice(_SETTINGS)
    if m.rng.random() < 0.3:
        m.create_key(at, service, key.rpartition("\\")[0])
    for number in range(1 + int(m.rng.random() * 4)):
        value = f"QWORD (0x01db{m.nonce()[:4]}-0x{m.nonce()})" if number else "DWORD (0x00000001)"
        m.set_value(at + number * 900, service, key if number == 0 else f"{key}\\{number}", value)
    if m.rng.random() < 0.08:
        m.delete_value(at + 9_000, service, key)


_SETTINGS = tuple(
    rf"HKLM\{tail}"
    for tail in (
        r"SOFTWARE\Microsoft\Windows\CurrentVersion\WindowsUpdate\Auto Update\LastOnlineScanTime",
        r"SOFTWARE\Microsoft\Windows NT\CurrentVersion\Schedule\TaskCache\Tree\Halden\Inventory\Id",
        r"SOFTWARE\Microsoft\Windows\CurrentVersion\DeliveryOptimization\Config\DODownloadMode",
        r"System\CurrentControlSet\Services\W32Time\SecureTimeLimits\SecureTimeHigh",
        r"System\CurrentControlSet\Services\Tcpip\Parameters\Interfaces\{5f3c2a10}\LeaseObtainedTime",
        r"System\CurrentControlSet\Services\bam\State\UserSettings\S-1-5-18\SequenceNumber",
        r"SOFTWARE\Microsoft\Windows\CurrentVersion\Group Policy\State\Machine\EventLogLevel",
        r"SOFTWARE\Microsoft\Windows Defender\Signature Updates\SignaturesLastUpdated",
    )
)


def query_processes(m: WindowsMachine, at: int) -> None:
    """Simulates monitoring software that opens other processes, mostly to query them."""
    names = ("defender", "wmi", "monitor", "svchost0", "svchost3")
    source = m.resident[m.rng.choice(names)]
    targets = tuple(m.resident.values())
    for number in range(3 + int(m.rng.random() * 7)):
        target = m.rng.choice(targets)
        mask = m.rng.choice((0x1000, 0x1000, 0x1400, 0x1400, 0x1410, 0x1478))
        m.open_process(at + number * 2_100, source, target, mask)


def report_telemetry(m: WindowsMachine, at: int) -> None:
    service = _service(m)
    name = m.rng.choice(UPDATE_NAMES)
    m.connect(at + 60_000, service, address_of(name), 443, name)
    m.connect(at + 90_000, service, address_of(DC_NAME), m.rng.choice((53, 88, 123, 389)), udp=True)
    m.connect(at + 140_000, m.resident["monitor"], address_of(MONITOR_NAME), 9443, MONITOR_NAME)


def scheduled_task(m: WindowsMachine, at: int) -> None:
    path, line = m.rng.choice(_TASKS)
    process = run_tool(m, at, path, line, m.resident["svchost0"], 14)
    key = rf"{_TASK_CACHE}\{{{m.nonce()}}}\DynamicInfo"
    m.set_value(at + 20_000, m.resident["svchost0"], key, "Binary Data")
    if m.rng.random() < 0.3:
        m.write(at + 30_000, process, rf"C:\Windows\Temp\{m.nonce()}.tmp")


_TASK_CACHE = r"HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion\Schedule\TaskCache\Tasks"
_TASKS = (
    ("taskhostw.exe", r"taskhostw.exe Install $(Arg0)"),
    ("taskhostw.exe", r"taskhostw.exe /RuntimeWide"),
    ("googleupdate.exe", f'"{PROGRAM["googleupdate.exe"]}" /ua /installsource scheduler'),
    (
        "mpcmdrun.exe",
        f'"{PROGRAM["mpcmdrun.exe"]}" SignatureUpdate -ScheduleJob -RestrictPrivileges',
    ),
    (
        "backgroundtaskhost.exe",
        r'"C:\Windows\system32\backgroundTaskHost.exe" -ServerName:CortanaUI.AppX',
    ),
    (
        "dllhost.exe",
        r"C:\Windows\system32\DllHost.exe /Processid:{AB8902B4-09CA-4BB6-B78D-A8F59079A8D5}",
    ),
    ("sppsvc.exe", r"C:\Windows\system32\sppsvc.exe"),
    ("rundll32.exe", r"rundll32.exe C:\Windows\system32\dfshim.dll,ShOpenVerbShortcut D:\1"),
    (
        "wuauclt.exe",
        r'"C:\Windows\system32\wuauclt.exe" /UpdateDeploymentProvider UpdateDeploymentProvider.dll',
    ),
    ("gpupdate.exe", "gpupdate.exe /target:computer"),
)


def index_files(m: WindowsMachine, at: int) -> None:
    indexer = m.resident["indexer"]
    pipe = rf"\UsGthrFltPipeMssGthrPipe{m.nonce()}"
    line = rf'"C:\Windows\system32\SearchProtocolHost.exe" Global{pipe}_ 1 -2147483646'
    host = m.run(at, "searchprotocolhost.exe", line, indexer)
    m.create_pipe(at - 2_000, indexer, pipe)
    m.connect_pipe(at + 9_000, host, pipe)
    load_modules(m, at, host, 12)
    m.exit(at + m.within(90), host)


def update_windows(m: WindowsMachine, at: int) -> None:
    installer = m.run(
        at,
        "trustedinstaller.exe",
        r"C:\Windows\servicing\TrustedInstaller.exe",
        m.resident["services"],
    )
    line = r"C:\Windows\winsxs\amd64_microsoft-windows-servicingstack\TiWorker.exe -Embedding"
    worker = m.run(at + SECOND_US, "tiworker.exe", line, m.resident["svchost1"])
    folder = rf"C:\Windows\WinSxS\Temp\InFlight\{m.nonce()}"
    for number in range(10 + int(m.rng.random() * 40)):
        moment = at + (2 + number // 4) * SECOND_US + number * 1_700
        file = rf"{folder}\amd64_{m.rng.choice(_COMPONENTS)}_{number:03d}.manifest"
        m.write(moment, worker, file)
        if number % 4 == 0:
            m.backdate(moment + 500, worker, file, m.boot_us)
            m.delete(moment + 60_000, worker, file)
    m.exit(at + 60 * SECOND_US, worker)
    m.exit(at + 61 * SECOND_US, installer)


_COMPONENTS = (
    "microsoft-windows-shell",
    "netfx4-clr",
    "windows-defender",
    "microsoft-edge",
    "ntfs",
)


def scan_memory(m: WindowsMachine, at: int) -> None:
    """Simulates a scanner that reads recently loaded modules; occasionally a driver loads."""
    for number, target in enumerate(tuple(m.resident.values())[:6]):
        m.open_process(
            at + number * 700, m.resident["defender"], target, 0x1010 if number % 3 else 0x1000
        )
    if m.rng.random() < 0.05:
        m.load_driver(at + 20_000, r"C:\Windows\System32\drivers\WdFilter.sys")


def inventory_script(m: WindowsMachine, at: int) -> None:
    script = r"C:\Program Files\Halden\inventory.ps1"
    line = f'powershell.exe -NoProfile -ExecutionPolicy RemoteSigned -File "{script}"'
    shell = m.run(at, "powershell.exe", line, m.resident["monitor"])
    load_modules(m, at, shell, 24)
    m.script_block(at + 400_000, shell, _INVENTORY, script)
    m.connect(at + 900_000, shell, address_of(MONITOR_NAME), 9443, MONITOR_NAME)
    m.write(at + 950_000, shell, rf"C:\Windows\Temp\__PSScriptPolicyTest_{m.nonce()}.ps1")
    m.delete(at + 960_000, shell, rf"C:\Windows\Temp\__PSScriptPolicyTest_{m.nonce()}.ps1")
    m.exit(at + 3 * SECOND_US, shell)


_INVENTORY = """$os = Get-CimInstance Win32_OperatingSystem
$disks = Get-CimInstance Win32_LogicalDisk -Filter 'DriveType=3'
$report = @{ Host = $env:COMPUTERNAME; Build = $os.BuildNumber; Disks = $disks } | ConvertTo-Json
Invoke-RestMethod -Method Post -Uri 'https://monitor.halden.example:9443/inventory' -Body $report"""
