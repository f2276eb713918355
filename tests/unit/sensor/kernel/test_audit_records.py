"""Audit records to what was seen (docs/telemetry-linux-audit.md)."""

import pytest

from tests.unit.sensor.records import (
    CWD,
    EXECVE,
    MODULE,
    PATH,
    SECOND,
    SOCKADDR,
    SYSCALL,
    call,
    datagram,
    event,
    path,
)
from vedette.sensor.kernel.audit_records import AuditParser
from vedette.sensor.kernel.audit_text import address, arguments, joined, value
from vedette.sensor.kernel.observations import (
    Accessed,
    Connected,
    Ended,
    Executed,
    FileChanged,
    Loaded,
    Observation,
)
from vedette.sensor.limits import AUDIT_PENDING_MAX

HOME = (CWD, 'cwd="/home/ann"')


def parse(*datagrams: bytes) -> list[Observation]:
    parser = AuditParser()
    return [seen for data in datagrams for seen in parser.feed(data)]


def test_a_program_start_has_its_words_folder_and_user() -> None:
    words = (EXECVE, 'argc=3 a0="ls" a1="-l" a2=2F746D702F6120622F')
    seen = parse(*event((SYSCALL, call(59, exe="/usr/bin/ls")), words, HOME))
    assert seen == [
        Executed(
            SECOND * 1_000_000 + 125_000,
            200,
            100,
            "/usr/bin/ls",
            "ls -l /tmp/a b/",
            "/home/ann",
            1000,
            1000,
            7,
        )
    ]


def test_a_process_without_login_has_no_loginuid() -> None:
    (seen,) = parse(*event((SYSCALL, call(59, auid=4294967295)), HOME))
    assert isinstance(seen, Executed)
    assert seen.loginuid == -1


def test_records_of_two_events_may_be_mixed() -> None:
    one = event((SYSCALL, call(59, exe="/bin/one")), (EXECVE, 'argc=1 a0="one"'), serial=1)
    two = event((SYSCALL, call(59, exe="/bin/two")), (EXECVE, 'argc=1 a0="two"'), serial=2)
    mixed = [data for pair in zip(one, two, strict=True) for data in pair]
    assert [seen.cmdline for seen in parse(*mixed) if isinstance(seen, Executed)] == ["one", "two"]


def test_an_event_is_complete_at_its_end_record_only() -> None:
    assert parse(*event((SYSCALL, call(59)))[:-1]) == []


def test_a_call_that_failed_is_no_event() -> None:
    assert parse(*event((SYSCALL, call(59, success="no", exit=-2)), HOME)) == []


def test_events_without_an_end_are_bounded_and_counted() -> None:
    parser = AuditParser()
    for serial in range(AUDIT_PENDING_MAX + 5):
        parser.feed(datagram(SYSCALL, call(59), serial))
    assert parser.dropped == 5


@pytest.mark.parametrize(
    ("number", "members", "records", "wanted"),
    [
        (
            257,
            {"a0": "ffffff9c", "a2": "241"},
            [path("/tmp/", "PARENT"), path("/tmp/x", "CREATE", 1)],
            ("create", "/tmp/x", ""),
        ),
        (257, {"a0": "ffffff9c", "a2": "1"}, [path("x", "NORMAL")], ("write", "/home/ann/x", "")),
        (2, {"a1": "2"}, [path("../x", "NORMAL")], ("write", "/home/x", "")),
        (257, {"a0": "ffffff9c", "a2": "0"}, [path("/tmp/x", "NORMAL")], None),
        (257, {"a0": "ffffff9c", "a2": "1"}, [path("/tmp/fifo", "NORMAL", 0, "010644")], None),
        (257, {"a0": "ffffff9c", "a2": "1"}, [path("/proc/self/oom_score_adj", "NORMAL")], None),
        (87, {}, [path("/tmp/", "PARENT"), path("/tmp/x", "DELETE", 1)], ("delete", "/tmp/x", "")),
        (84, {}, [path("/tmp/d", "DELETE", 0, "040755")], None),
        (
            316,
            {"a0": "ffffff9c", "a2": "ffffff9c"},
            [path("/tmp/x", "DELETE", 2), path("/tmp/y", "CREATE", 3)],
            ("rename", "/tmp/x", "/tmp/y"),
        ),
        (88, {}, [path("/tmp/l", "CREATE", 1, "0120777")], ("create", "/tmp/l", "")),
        (76, {}, [path("/tmp/x", "NORMAL")], ("write", "/tmp/x", "")),
    ],
)
def test_what_a_call_does_to_a_file(
    number: int, members: dict[str, str], records: list[str], wanted: tuple[str, str, str] | None
) -> None:
    seen = parse(
        *event((SYSCALL, call(number, **members)), HOME, *((PATH, one) for one in records))
    )
    found_events = [(one.action, one.path, one.to) for one in seen if isinstance(one, FileChanged)]
    assert found_events == ([wanted] if wanted else [])


@pytest.mark.parametrize(
    ("number", "exit_code", "saddr", "wanted"),
    [
        (42, 0, "02000050CB007107" + "00" * 8, (True, "203.0.113.7", 80, 0)),
        (42, -115, "02000050CB007107" + "00" * 8, (True, "203.0.113.7", 80, -115)),
        (
            42,
            0,
            "0A0001BB00000000" + "20010DB8" + "00" * 11 + "01" + "00000000",
            (True, "2001:db8::1", 443, 0),
        ),
        (
            42,
            0,
            "0A0001BB00000000" + "00" * 10 + "FFFF" + "CB007107" + "00000000",
            (True, "203.0.113.7", 443, 0),
        ),
        (288, 5, "0200C000CB007107" + "00" * 8, (False, "203.0.113.7", 49152, 0)),
        (42, 0, "02000000CB007107" + "00" * 8, None),
        (42, 0, "01002F72756E2F78", None),
    ],
)
def test_connections_of_the_internet_families(
    number: int, exit_code: int, saddr: str, wanted: tuple[bool, str, int, int] | None
) -> None:
    success = "yes" if exit_code >= 0 else "no"
    called = (SYSCALL, call(number, exit=exit_code, success=success))
    seen = parse(*event(called, (SOCKADDR, f"saddr={saddr}")))
    found_events = [
        (one.is_outbound, one.remote_ip, one.remote_port, one.exit_code)
        for one in seen
        if isinstance(one, Connected)
    ]
    assert found_events == ([wanted] if wanted else [])


def test_a_debugger_is_seen_when_it_attaches() -> None:
    (attached,) = parse(*event((SYSCALL, call(101, a0="10", a1="4d2"))))
    assert attached == Accessed(attached.time_us, 200, "ptrace", 1234, "/usr/bin/x", 1000)
    assert parse(*event((SYSCALL, call(101, a0="18", a1="4d2")))) == []


def test_a_kernel_module_is_named() -> None:
    (loaded,) = parse(*event((SYSCALL, call(313)), (MODULE, 'name="nbd"')))
    assert isinstance(loaded, Loaded)
    assert loaded.path == "nbd"


def test_an_end_says_how() -> None:
    (ended,) = parse(*event((SYSCALL, call(231, a0="103", success="yes"))))
    assert ended == Ended(ended.time_us, 200, 3)


@pytest.mark.parametrize("text", ["", "no audit here", "arch=zz syscall=x", "arch=c000003e"])
def test_damaged_records_are_no_events(text: str) -> None:
    assert parse(datagram(SYSCALL, text), datagram(1320, "")) == []
    assert parse(b"", b"\x00" * 16) == []


# --- texts ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b'"plain"', "plain"),
        (b"612062", "a b"),
        (b"C3A9", "é"),
        (b"FF", "\ufffd"),
        (b"(null)", ""),
        (b"", ""),
        (b"zz", "zz"),
    ],
)
def test_values_are_quoted_hexadecimal_or_missing(raw: bytes, text: str) -> None:
    assert value(raw) == text


def test_long_arguments_come_in_pieces() -> None:
    pieces = [
        b' argc=3 a0="sh" a1_len=8 a1[0]=6161C3',
        b" a1[1]=A96262",
        b' a2="end"',
    ]
    assert arguments(pieces) == "sh aa\u00e9bb end"


def test_an_empty_argument_stays() -> None:
    assert arguments([b' argc=3 a0="x" a1="" a2="y"']) == "x  y"


@pytest.mark.parametrize("raw", [b"", b"0", b"zz", b"0200", b"0A000050"])
def test_a_damaged_address_is_none(raw: bytes) -> None:
    assert address(raw) is None


@pytest.mark.parametrize(
    ("folder", "name", "wanted"),
    [
        ("/a", "b", "/a/b"),
        ("/a/", "./b", "/a/b"),
        ("/", "b", "/b"),
        ("/a/b", "../c", "/a/c"),
        ("/a", "/b//c", "/b/c"),
        ("/a", "../../..", "/"),
    ],
)
def test_names_are_joined_to_their_folder(folder: str, name: str, wanted: str) -> None:
    assert joined(folder, name) == wanted
