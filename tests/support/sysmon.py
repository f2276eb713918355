"""Sysmon records as Winlogbeat sends them, for a small tree of processes on one host."""

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

CHANNEL = "Microsoft-Windows-Sysmon/Operational"
PROVIDER = "Microsoft-Windows-Sysmon"


@dataclass(frozen=True)
class Process:
    """A process of the story, by what Sysmon says of it."""

    pid: int
    image: str
    command_line: str
    started_s: int
    user: str = "CORP\\ann"
    md5: str = ""

    @property
    def guid(self) -> str:
        """GUID in Sysmon's format: machine, start second, and a token that differs per process."""
        second = f"{self.started_s:08x}"
        return f"{{c0ffee00-{second[4:]}-{second[:4]}-{self.pid:04x}-000000001200}}"

    @property
    def sensor_less_id(self) -> str:
        """The process id on the wire, without its sensor."""
        return self.guid.strip("{}")[8:]


@dataclass
class Host:
    """Makes the records of one host, numbered as its event log would."""

    name: str
    began_s: int = field(default_factory=lambda: int(time.time()) - 600)
    record_id: int = 0

    def process(self, pid: int, image: str, command_line: str = "", after_s: int = 0) -> Process:
        started_s = self.began_s + after_s
        return Process(pid, image, command_line or image, started_s, md5=f"{pid:032x}")

    def record(self, event_id: int, at_s: float, **data: Any) -> dict[str, Any]:
        self.record_id += 1
        moment = datetime.fromtimestamp(at_s, UTC)
        stamp = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return {
            "@timestamp": stamp,
            "host": {"name": self.name},
            "winlog": {
                "channel": CHANNEL,
                "provider_name": PROVIDER,
                "event_id": str(event_id),
                "record_id": self.record_id,
                "computer_name": self.name,
                "event_data": {
                    "UtcTime": moment.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3],
                    **{name: str(value) for name, value in data.items()},
                },
            },
        }

    def created(self, process: Process, parent: Process) -> dict[str, Any]:
        return self.record(
            1,
            process.started_s,
            ProcessGuid=process.guid,
            ProcessId=process.pid,
            Image=process.image,
            CommandLine=process.command_line,
            CurrentDirectory="C:\\Users\\ann\\",
            User=process.user,
            LogonId="0x3e7",
            TerminalSessionId=1,
            IntegrityLevel="High",
            Hashes=f"MD5={process.md5.upper()},SHA256={process.md5.upper() * 2}",
            ParentProcessGuid=parent.guid,
            ParentProcessId=parent.pid,
            ParentImage=parent.image,
            ParentCommandLine=parent.command_line,
        )

    def of(self, process: Process, event_id: int, after_s: float, **data: Any) -> dict[str, Any]:
        """Any record whose source is `process`."""
        return self.record(
            event_id,
            process.started_s + after_s,
            ProcessGuid=process.guid,
            ProcessId=process.pid,
            Image=process.image,
            **data,
        )


@dataclass(frozen=True)
class Story:
    """word starts powershell starts whoami; powershell writes, connects, loads, sets a key."""

    host: Host
    word: Process
    powershell: Process
    whoami: Process
    records: list[dict[str, Any]]


def story(name: str) -> Story:
    host = Host(name)
    explorer = host.process(900, "C:\\Windows\\explorer.exe")
    word = host.process(1000, "C:\\Office\\WINWORD.EXE", "WINWORD.EXE /n invoice.docm", 10)
    shell = host.process(
        1100,
        "C:\\Windows\\System32\\WindowsPowerShell\\v1.0\\powershell.exe",
        f"powershell.exe -nop -enc SQBFAFgA {name}",
        20,
    )
    whoami = host.process(1200, "C:\\Windows\\System32\\whoami.exe", "whoami /all", 30)
    key = "HKLM\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\Run\\updater"
    records = [
        host.created(word, explorer),
        host.created(shell, word),
        host.of(
            shell,
            7,
            1,
            ImageLoaded="C:\\Windows\\System32\\amsi.dll",
            Signed="true",
            Signature="Microsoft Windows",
            SignatureStatus="Valid",
            Hashes=f"MD5={'AB' * 16}",
        ),
        host.of(
            shell,
            22,
            2,
            QueryName="c2.evil.example",
            QueryStatus=0,
            QueryResults="::ffff:203.0.113.9;",
        ),
        host.of(
            shell,
            3,
            3,
            Protocol="tcp",
            Initiated="true",
            SourceIp="10.0.0.5",
            SourcePort=50000,
            DestinationIp="203.0.113.9",
            DestinationPort=443,
            DestinationHostname="c2.evil.example",
        ),
        host.of(shell, 11, 4, TargetFilename="C:\\Users\\ann\\AppData\\Local\\Temp\\up.exe"),
        host.of(shell, 13, 5, EventType="SetValue", TargetObject=key, Details="up.exe"),
        host.created(whoami, shell),
        host.of(whoami, 5, 1),
    ]
    return Story(host, word, shell, whoami, records)
