"""A Windows host: the operations of `Machine` as Sysmon, Security and PowerShell records."""

from itertools import count

from vedette.simulate.fleet import DOMAIN, NETBIOS, Host
from vedette.simulate.machine import Machine, Process
from vedette.simulate.software import PROGRAM
from vedette.simulate.stream import Stream
from vedette.simulate.timestamps import json_text
from vedette.simulate.windows import sysmon, winlogbeat

LOCAL_SYSTEM = r"NT AUTHORITY\SYSTEM"
SYSTEM_LOGON_ID = 0x3E7


class WindowsMachine(Machine):
    def __init__(self, host: Host, seed: int, start_us: int) -> None:
        super().__init__(host, seed, start_us)
        self.user = rf"{NETBIOS}\{host.user.login}"
        self.profile = rf"C:\Users\{host.user.login}"
        self._ip, self._name = host.ip.encode(), host.name.encode()
        self._sequence = self.rng.randrange(40, 400)
        self._streams: dict[int, Stream] = {}
        self._record_ids: dict[str, count[int]] = {}
        self._logger_pid = self.next_pid()
        self._system_logon = self._open_session(LOCAL_SYSTEM, SYSTEM_LOGON_ID, 0, b"System")
        self.logon(0, self.user)
        kernel_guid = sysmon.guid(host.guid_prefix, self.boot_us, 1)
        self.resident["root"] = self._build(
            "System", "", LOCAL_SYSTEM, self.boot_us, 4, kernel_guid
        )
        self.out.clear()

    # processes

    def add_running(
        self, name: str, path: str, command_line: str, user: str, start_us: int
    ) -> Process:
        process = self._build(path, command_line, user, start_us, self.next_pid(), b"")
        self.resident[name] = process
        return process

    def run(
        self, at_us: int, path: str, command_line: str, parent: Process, user: str = ""
    ) -> Process:
        path = PROGRAM.get(path, path)
        process = self._build(
            path, command_line, user or parent.user, at_us, self.next_pid(), b"", parent
        )
        self._log(1, at_us, self._creation(process))
        return process

    def exit(self, at_us: int, process: Process) -> None:
        self._log(5, at_us, sysmon.process_end(process))

    def _build(
        self,
        path: str,
        command_line: str,
        user: str,
        start_us: int,
        pid: int,
        key: bytes,
        parent: Process | None = None,
    ) -> Process:
        path = PROGRAM.get(path, path)
        if not key:
            self._sequence += 1
            key = sysmon.guid(self.host.guid_prefix, start_us, self._sequence)
        line = command_line or f'"{path}"'
        subject, tail = sysmon.subject(key, pid, path), sysmon.user_member(user)
        return Process(pid, path, line, user, start_us, key, subject, tail, parent)

    def _creation(self, process: Process) -> bytes:
        logon = self._user_logon if process.user == self.user else self._system_logon
        folder = self.profile if process.user == self.user else r"C:\Windows\system32"
        return sysmon.process_create(process, self.host.ring, folder + "\\", logon)

    def load(self, at_us: int, process: Process, path: str) -> None:
        self._log(7, at_us, sysmon.image_load(process, path, self.host.ring))

    def load_driver(self, at_us: int, path: str) -> None:
        self._log(6, at_us, sysmon.driver_load(path, self.host.ring))

    def open_process(self, at_us: int, process: Process, target: Process, mask: int) -> None:
        body = sysmon.process_access(process, target, process.pid + 96, mask)
        self._log(10, at_us, body)

    def start_thread(self, at_us: int, process: Process, target: Process) -> None:
        """Logs a thread started in another process."""
        self._log(8, at_us, sysmon.remote_thread(process, target, target.pid + 1204))

    # network

    def connect(
        self,
        at_us: int,
        process: Process,
        address: str,
        port: int,
        name: str = "",
        *,
        udp: bool = False,
    ) -> None:
        if name:
            self.lookup(at_us - 40_000, process, name, address)
        here = (self._ip, self._port(), self._name)
        there = (address.encode(), port, b"-")
        body = sysmon.connection(process, here, there, initiated=True, udp=udp)
        self._log(3, at_us, body)

    def accept(self, at_us: int, process: Process, address: str, port: int) -> None:
        here = (self._ip, port, self._name)
        there = (address.encode(), self._port(), b"-")
        body = sysmon.connection(process, there, here, initiated=False, udp=False)
        self._log(3, at_us, body)

    def lookup(self, at_us: int, process: Process, name: str, address: str) -> None:
        answers = f"::ffff:{address};".encode()
        self._log(22, at_us, sysmon.dns_query(process, name.encode(), answers))

    def _port(self) -> int:
        return 49_152 + int(self.rng.random() * 16_000)

    # files and registry

    def write(self, at_us: int, process: Process, path: str) -> None:
        self._log(11, at_us, sysmon.file_create(process, json_text(path), at_us))

    def delete(self, at_us: int, process: Process, path: str) -> None:
        digest = f"{self.rng.getrandbits(384):096X}"
        self._log(23, at_us, sysmon.file_delete(process, json_text(path), digest))

    def backdate(self, at_us: int, process: Process, path: str, claimed_us: int) -> None:
        """Sets a file's creation time."""
        body = sysmon.file_time(process, json_text(path), at_us, claimed_us)
        self._log(2, at_us, body)

    def download(self, at_us: int, process: Process, path: str, url: str) -> None:
        """Logs a file from the web, with its Zone.Identifier."""
        self.write(at_us, process, path)
        mark = json_text(f"[ZoneTransfer]  ZoneId=3  HostUrl={url}")
        stream = json_text(f"{path}:Zone.Identifier")
        digest = f"{self.rng.getrandbits(128):032X}"
        self._log(15, at_us, sysmon.stream_create(process, stream, at_us, digest, mark))

    def create_key(self, at_us: int, process: Process, key: str) -> None:
        self._log(12, at_us, sysmon.registry_key(process, json_text(key), b"CreateKey"))

    def delete_value(self, at_us: int, process: Process, key: str) -> None:
        self._log(12, at_us, sysmon.registry_key(process, json_text(key), b"DeleteValue"))

    def set_value(self, at_us: int, process: Process, key: str, details: str) -> None:
        body = sysmon.registry_value(process, json_text(key), json_text(details))
        self._log(13, at_us, body)

    def create_pipe(self, at_us: int, process: Process, name: str) -> None:
        self._log(17, at_us, sysmon.pipe(process, json_text(name), b"CreatePipe"))

    def connect_pipe(self, at_us: int, process: Process, name: str) -> None:
        self._log(18, at_us, sysmon.pipe(process, json_text(name), b"ConnectPipe"))

    # other logs

    def script_block(self, at_us: int, process: Process, text: str, path: str = "") -> None:
        """Logs PowerShell 4104, in one part."""
        block_id = f"{self.nonce()}-4f2e-4a19-9c11-{self.nonce()}7d20".encode()
        body = (
            b'"MessageNumber":"1","MessageTotal":"1","ScriptBlockText":"%b","ScriptBlockId":"%b",'
            b'"Path":"%b"},"process":{"pid":%d,"thread":{"id":%d}'
            % (json_text(text), block_id, json_text(path), process.pid, process.pid + 388)
        )
        self._log(4104, at_us, body)

    def logon(self, at_us: int, user: str, kind: int = 2, address: str = "-") -> None:
        """Logs Security 4624; an interactive logon (kind 2) opens the session of the host's
        user."""
        logon_id = 0x10000 + self.rng.getrandbits(30)
        if kind == 2:
            self._user_logon = self._open_session(user, logon_id, 1, b"Medium")
        name = user.rpartition("\\")[2]
        body = (
            b'"SubjectUserSid":"S-1-5-18","SubjectUserName":"%b$","SubjectDomainName":"%b",'
            b'"SubjectLogonId":"0x3e7","TargetUserSid":"%b","TargetUserName":"%b",'
            b'"TargetDomainName":"%b","TargetLogonId":"0x%x","LogonType":"%d",'
            b'"LogonProcessName":"%b","AuthenticationPackageName":"%b","WorkstationName":"%b",'
            b'"LogonGuid":"{00000000-0000-0000-0000-000000000000}","IpAddress":"%b","IpPort":"0",'
            b'"ElevatedToken":"%%%%1843"'
            % (
                self.host.short_name.upper().encode(),
                NETBIOS.encode(),
                self.host.user.sid.encode(),
                name.encode(),
                NETBIOS.encode(),
                logon_id,
                kind,
                b"User32 " if kind == 2 else b"Kerberos",
                b"Negotiate" if kind == 2 else b"Kerberos",
                self.host.short_name.upper().encode(),
                address.encode(),
            )
        )
        self._log(4624, at_us, body)

    def logoff(self, at_us: int, user: str, kind: int = 2) -> None:
        """Logs a logoff (Security 4634)."""
        body = (
            b'"TargetUserSid":"%b","TargetUserName":"%b","TargetDomainName":"%b",'
            b'"TargetLogonId":"0x%x","LogonType":"%d"'
            % (
                self.host.user.sid.encode(),
                user.rpartition("\\")[2].encode(),
                NETBIOS.encode(),
                self._user_logon.id,
                kind,
            )
        )
        self._log(4634, at_us, body)

    def grant_ticket(self, at_us: int, user: str, address: str) -> None:
        """Logs Security 4769 of a domain controller: a ticket for itself."""
        service = self.host.short_name.upper().encode()
        body = (
            b'"TargetUserName":"%b@%b","TargetDomainName":"%b","ServiceName":"%b$",'
            b'"ServiceSid":"S-1-5-21-0-0-0-1000","TicketOptions":"0x40810000",'
            b'"TicketEncryptionType":"0x12","IpAddress":"::ffff:%b","IpPort":"0","Status":"0x0",'
            b'"LogonGuid":"{00000000-0000-0000-0000-000000000000}","TransmittedServices":"-"'
            % (
                user.rpartition("\\")[2].encode(),
                DOMAIN.upper().encode(),
                DOMAIN.upper().encode(),
                service,
                address.encode(),
            )
        )
        self._log(4769, at_us, body)

    def install_service(self, at_us: int, name: str, command: str) -> None:
        """Logs System 7045, and the registry value that services.exe writes."""
        body = (
            b'"ServiceName":"%b","ImagePath":"%b","ServiceType":"user mode service",'
            b'"StartType":"demand start","AccountName":"LocalSystem"'
            % (json_text(name), json_text(command))
        )
        self._log(7045, at_us, body)
        key = rf"HKLM\System\CurrentControlSet\Services\{name}\ImagePath"
        self.set_value(at_us, self.resident["services"], key, command)

    # streams

    def _open_session(
        self, user: str, logon_id: int, session: int, integrity: bytes
    ) -> sysmon.Logon:
        prefix = self.host.guid_prefix.encode()
        guid = b"{%b-0000-0000-%04x-%012x}" % (prefix, logon_id & 0xFFFF, logon_id)
        return sysmon.Logon(user, logon_id, guid, session, integrity)

    def _log(self, event_id: int, at_us: int, body: bytes) -> None:
        stream = self._streams.get(event_id) or self._open_stream(event_id)
        self.out.append((at_us, stream, body))

    def _open_stream(self, event_id: int) -> Stream:
        channel = winlogbeat.channel_of(event_id)
        record_ids = self._record_ids.get(channel)
        if record_ids is None:
            record_ids = self._record_ids[channel] = count(self.rng.randrange(10_000, 4_000_000))
        logger_pid = 0 if channel == winlogbeat.POWERSHELL else self._logger_pid
        stream = winlogbeat.open_stream(self.host, event_id, logger_pid, record_ids)
        self._streams[event_id] = stream
        return stream


def domain_user(login: str) -> str:
    return rf"{NETBIOS}\{login}"


def internal(name: str) -> str:
    """Returns the full name of an internal service of the company."""
    return f"{name}.{DOMAIN}"
