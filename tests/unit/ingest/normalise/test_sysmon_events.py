"""Every Sysmon event that is modelled, as a line: event data in, the event out."""

from typing import Any

import pytest

from tests.unit.ingest.normalise.events import (
    AT_US,
    GUID,
    HASHES,
    ID,
    IMAGE,
    MD5,
    PARENT_GUID,
    PARENT_ID,
    SHA1,
    SHA256,
    only,
    outcomes,
    sysmon,
)
from vedette.ingest.channels import SYSMON_LINUX
from vedette.ingest.record import Record
from vedette.model.address import pack_address
from vedette.model.event import (
    BinarySeen,
    Crossproc,
    Dnsquery,
    Facts,
    Filemod,
    Kept,
    Modload,
    Netconn,
    Pipe,
    Processblock,
    Regmod,
)

_FILE = "C:\\Temp\\a.txt"
_KEY = "HKLM\\Software\\Run"
_KERNEL_KEY = "\\registry\\machine\\Software\\Run"
_PAIR = {
    "TargetProcessGUID": PARENT_GUID,
    "TargetProcessId": "30",
    "TargetImage": "C:\\lsass.exe",
}
_SOURCE = {"SourceProcessGUID": GUID, "SourceProcessId": "40", "SourceImage": IMAGE}


def _filemod(operation: int, **more: Any) -> Filemod:
    return Filemod(ID, AT_US, operation, _FILE, **more)


@pytest.mark.parametrize(
    ("event_id", "data", "expected"),
    [
        (
            2,
            {
                "TargetFilename": _FILE,
                "CreationUtcTime": "2020-01-01 00:00:00.000",
                "PreviousCreationUtcTime": "2023-01-01 00:00:00.000",
            },
            _filemod(
                2,
                note="creation time changed from 2023-01-01 00:00:00.000"
                " to 2020-01-01 00:00:00.000",
            ),
        ),
        (6, {"ImageLoaded": "C:\\d.sys", "Hashes": "-", "Signed": "false"}, None),
        (
            7,
            {
                "ImageLoaded": "C:\\a.dll",
                "Hashes": HASHES,
                "Signed": "true",
                "Signature": "Example",
                "SignatureStatus": "Valid",
            },
            Modload(ID, AT_US, "C:\\a.dll", MD5, SHA256, SHA1, "Signed", "Example"),
        ),
        (11, {"TargetFilename": _FILE}, _filemod(1)),
        (12, {"TargetObject": _KEY, "EventType": "CreateKey"}, Regmod(ID, AT_US, 1, _KERNEL_KEY)),
        (12, {"TargetObject": _KEY, "EventType": "DeleteKey"}, Regmod(ID, AT_US, 4, _KERNEL_KEY)),
        (12, {"TargetObject": _KEY, "EventType": "DeleteValue"}, Regmod(ID, AT_US, 8, _KERNEL_KEY)),
        (12, {"TargetObject": _KEY}, Regmod(ID, AT_US, 1, _KERNEL_KEY)),
        (
            12,
            {"TargetObject": _KEY, "EventType": "INFO", "Message": "x\r\nEventType: DeleteKey\r\n"},
            Regmod(ID, AT_US, 4, _KERNEL_KEY),
        ),
        (
            13,
            {"TargetObject": _KEY, "Details": "DWORD (0x1)"},
            Regmod(ID, AT_US, 2, _KERNEL_KEY, "DWORD (0x1)"),
        ),
        (
            15,
            {"TargetFilename": _FILE, "Hash": HASHES, "Contents": "[ZoneTransfer]"},
            _filemod(8, md5=MD5, sha256=SHA256, sha1=SHA1, note="[ZoneTransfer]"),
        ),
        (15, {"TargetFilename": _FILE, "Hash": "Unknown"}, _filemod(8)),
        (17, {"PipeName": "\\p", "EventType": "CreatePipe"}, Pipe(ID, AT_US, 1, "\\p")),
        (18, {"PipeName": "\\p"}, Pipe(ID, AT_US, 2, "\\p")),
        (
            22,
            {"QueryName": "a.example", "QueryStatus": "0", "QueryResults": "10.1.2.3;"},
            Dnsquery(ID, AT_US, "a.example", 0, "10.1.2.3;"),
        ),
        (
            22,
            {"QueryName": "a.example", "QueryStatus": "9002", "QueryResults": "-"},
            Dnsquery(ID, AT_US, "a.example", 9002, ""),
        ),
        (
            23,
            {"TargetFilename": _FILE, "Hashes": HASHES, "IsExecutable": "true", "Archived": "true"},
            _filemod(4, md5=MD5, sha256=SHA256, sha1=SHA1, file_type=1, note="archived"),
        ),
        (
            26,
            {"TargetFilename": _FILE, "Hashes": f"SHA1={SHA1}", "IsExecutable": "false"},
            _filemod(4, sha1=SHA1),
        ),
        (
            28,
            {"TargetFilename": _FILE, "Hashes": "", "IsExecutable": "false"},
            _filemod(8, note="shredding blocked"),
        ),
        (
            29,
            {"TargetFilename": _FILE, "Hashes": HASHES},
            _filemod(8, md5=MD5, sha256=SHA256, sha1=SHA1, file_type=1),
        ),
        (
            10,
            _SOURCE | _PAIR | {"GrantedAccess": "0x1410"},
            Crossproc(ID, AT_US, 2, PARENT_ID, "C:\\lsass.exe", subtype=1, access=0x1410),
        ),
    ],
)
def test_an_event_becomes_its_kind(event_id: int, data: dict[str, Any], expected: Any) -> None:
    found = outcomes(sysmon(event_id, **data))[0]
    if expected is None:
        assert type(found) is Modload
    else:
        assert found == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("HKLM\\A", "\\registry\\machine\\A"),
        ("HKU\\S-1\\A", "\\registry\\user\\S-1\\A"),
        ("HKCR\\.a", "\\registry\\machine\\software\\classes\\.a"),
        ("HKLM", "\\registry\\machine"),
        ("\\REGISTRY\\MACHINE\\A", "\\registry\\machine\\A"),
        ("\\REGISTRY\\A\\{1}\\B", "\\REGISTRY\\A\\{1}\\B"),
        ("Other\\A", "Other\\A"),
        ("", ""),
    ],
)
def test_registry_paths_begin_at_the_kernels_root(path: str, expected: str) -> None:
    assert only(Regmod, sysmon(13, TargetObject=path)).path == expected


def test_a_renamed_key_is_one_deleted_and_one_created() -> None:
    record = sysmon(14, TargetObject="HKLM\\Old", NewName="HKLM\\New", EventType="RenameKey")
    old, new = "\\registry\\machine\\Old", "\\registry\\machine\\New"
    assert outcomes(record)[:2] == [Regmod(ID, AT_US, 4, old, new), Regmod(ID, AT_US, 1, new, old)]


def test_a_blocked_executable_is_a_write_and_a_block() -> None:
    record = sysmon(27, TargetFilename=_FILE, Hashes=HASHES, User="CORP\\ann")
    assert only(Filemod, record).file_type == 1
    assert only(Processblock, record) == Processblock(
        ID, AT_US, 0, path=_FILE, md5=MD5, sha256=SHA256, username="CORP\\ann"
    )


def test_tampering_is_a_fact_of_the_process() -> None:
    assert outcomes(sysmon(25, Type="Image is replaced"))[0] == Facts(ID, AT_US, {"tampered": 1})


def test_a_remote_thread_is_reported_on_both_sides() -> None:
    data = {"StartModule": "C:\\k.dll", "StartFunction": "LoadLibraryW"}
    guids = {"SourceProcessGuid": GUID, "TargetProcessGuid": PARENT_GUID}
    record = sysmon(8, **data, **guids, SourceImage=IMAGE, TargetImage="C:\\n.exe")
    shared: dict[str, Any] = {"start_module": "C:\\k.dll", "start_function": "LoadLibraryW"}
    assert outcomes(record)[:2] == [
        Crossproc(ID, AT_US, 1, PARENT_ID, "C:\\n.exe", **shared),
        Crossproc(PARENT_ID, AT_US, 1, ID, IMAGE, is_target=1, **shared),
    ]


def test_the_target_of_an_access_carries_the_hash_that_is_known_of_it() -> None:
    start = sysmon(1, ProcessGuid=PARENT_GUID, ProcessId="30", Hashes=HASHES)
    access = sysmon(10, **_SOURCE, **_PAIR, GrantedAccess="0x1000")
    assert (only(Crossproc, access, start).md5, only(Crossproc, access).md5) == (MD5, "")


def test_an_access_to_nobody_known_keeps_its_image() -> None:
    pair = _PAIR | {"TargetProcessGUID": "{00000000-0000-0000-0000-000000000000}"}
    event = only(Crossproc, sysmon(10, **_SOURCE, **pair | {"TargetProcessId": "0"}))
    assert (event.target_id, event.path) == ("", "C:\\lsass.exe")


def test_a_driver_is_loaded_by_the_system_process() -> None:
    system = "{7D1F0A2B-0000-6543-EB03-000000000000}"
    driver = Record(
        "windows",
        "a",
        AT_US,
        "Microsoft-Windows-Sysmon/Operational",
        6,
        0,
        "p",
        0,
        {"UtcTime": "2023-11-02 13:04:05.678", "ImageLoaded": "C:\\d.sys", "Hashes": HASHES},
    )
    seen = sysmon(11, ProcessGuid=system, ProcessId="4", Image="System")
    assert only(Modload, driver, seen).process_id == "00000007-0000-6543-eb03-000000000000"
    assert only(Modload, driver).process_id == only(Modload, driver).process_id


@pytest.mark.parametrize(
    ("signed", "status", "result"),
    [
        ("true", "Valid", "Signed"),
        ("true", "Expired", "Expired"),
        ("true", "Revoked", "Explicit Distrust"),
        ("true", "Unavailable", "Unsigned"),
        ("false", "Unavailable", "Unsigned"),
        ("true", "Other", "Bad Signature"),
        (None, None, ""),
    ],
)
def test_signatures_have_the_words_of_the_api(
    signed: str | None, status: str | None, result: str
) -> None:
    record = sysmon(7, ImageLoaded="C:\\a.dll", Signed=signed, SignatureStatus=status)
    assert only(Modload, record).digsig_result == result


def test_a_module_is_a_binary_seen_once_with_its_version() -> None:
    version = {"FileVersion": "1.2", "Description": "A", "Product": "P", "Company": "-"}
    record = sysmon(7, ImageLoaded="C:\\a.dll", Hashes=HASHES, **version)
    seen = only(BinarySeen, record, record)
    assert (seen.md5, seen.sha256, seen.sha1, seen.path) == (MD5, SHA256, SHA1, "C:\\a.dll")
    assert seen.values == {
        "file_version": "1.2",
        "file_desc": "A",
        "product_name": "P",
        "imphash": "d" * 32,
        "is_executable_image": "1",
    }


_OWN, _PEER = "10.0.0.5", "10.9.9.9"


def _connection(protocol: str, initiated: Any, source: str, destination: str) -> Record:
    return sysmon(
        3,
        Protocol=protocol,
        Initiated=initiated,
        SourceIp=source,
        SourcePort="50000",
        SourceHostname="s.example",
        DestinationIp=destination,
        DestinationPort=443,
        DestinationHostname="-",
    )


@pytest.mark.parametrize(
    ("protocol", "initiated", "source", "destination", "local"),
    [
        ("tcp", "true", _OWN, _PEER, _OWN),
        ("tcp", True, _OWN, _PEER, _OWN),
        ("tcp", "false", _PEER, "10.0.0.7", "10.0.0.7"),
        ("udp", "false", "10.0.0.7", _PEER, "10.0.0.7"),
        ("udp", "false", "239.255.255.250", "10.0.0.7", "10.0.0.7"),
        ("udp", "false", "ff02::fb", "fe80::1", "fe80::1"),
        ("udp", "false", "10.0.0.255", "10.0.0.7", "10.0.0.7"),
    ],
)
def test_the_local_side_of_a_connection(
    protocol: str, initiated: Any, source: str, destination: str, local: str
) -> None:
    event = only(Netconn, _connection(protocol, initiated, source, destination))
    assert event.local_ip == pack_address(local)
    assert event.outbound == int(initiated in {"true", True})
    assert event.protocol == {"tcp": 6, "udp": 17}[protocol]


def test_the_hosts_own_addresses_decide_before_the_rule() -> None:
    learned = _connection("tcp", "true", _OWN, _PEER)
    backwards = _connection("tcp", "false", _OWN, "10.7.7.7")
    event = next(o for o in outcomes(backwards, learned) if type(o) is Netconn)
    assert (event.local_ip, event.remote_port) == (pack_address(_OWN), 443)


def test_the_domain_of_a_connection_is_its_peer_or_the_answer_that_gave_its_address() -> None:
    query = sysmon(22, QueryName="a.example", QueryResults="type:  5 b.example;::ffff:10.9.9.9;")
    assert only(Netconn, _connection("tcp", "true", _OWN, _PEER), query).domain == "a.example"
    inbound = _connection("tcp", "false", _PEER, "10.0.0.7")
    assert only(Netconn, inbound, query).domain == "s.example"


@pytest.mark.parametrize("event_id", [4, 9, 16, 19, 20, 21, 24, 255, 999])
def test_other_ids_are_kept_as_records(event_id: int) -> None:
    kept = only(Kept, sysmon(event_id, State="Started"))
    assert (kept.event_id, kept.fields["State"]) == (event_id, "Started")


@pytest.mark.parametrize("event_id", [1, 3, 5, 7, 11, 12, 13, 22])
def test_an_event_that_names_no_process_is_kept_as_a_record(event_id: int) -> None:
    zero = "{00000000-0000-0000-0000-000000000000}"
    record = sysmon(event_id, ProcessGuid=zero, ProcessId="-", Image="<unknown process>")
    assert [type(outcome) for outcome in outcomes(record)] == [Kept]


def test_linux_events_are_the_same() -> None:
    record = sysmon(23, TargetFilename="/tmp/a", Hashes="-", Image="/bin/rm")
    record.channel = SYSMON_LINUX
    assert outcomes(record)[0] == Filemod(ID, AT_US, 4, "/tmp/a")


@pytest.mark.parametrize(
    ("mask", "is_mirrored"),
    [
        ("0x1000", False),  # PROCESS_QUERY_LIMITED_INFORMATION
        ("0x1400", False),
        ("0x101000", False),  # with SYNCHRONIZE
        ("0x1410", True),  # with PROCESS_VM_READ
        ("0x1fffff", True),
        ("0x1", True),  # PROCESS_TERMINATE
        ("0x40", True),  # PROCESS_DUP_HANDLE
        ("0x40000", True),  # WRITE_DAC
        ("", False),
    ],
)
def test_an_open_that_can_harm_is_an_event_of_the_opened_process_too(
    mask: str, is_mirrored: bool
) -> None:
    """So a search for who opened lsass finds it on lsass itself."""
    record = sysmon(10, **_SOURCE | _PAIR | {"SourceImage": IMAGE, "GrantedAccess": mask})
    access = int(mask, 16) if mask else 0
    mirrored = Crossproc(PARENT_ID, AT_US, 2, ID, IMAGE, subtype=1, access=access, is_target=1)
    found = [one for one in outcomes(record) if isinstance(one, Crossproc)]
    assert found[1:] == ([mirrored] if is_mirrored else [])


def test_a_process_that_opens_itself_has_one_event() -> None:
    pair = _PAIR | {"TargetProcessGUID": GUID, "TargetProcessId": "40"}
    only(Crossproc, sysmon(10, **_SOURCE, **pair, GrantedAccess="0x1fffff"))


@pytest.mark.parametrize(
    ("path", "file_type"),
    [
        ("C:\\a.EXE", 1),
        ("C:\\a.dll", 1),
        ("C:\\a.docm", 17),
        ("C:\\a.xls", 16),
        ("C:\\a.pdf", 48),
        ("C:\\a.zip", 64),
        ("/tmp/x.so", 2),
        ("C:\\a.7z", 69),
        ("C:\\a.exe:Zone.Identifier", 0),
        ("C:\\a.exe\\b", 0),
        ("C:\\exe", 0),
        ("." * 10_000, 0),
        ("", 0),
    ],
)
def test_a_file_whose_content_nobody_read_has_the_type_of_its_extension(
    path: str, file_type: int
) -> None:
    for event_id in (2, 11, 23):
        assert only(Filemod, sysmon(event_id, TargetFilename=path)).file_type == file_type


def test_what_sysmon_read_in_a_file_counts_more_than_its_name() -> None:
    for event_id in (23, 26):
        plain = sysmon(event_id, TargetFilename="C:\\a.exe", IsExecutable="false")
        assert only(Filemod, plain).file_type == 0
        hidden = sysmon(event_id, TargetFilename="C:\\a.pdf", IsExecutable="true")
        assert only(Filemod, hidden).file_type == 1
