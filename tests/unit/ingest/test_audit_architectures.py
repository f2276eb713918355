"""Audit records without the name of their system call, of every architecture."""

import shutil
import subprocess

import pytest

from tests.unit.ingest.unix_records import merged, normalised, of_path, only
from vedette.detect.views.unix import events_of_outcomes
from vedette.ingest.decode.audit_calls import architecture, call_name
from vedette.ingest.decode.auditd import assemble_all
from vedette.model.address import address_text
from vedette.model.event import Childproc, Filemod, Netconn

EXECVE = {
    "c000003e": 59,
    "40000003": 11,
    "c00000b7": 221,
    "40000028": 11,
    "28": 11,
    "c00000f3": 221,
    "400000f3": 221,
    "14": 11,
    "80000015": 11,
    "c0000015": 11,
    "16": 11,
    "80000016": 11,
    "c0000102": 221,
    "8": 4011,
    "40000008": 4011,
    "80000008": 5057,
    "c0000008": 5057,
    "a0000008": 6057,
    "e0000008": 6057,
    "2": 59,
    "8000002b": 59,
    "f": 11,
    "8000000f": 11,
    "c0009026": 59,
    "c0000032": 1033,
    "4": 11,
    "2a": 11,
    "4000002a": 11,
}
"""The number of execve by `arch`, as the kernel prints it (`%x`)."""


def event(
    arch: str,
    number: int | str,
    *parts: str,
    exe: str = "/usr/bin/tool",
    exit_code: int = 0,
    args: tuple[str, ...] = ("1", "2", "3", "4"),
) -> str:
    """The lines of one event in the kernel's own form: numbers, no names."""
    head = "msg=audit(1700000000.100:7):"
    words = " ".join(f"a{place}={value}" for place, value in enumerate(args))
    named = f"arch={arch} " if arch else ""
    call = (
        f"type=SYSCALL {head} {named}syscall={number} success=yes exit={exit_code} {words} items=1 "
        f'ppid=100 pid=200 auid=1000 uid=0 tty=pts0 ses=1 comm="tool" exe="{exe}" key="x"'
    )
    return "\n".join([call, *(part.replace(" ", f" {head} ", 1) for part in parts)])


ARGUMENTS = 'type=EXECVE argc=2 a0="tool" a1="-u"'


@pytest.mark.parametrize(("arch", "number"), EXECVE.items())
def test_a_start_is_one_on_every_architecture(arch: str, number: int) -> None:
    assert call_name(str(number), arch) == "execve"
    _, values = of_path(normalised(event(arch, number, ARGUMENTS)), "/usr/bin/tool")
    assert (values["creation_observed"], values["cmdline"]) == (1, "tool -u")


@pytest.mark.parametrize("arch", ["c000003e", "c00000f3", "deadbeef", "", "zz"])
@pytest.mark.parametrize("number", ["59", "9999", "99999999999999999999999"])
def test_an_execve_record_is_a_start_whatever_the_number(arch: str, number: str) -> None:
    _, values = of_path(normalised(event(arch, number, ARGUMENTS)), "/usr/bin/tool")
    assert (values["creation_observed"], values["cmdline"]) == (1, "tool -u")


@pytest.mark.parametrize(
    ("arch", "number"),
    [
        ("c00000f3", 59),  # pipe2 there, execve on x86_64
        ("40000028", 57),  # setpgid there, fork on x86_64
        ("80000016", 57),
        ("c0000015", 56),  # clone on x86_64
        ("deadbeef", 59),  # unknown architectures
        ("", 59),
        ("", 56),
        ("c000003e", 11),  # munmap there, execve on i386
    ],
)
def test_a_number_of_another_architecture_is_no_process_event(arch: str, number: int) -> None:
    out = normalised(event(arch, number, exit_code=1))
    assert not only(Childproc, out)
    assert not any(values.get("creation_observed") for values in merged(out).values())


def test_an_x32_call_has_its_bit_and_the_architecture_of_x86_64() -> None:
    assert call_name(str((1 << 30) + 520), "c000003e") == "execve"
    assert call_name(str((1 << 30) + 42), "c000003e") == "connect"
    assert call_name(str((1 << 30) + 221), "c00000b7") == ""


@pytest.mark.parametrize(
    ("arch", "saddr"),
    [
        ("c000003e", "02000050C0A80102" + "00" * 8),
        ("80000016", "00020050C0A80102" + "00" * 8),
        ("14", "00020050C0A80102" + "00" * 8),
    ],
)
def test_a_socket_address_is_read_in_the_byte_order_of_its_host(arch: str, saddr: str) -> None:
    number = {"c000003e": 42, "80000016": 362, "14": 328}[arch]
    (made,) = only(Netconn, normalised(event(arch, number, f"type=SOCKADDR saddr={saddr}")))
    assert (address_text(made.remote_ip), made.remote_port) == ("192.168.1.2", 80)


def test_a_socketcall_is_the_call_that_its_argument_selects() -> None:
    parts = "type=SOCKADDR saddr=02000050C0A80102" + "00" * 8
    (made,) = only(Netconn, normalised(event("40000003", 102, parts, args=("3", "0", "0", "0"))))
    assert (made.outbound, made.remote_port) == (1, 80)
    assert not only(Netconn, normalised(event("40000003", 102, parts, args=("d", "0", "0", "0"))))


def test_clone_has_its_flags_where_the_architecture_puts_them() -> None:
    thread, process = "10f00", "1200011"
    for arch, number, first in (("c000003e", 56, 0), ("80000016", 120, 1)):
        for flags, children in ((thread, 0), (process, 1)):
            args = ("3ff80000", "3ff80000", "0", "0")
            args = (*args[:first], flags, *args[first + 1 :])
            out = normalised(event(arch, number, exit_code=300, args=args))
            assert len(only(Childproc, out)) == children


@pytest.mark.parametrize(
    ("arch", "number", "append"), [("c000003e", 2, 0x400), ("8", 4005, 0x8), ("8000002b", 5, 0x8)]
)
def test_a_file_is_written_by_the_flags_of_the_architecture(
    arch: str, number: int, append: int
) -> None:
    parts = ('type=CWD cwd="/"', 'type=PATH item=0 name="/etc/motd" nametype=NORMAL')
    for flags, writes in ((append, 1), (0, 0)):
        out = normalised(event(arch, number, *parts, args=("1", f"{flags:x}", "0", "0")))
        assert len(only(Filemod, out)) == writes


def test_rules_ask_for_the_same_name() -> None:
    for text, name in (
        (event("c00000f3", 59), ""),
        (event("c00000f3", 221), "execve"),
        (event("c00000f3", 9999, ARGUMENTS), "execve"),
        (event("c00000f3", 198), "socket"),
        (event("c000003e", 41), "socket"),
        (event("", 41), ""),
    ):
        (record,) = assemble_all(text.split("\n"), "h")
        events = events_of_outcomes(record, (), "linux")
        named = [one.data["SYSCALL"] for one in events if one.data["type"] == "SYSCALL"]
        assert named == [name]


@pytest.mark.parametrize(
    ("machine", "arch"),
    [
        ("x86_64", "c000003e"),
        ("i386", "40000003"),
        ("aarch64", "c00000b7"),
        ("arm", "40000028"),
        ("ppc64", "80000015"),
        ("ppc64le", "c0000015"),
        ("ppc", "14"),
        ("s390x", "80000016"),
        ("s390", "16"),
    ],
)
def test_numbers_agree_with_those_of_the_audit_package(machine: str, arch: str) -> None:
    if shutil.which("ausyscall") is None:
        pytest.skip("ausyscall is not installed")
    assert architecture(arch) == architecture(machine) == machine
    done = subprocess.run(
        ["ausyscall", machine, "--dump"], check=True, capture_output=True, text=True
    )
    listed = dict(line.split()[:2] for line in done.stdout.splitlines() if line[:1].isdigit())
    assert len(listed) > 200
    ours = {number: call_name(number, arch) for number in listed}
    both = {number: name for number, name in ours.items() if name}
    assert len(both) > 35
    # The 32-bit call of the same meaning has the suffix 32.
    assert both == {number: listed[number].removesuffix("32") for number in both}
