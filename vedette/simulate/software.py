"""The installed software as data: programs and modules with versions, vendors and signatures.

File hashes are derived from file name and version, so the same build has the same hashes on every
host, and another version has different ones.
"""

from dataclasses import dataclass
from functools import lru_cache
from hashlib import md5, sha256


@dataclass(frozen=True, slots=True)
class Hashes:
    md5: str
    sha256: str
    imphash: str

    def sysmon(self) -> str:
        """Returns the hashes in Sysmon's form: `MD5=...,SHA256=...,IMPHASH=...` in upper case."""
        md5_, sha256_, imphash = self.md5.upper(), self.sha256.upper(), self.imphash.upper()
        return f"MD5={md5_},SHA256={sha256_},IMPHASH={imphash}"


@lru_cache(maxsize=16_384)
def file_hashes(path: str, version: str) -> Hashes:
    """Returns the hashes of a file by name and version, independent of its folder: hex, lower
    case."""
    content = f"{path.rsplit(chr(92), 1)[-1].lower()}|{version}".encode()
    return Hashes(
        md5(content, usedforsecurity=False).hexdigest(),
        sha256(content).hexdigest(),
        md5(content + b"|imports", usedforsecurity=False).hexdigest(),
    )


@dataclass(frozen=True, slots=True)
class Image:
    """An executable or module. An empty `signer` means unsigned."""

    path: str
    versions: tuple[str, str]
    """Versions by update ring of the host."""
    description: str
    product: str
    company: str
    original_name: str
    signer: str


_OS_BUILD = ("10.0.19041.4355 (WinBuild.160101.0800)", "10.0.19041.4522 (WinBuild.160101.0800)")
_WINDOWS = "Microsoft® Windows® Operating System"
_MICROSOFT = "Microsoft Corporation"
SYSTEM32 = r"C:\Windows\System32"


def _system(name: str, description: str, folder: str = SYSTEM32) -> Image:
    return Image(
        rf"{folder}\{name}",
        _OS_BUILD,
        description,
        _WINDOWS,
        _MICROSOFT,
        name.upper() if name.endswith(".exe") else name,
        "Microsoft Windows",
    )


def _program(
    path: str, versions: tuple[str, str], description: str, company: str, signer: str | None = None
) -> Image:
    name = path.rsplit("\\", 1)[-1]
    return Image(
        path,
        versions,
        description,
        description,
        company,
        name,
        company if signer is None else signer,
    )


_OFFICE = r"C:\Program Files\Microsoft Office\root\Office16"
_VS = r"C:\Program Files\Microsoft Visual Studio\2022\Professional"
_POWERSHELL = rf"{SYSTEM32}\WindowsPowerShell\v1.0"
_CHROME = r"C:\Program Files\Google\Chrome\Application"
_EDGE = r"C:\Program Files (x86)\Microsoft\Edge\Application"
_OFFICE_VERSIONS = ("16.0.17328.20282", "16.0.17531.20152")
_BROWSER_VERSIONS = ("126.0.6478.127", "127.0.6533.73")

WINDOWS_PROGRAMS: tuple[Image, ...] = (
    _system("svchost.exe", "Host Process for Windows Services"),
    _system("lsass.exe", "Local Security Authority Process"),
    _system("services.exe", "Services and Controller app"),
    _system("winlogon.exe", "Windows Logon Application"),
    _system("userinit.exe", "Userinit Logon Application"),
    _system("explorer.exe", "Windows Explorer", r"C:\Windows"),
    _system("cmd.exe", "Windows Command Processor"),
    _system("conhost.exe", "Console Window Host"),
    _system("powershell.exe", "Windows PowerShell", _POWERSHELL),
    _system("whoami.exe", "whoami - displays logged on user information"),
    _system("ipconfig.exe", "IP Configuration Utility"),
    _system("net.exe", "Net Command"),
    _system("net1.exe", "Net Command"),
    _system("nltest.exe", "Microsoft® Logon Server Test Utility"),
    _system("systeminfo.exe", "Displays system information"),
    _system("tasklist.exe", "Lists the current running tasks"),
    _system("ping.exe", "TCP/IP Ping Command"),
    _system("nslookup.exe", "nslookup"),
    _system("gpupdate.exe", "Microsoft® Group Policy Update Utility"),
    _system("rundll32.exe", "Windows host process (Rundll32)"),
    _system("reg.exe", "Registry Console Tool"),
    _system("schtasks.exe", "Task Scheduler Configuration Tool"),
    _system("taskhostw.exe", "Host Process for Windows Tasks"),
    _system("dllhost.exe", "COM Surrogate"),
    _system("backgroundTaskHost.exe", "Background Task Host"),
    _system("RuntimeBroker.exe", "Runtime Broker"),
    _system("SearchIndexer.exe", "Microsoft Windows Search Indexer"),
    _system("SearchProtocolHost.exe", "Microsoft Windows Search Protocol Host"),
    _system("SearchFilterHost.exe", "Microsoft Windows Search Filter Host"),
    _system("spoolsv.exe", "Spooler SubSystem App"),
    _system("sppsvc.exe", "Microsoft Software Protection Platform Service"),
    _system("wevtutil.exe", "Eventing Command Line Utility"),
    _system("vssadmin.exe", "Command Line Interface for Microsoft® Volume Shadow Copy Service"),
    _system("bcdedit.exe", "Boot Configuration Data Editor"),
    _system("wbadmin.exe", "Command Line Interface for Microsoft® BLB Backup"),
    _system("robocopy.exe", "Microsoft Robocopy"),
    _system("wuauclt.exe", "Windows Update"),
    _system("WmiPrvSE.exe", "WMI Provider Host", rf"{SYSTEM32}\wbem"),
    _system("WMIC.exe", "WMI Commandline Utility", rf"{SYSTEM32}\wbem"),
    _system("TrustedInstaller.exe", "Windows Modules Installer", r"C:\Windows\servicing"),
    _system(
        "TiWorker.exe",
        "Windows Modules Installer Worker",
        r"C:\Windows\WinSxS\amd64_microsoft-windows-servicingstack_31bf3856ad364e35_10.0",
    ),
    _system("w3wp.exe", "IIS Worker Process", rf"{SYSTEM32}\inetsrv"),
    _system("dns.exe", "Domain Name System (DNS) Server"),
    _system("ntdsutil.exe", "NT5DS"),
    _system("dfsrs.exe", "Distributed File System Replication"),
    _program(
        r"C:\Windows\Microsoft.NET\Framework64\v4.0.30319\csc.exe",
        ("4.8.4161.0", "4.8.4161.0"),
        "Visual C# Command Line Compiler",
        _MICROSOFT,
    ),
    _program(
        r"C:\ProgramData\Microsoft\Windows Defender\Platform\4.18.24060.7-0\MsMpEng.exe",
        ("4.18.24060.7", "4.18.24060.7"),
        "Antimalware Service Executable",
        _MICROSOFT,
        "Microsoft Windows Publisher",
    ),
    _program(
        r"C:\Program Files\Windows Defender\MpCmdRun.exe",
        ("4.18.24060.7", "4.18.24060.7"),
        "Microsoft Malware Protection Command Line Utility",
        _MICROSOFT,
        "Microsoft Windows Publisher",
    ),
    _program(
        rf"{_CHROME}\chrome.exe", _BROWSER_VERSIONS, "Google Chrome", "Google LLC", "Google LLC"
    ),
    _program(rf"{_EDGE}\msedge.exe", _BROWSER_VERSIONS, "Microsoft Edge", _MICROSOFT),
    _program(
        r"C:\Program Files (x86)\Google\Update\GoogleUpdate.exe",
        ("1.3.36.372", "1.3.36.372"),
        "Google Installer",
        "Google LLC",
    ),
    _program(rf"{_OFFICE}\WINWORD.EXE", _OFFICE_VERSIONS, "Microsoft Word", _MICROSOFT),
    _program(rf"{_OFFICE}\EXCEL.EXE", _OFFICE_VERSIONS, "Microsoft Excel", _MICROSOFT),
    _program(rf"{_OFFICE}\OUTLOOK.EXE", _OFFICE_VERSIONS, "Microsoft Outlook", _MICROSOFT),
    _program(
        r"C:\Program Files\Teamline\Teamline.exe",
        ("4.36.140", "4.38.121"),
        "Teamline Chat",
        "Teamline Software GmbH",
    ),
    _program(r"C:\Program Files\7-Zip\7zG.exe", ("23.01", "24.07"), "7-Zip GUI", "Igor Pavlov", ""),
    _program(
        r"C:\Program Files\Microsoft VS Code\Code.exe",
        ("1.90.2", "1.91.1"),
        "Visual Studio Code",
        _MICROSOFT,
    ),
    _program(
        rf"{_VS}\MSBuild\Current\Bin\amd64\MSBuild.exe",
        ("17.10.4.21802", "17.10.4.21802"),
        "MSBuild.exe",
        _MICROSOFT,
    ),
    _program(
        rf"{_VS}\VC\Tools\MSVC\14.40.33807\bin\Hostx64\x64\cl.exe",
        ("14.40.33811.0", "14.40.33811.0"),
        "Microsoft® C/C++ Compiler Driver",
        _MICROSOFT,
    ),
    _program(
        rf"{_VS}\VC\Tools\MSVC\14.40.33807\bin\Hostx64\x64\link.exe",
        ("14.40.33811.0", "14.40.33811.0"),
        "Microsoft® Incremental Linker",
        _MICROSOFT,
    ),
    _program(
        r"C:\Program Files\Git\cmd\git.exe",
        ("2.45.2.1", "2.45.2.1"),
        "Git for Windows",
        "The Git Project",
    ),
    _program(
        r"C:\Program Files\nodejs\node.exe",
        ("20.15.0", "20.15.1"),
        "Node.js",
        "Node.js",
        "OpenJS Foundation",
    ),
    _program(
        r"C:\Program Files\Microsoft SQL Server\MSSQL16.MSSQLSERVER\MSSQL\Binn\sqlservr.exe",
        ("2022.0160.4131.02", "2022.0160.4131.02"),
        "SQL Server Windows NT - 64 Bit",
        _MICROSOFT,
    ),
    _program(
        r"C:\Program Files\Microsoft\Exchange Server\V15\Bin\MSExchangeMailboxAssistants.exe",
        ("15.02.1544.011", "15.02.1544.011"),
        "Exchange Mailbox Assistants",
        _MICROSOFT,
    ),
    _program(
        r"C:\Program Files\Winlogbeat\winlogbeat.exe",
        ("8.14.1", "8.14.1"),
        "Winlogbeat",
        "Elastic",
        "Elasticsearch, Inc.",
    ),
    _program(
        r"C:\Program Files\Halden\monitor-agent.exe",
        ("3.4.0", "3.5.1"),
        "Halden monitoring agent",
        "Halden Optik",
        "",
    ),
    _program(
        r"C:\Windows\PSEXESVC.exe", ("2.43", "2.43"), "PsExec Service", "Sysinternals", _MICROSOFT
    ),
)

_DLL_NAMES = (
    "ntdll.dll",
    "kernel32.dll",
    "KernelBase.dll",
    "msvcrt.dll",
    "sechost.dll",
    "rpcrt4.dll",
    "advapi32.dll",
    "user32.dll",
    "gdi32.dll",
    "combase.dll",
    "ucrtbase.dll",
    "imm32.dll",
    "bcrypt.dll",
    "crypt32.dll",
    "ws2_32.dll",
    "winhttp.dll",
    "dnsapi.dll",
    "iphlpapi.dll",
    "ole32.dll",
    "oleaut32.dll",
    "shell32.dll",
    "shlwapi.dll",
    "propsys.dll",
    "uxtheme.dll",
    "amsi.dll",
    "mscoree.dll",
    "wldp.dll",
    "version.dll",
    "profapi.dll",
    "userenv.dll",
    "taskschd.dll",
    "wbemcomn.dll",
    "netapi32.dll",
    "samlib.dll",
    "dbghelp.dll",
    "dbgcore.dll",
    "dwmapi.dll",
    "d3d11.dll",
    "dxgi.dll",
    "msctf.dll",
    "xmllite.dll",
    "urlmon.dll",
)

WINDOWS_MODULES: tuple[Image, ...] = (
    *(_system(name, f"{name.partition('.')[0]} library") for name in _DLL_NAMES),
    _program(
        r"C:\Program Files\Common Files\System\ado\msado15.dll",
        _OS_BUILD,
        "ActiveX Data Objects",
        _MICROSOFT,
    ),
    _program(
        rf"{_CHROME}\126.0.6478.127\chrome.dll", _BROWSER_VERSIONS, "Google Chrome", "Google LLC"
    ),
    _program(rf"{_OFFICE}\AppVIsvSubsystems64.dll", _OFFICE_VERSIONS, "Virtualization", _MICROSOFT),
    _program(
        r"C:\Windows\assembly\NativeImages_v4.0.30319_64\mscorlib\a1f6\mscorlib.ni.dll",
        ("4.8.4690.0", "4.8.4718.0"),
        "Microsoft Common Language Runtime Class Library",
        _MICROSOFT,
        "",
    ),
)

KNOWN_IMAGES: dict[str, Image] = {
    image.path.lower(): image for image in (*WINDOWS_PROGRAMS, *WINDOWS_MODULES)
}
"""Maps lower-case path to image."""

PROGRAM: dict[str, str] = {
    image.path.rsplit("\\", 1)[-1].lower(): image.path for image in WINDOWS_PROGRAMS
}
"""Maps lower-case file name to full path."""


def image_of(path: str) -> Image:
    """Returns the catalogue entry of a file; an unknown file has no version, vendor or
    signature."""
    return KNOWN_IMAGES.get(path.lower()) or Image(path, ("-", "-"), "-", "-", "-", "-", "")
