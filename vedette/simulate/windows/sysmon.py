"""Bodies of Sysmon events: the members of `event_data` after RuleName and UtcTime.

Field names and order are Sysmon's (schema 4.90). All values are text. `Process.subject` is
ProcessGuid, ProcessId and Image; `Process.tail` is User, the last member of most events.
"""

from dataclasses import dataclass
from functools import lru_cache

from vedette.simulate.machine import Process
from vedette.simulate.software import Image, file_hashes, image_of
from vedette.simulate.timestamps import json_text, utc_text


def guid(prefix: str, start_us: int, sequence: int) -> bytes:
    """Returns a ProcessGuid: groups two and three are the start second, low half first."""
    second = start_us // 1_000_000
    return b"{%b-%04x-%04x-%04x-%08x%04x}" % (
        prefix.encode(),
        second & 0xFFFF,
        second >> 16,
        (sequence & 0xFF) << 8 | sequence >> 8 & 0xFF,
        sequence >> 16,
        0x0500,
    )


def subject(key: bytes, pid: int, path: str) -> bytes:
    return b'"ProcessGuid":"%b","ProcessId":"%d","Image":"%b"' % (key, pid, json_text(path))


@lru_cache(maxsize=4096)
def user_member(user: str) -> bytes:
    return b',"User":"%b"' % json_text(user)


@lru_cache(maxsize=16_384)
def _version_members(path: str, ring: int) -> bytes:
    image = image_of(path)
    texts = (image.versions[ring], image.description, image.product, image.company)
    return b'"FileVersion":"%b","Description":"%b","Product":"%b","Company":"%b",' % tuple(
        map(json_text, texts)
    ) + b'"OriginalFileName":"%b"' % json_text(image.original_name)


@lru_cache(maxsize=16_384)
def _hashes(path: str, ring: int) -> bytes:
    return file_hashes(path, image_of(path).versions[ring]).sysmon().encode()


@dataclass(frozen=True, slots=True)
class Logon:
    """A logon session in the form of event id 1."""

    user: str
    id: int
    guid: bytes
    session: int
    integrity: bytes


def process_create(process: Process, ring: int, folder: str, logon: Logon) -> bytes:
    """Returns event id 1. The parent's members are "-" for an unknown parent."""
    parent = process.parent
    if parent is None:
        origin = (b"{00000000-0000-0000-0000-000000000000}", 0, b"-", b"-", b"-")
    else:
        texts = (json_text(parent.path), json_text(parent.command_line), json_text(parent.user))
        origin = (parent.key, parent.pid, *texts)
    return b"".join(
        (
            process.subject,
            b",",
            _version_members(process.path, ring),
            b',"CommandLine":"%b","CurrentDirectory":"%b","User":"%b","LogonGuid":"%b",'
            % (
                json_text(process.command_line),
                json_text(folder),
                json_text(process.user),
                logon.guid,
            ),
            b'"LogonId":"0x%x","TerminalSessionId":"%d","IntegrityLevel":"%b","Hashes":"%b",'
            % (logon.id, logon.session, logon.integrity, _hashes(process.path, ring)),
            b'"ParentProcessGuid":"%b","ParentProcessId":"%d","ParentImage":"%b",'
            b'"ParentCommandLine":"%b","ParentUser":"%b"' % origin,
        )
    )


def process_end(process: Process) -> bytes:
    """Returns event id 5."""
    return process.subject + process.tail


def connection(
    process: Process,
    source: tuple[bytes, int, bytes],
    target: tuple[bytes, int, bytes],
    *,
    initiated: bool,
    udp: bool,
) -> bytes:
    """Returns event id 3. Source and target are (address, port, host name or "-")."""
    return b"".join(
        (
            process.subject,
            process.tail,
            b',"Protocol":"udp"' if udp else b',"Protocol":"tcp"',
            b',"Initiated":"true"' if initiated else b',"Initiated":"false"',
            b',"SourceIsIpv6":"false","SourceIp":"',
            source[0],
            b'","SourceHostname":"',
            source[2],
            b'","SourcePort":"%d","SourcePortName":"-",' % source[1],
            b'"DestinationIsIpv6":"false","DestinationIp":"',
            target[0],
            b'","DestinationHostname":"',
            target[2],
            b'","DestinationPort":"%d","DestinationPortName":"' % target[1],
            _PORT_NAMES.get(target[1], b"-"),
            b'"',
        )
    )


_PORT_NAMES = {80: b"http", 443: b"https", 53: b"domain", 88: b"kerberos", 389: b"ldap"}


@lru_cache(maxsize=4096)
def _loaded_members(path: str, ring: int) -> bytes:
    image = image_of(path)
    return b',"ImageLoaded":"%b",%b,"Hashes":"%b",%b' % (
        json_text(path),
        _version_members(path, ring),
        _hashes(path, ring),
        signature(image),
    )


def signature(image: Image) -> bytes:
    """Returns the signature members of event ids 6 and 7."""
    if not image.signer:
        return b'"Signed":"false","Signature":"-","SignatureStatus":"Unavailable"'
    return b'"Signed":"true","Signature":"%b","SignatureStatus":"Valid"' % json_text(image.signer)


def image_load(process: Process, path: str, ring: int) -> bytes:
    """Returns event id 7."""
    return process.subject + _loaded_members(path, ring)


def driver_load(path: str, ring: int) -> bytes:
    """Returns event id 6, which belongs to no process."""
    members = (json_text(path), _hashes(path, ring), signature(image_of(path)))
    return b'"ImageLoaded":"%b","Hashes":"%b",%b' % members


def remote_thread(source: Process, target: Process, thread_id: int) -> bytes:
    """Returns event id 8."""
    return _pair(source, target, b"Guid") + (
        b'"NewThreadId":"%d","StartAddress":"0x00007FFB9D2A%04X","StartModule":"%b",'
        b'"StartFunction":"LoadLibraryW","SourceUser":"%b","TargetUser":"%b"'
        % (
            thread_id,
            thread_id & 0xFFFF,
            json_text(r"C:\Windows\System32\KERNEL32.DLL"),
            json_text(source.user),
            json_text(target.user),
        )
    )


def process_access(source: Process, target: Process, thread_id: int, mask: int) -> bytes:
    """Returns event id 10, the only one that writes GUID in upper case."""
    return _pair(source, target, b"GUID") + (
        b'"SourceThreadId":"%d","GrantedAccess":"0x%x","CallTrace":"%b","SourceUser":"%b",'
        b'"TargetUser":"%b"'
        % (
            thread_id,
            mask,
            _CALL_TRACES[mask % len(_CALL_TRACES)],
            json_text(source.user),
            json_text(target.user),
        )
    )


def _pair(source: Process, target: Process, suffix: bytes) -> bytes:
    return (
        b'"SourceProcess%b":"%b","SourceProcessId":"%d","SourceImage":"%b",'
        b'"TargetProcess%b":"%b","TargetProcessId":"%d","TargetImage":"%b",'
        % (
            suffix,
            source.key,
            source.pid,
            json_text(source.path),
            suffix,
            target.key,
            target.pid,
            json_text(target.path),
        )
    )


_CALL_TRACES = tuple(
    json_text("|".join(rf"C:\Windows\SYSTEM32\{module}+{offset:x}" for module, offset in frames))
    for frames in (
        (("ntdll.dll", 0x9D4C4), ("KERNELBASE.dll", 0x2C13E), ("psapi.dll", 0x1A2B)),
        (("ntdll.dll", 0x9D4C4), ("KERNELBASE.dll", 0x2C13E), ("wmiutils.dll", 0x11F0)),
        (("ntdll.dll", 0x9D4C4), ("KERNELBASE.dll", 0x305FE), ("mpsvc.dll", 0x6A0E1)),
    )
)


def file_create(process: Process, path: bytes, at_us: int) -> bytes:
    """Returns event id 11."""
    return b"".join(
        (
            process.subject,
            b',"TargetFilename":"',
            path,
            b'","CreationUtcTime":"',
            utc_text(at_us),
            b'"',
            process.tail,
        )
    )


def file_time(process: Process, path: bytes, at_us: int, claimed_us: int) -> bytes:
    """Returns event id 2, which sets the creation time to `claimed_us`."""
    return b'%b,"TargetFilename":"%b","CreationUtcTime":"%b","PreviousCreationUtcTime":"%b"' % (
        process.subject,
        path,
        utc_text(claimed_us),
        utc_text(at_us),
    )


def file_delete(process: Process, path: bytes, digest: str) -> bytes:
    """Returns event ids 23 and 26. `digest` is 96 hex digits: the MD5, then the SHA-256."""
    return b"".join(
        (
            process.subject,
            process.tail,
            b',"TargetFilename":"',
            path,
            b'","Hashes":"MD5=%b,SHA256=%b"' % (digest[:32].encode(), digest[32:].encode()),
            b',"IsExecutable":"false","Archived":"true"',
        )
    )


def stream_create(process: Process, path: bytes, at_us: int, digest: str, contents: bytes) -> bytes:
    """Returns event id 15, with the mark of the web as `contents`; `digest` is an MD5."""
    members = (process.subject, path, utc_text(at_us), digest.encode(), contents, process.tail)
    return b'%b,"TargetFilename":"%b","CreationUtcTime":"%b","Hash":"MD5=%b","Contents":"%b"%b' % (
        members
    )


def registry_key(process: Process, key: bytes, verb: bytes) -> bytes:
    """Returns event id 12; `verb` is CreateKey, DeleteKey or DeleteValue."""
    members = (verb, process.subject, key, process.tail)
    return b'"EventType":"%b",%b,"TargetObject":"%b"%b' % members


def registry_value(process: Process, key: bytes, details: bytes) -> bytes:
    """Returns event id 13."""
    return b"".join(
        (
            b'"EventType":"SetValue",',
            process.subject,
            b',"TargetObject":"',
            key,
            b'","Details":"',
            details,
            b'"',
            process.tail,
        )
    )


def pipe(process: Process, name: bytes, verb: bytes) -> bytes:
    """Returns event ids 17 (CreatePipe) and 18 (ConnectPipe)."""
    members = (verb, process.subject, name, process.tail)
    return b'"EventType":"%b",%b,"PipeName":"%b"%b' % members


def dns_query(process: Process, name: bytes, answers: bytes) -> bytes:
    """Returns event id 22; `answers` has Sysmon's form `::ffff:192.0.2.1;`."""
    return b"".join(
        (
            process.subject,
            b',"QueryName":"',
            name,
            b'","QueryStatus":"0","QueryResults":"',
            answers,
            b'"',
            process.tail,
        )
    )
