"""Small parts of the sensor: settings, files, rules, bans, hashes."""

import hashlib
import os
import struct
from pathlib import Path

import pytest

from vedette.sensor import settings
from vedette.sensor.events.file_type import file_type
from vedette.sensor.events.hashes import FileHashes, TokenBucket
from vedette.sensor.host.host import host_type
from vedette.sensor.kernel import audit_rules
from vedette.sensor.kernel.boot import Boot
from vedette.sensor.kernel.observations import Ended
from vedette.sensor.kernel.proc_connector import ProcConnector
from vedette.sensor.kernel.syscalls import MACHINES
from vedette.sensor.response import isolation
from vedette.sensor.response.bans import Bans, BlockCounts
from vedette.sensor.response.firewall import EVERY_PORT, Allowed, ruleset
from vedette.sensor.response.isolation import endpoint
from vedette.sensor.settings import SettingsError, read_settings
from vedette.sensor.transport.disk_queue import DiskQueue
from vedette.sensor.transport.https_client import BackOff

# --- settings ---------------------------------------------------------------------------

_LEAST = "[sensor]\nserver_url = https://edr.example:8443/x\ngroup_secret = s%%3\n"


def test_settings_are_read_with_paths_seen_from_their_file(tmp_path: Path) -> None:
    path = tmp_path / "s.ini"
    path.write_text(_LEAST + "ca_pem_file = ca.pem\nmounts = /, /home\n")
    found = read_settings(path)
    assert found.server == ("edr.example", 8443)
    assert (found.prefix, found.group_secret) == ("/x", "s%%3")
    assert found.ca_pem_file == str(tmp_path / "ca.pem")
    assert found.mounts == ("/", "/home")
    assert found.data_dir == Path("/var/lib/vedette-sensor")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "[other]\n",
        "[sensor]\nserver_url = https://x\n",
        "[sensor]\nserver_url = http://x\ngroup_secret = s\n",
        _LEAST + "disk_bytes = 5\n",
        _LEAST + "disk_bytes = many\n",
        _LEAST + "audit = sometimes\n",
        _LEAST + "isolation_dns = perhaps\n",
    ],
)
def test_settings_that_make_no_sense_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "s.ini"
    path.write_text(text)
    with pytest.raises(SettingsError):
        read_settings(path)


def test_a_missing_settings_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        settings.read_settings(tmp_path / "none.ini")


# --- audit rules ------------------------------------------------------------------------


def test_the_sensors_rules_are_distinguished_from_an_operators() -> None:
    scope = audit_rules.Scope(77)
    ours = audit_rules.rules(MACHINES["x86_64"], scope, with_ends=True)
    keyed = [rule for rule in ours if audit_rules.is_ours(rule)]
    assert len(keyed) == len(ours) - 1  # a record type cannot be left out with a key
    operators = keyed[1].replace(audit_rules.KEY, b"operators-key!"[: len(audit_rules.KEY)])
    assert not audit_rules.is_ours(operators)


@pytest.mark.parametrize("machine", MACHINES)
def test_every_machine_watches_program_starts_of_all_but_us(machine: str) -> None:
    made = audit_rules.rules(MACHINES[machine], audit_rules.Scope(77), with_ends=False)
    for convention in MACHINES[machine]:
        number = convention.numbers["execve"]
        watching = [
            rule
            for rule in made
            if struct.unpack_from("=I", rule, 4)[0] == 2
            and struct.unpack_from("=64I", rule, 12)[number // 32] >> number % 32 & 1
            and convention.arch in struct.unpack_from("=64I", rule, 12 + 2 * 256)
        ]
        assert len(watching) == 1
        assert 77 in struct.unpack_from("=64I", watching[0], 12 + 2 * 256)


# --- isolation --------------------------------------------------------------------------


def test_the_ruleset_lets_only_named_endpoints_through() -> None:
    allowed = Allowed(frozenset({("10.0.0.1", 8443), ("fd00::1", 443)}), frozenset({"9.9.9.9"}))
    text = ruleset(allowed)
    accepted = [line.strip() for line in text.splitlines() if line.strip().endswith("accept")]
    assert "ip daddr 10.0.0.1 tcp dport 8443 accept" in accepted
    assert "ip6 daddr fd00::1 tcp dport 443 accept" in accepted
    assert sum("dport 53" in line for line in accepted) == 1
    assert text.count("  drop") == 3
    assert allowed.has("10.0.0.1", 8443)
    assert allowed.has("9.9.9.9", 53)
    assert allowed.has("127.0.0.1", 1)
    assert not allowed.has("10.0.0.1", 443)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "10.0.0.1:",
        "10.0.0.1 accept",
        "fe80::1%0 accept",
        "[::1]",
        "0.0.0.0/0",
        "10.0.0.1:0",
        "10.0.0.1:99999",
        "a:1; drop",
        "fe80::1%x accept:80",
        "[fe80::1%0 ; drop]:80",
        "10.0.0.1:0000080",
        "10.0.0.0/8:80",
    ],
)
def test_text_that_is_no_endpoint_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        endpoint(text)


def test_endpoints_have_either_family() -> None:
    assert endpoint("10.0.0.1:80") == ("10.0.0.1", 80)
    assert endpoint("10.0.0.1") == ("10.0.0.1", EVERY_PORT)
    assert endpoint("fd00::1") == ("fd00::1", EVERY_PORT)
    assert endpoint("[::ffff:10.0.0.1]:80") == ("10.0.0.1", 80)
    assert endpoint("[fd00::1]:80") == ("fd00::1", 80)


def test_name_servers_are_read(tmp_path: Path) -> None:
    path = tmp_path / "resolv.conf"
    path.write_text(
        "search x\nnameserver 10.0.0.53\nnameserver fe80::1%eth0\n# nameserver 1.1.1.1\n"
    )
    assert isolation.resolvers(path) == {"10.0.0.53", "fe80::1"}


# --- bans -------------------------------------------------------------------------------


def test_bans_change_by_full_lists_and_by_differences(tmp_path: Path) -> None:
    bans = Bans(tmp_path / "bans.json")
    bans.apply(1, full=True, add=[{"md5": "AA"}, {"md5": "bb", "sha256": "CC"}], remove=[])
    bans.apply(2, full=False, add=[{"md5": "dd"}], remove=["aa"])
    again = Bans(tmp_path / "bans.json")
    assert (again.version, len(again)) == (2, 2)
    assert again.matches("bb", "cc")
    assert again.matches("bb", "other")
    assert again.matches("other", "cc")
    assert not again.matches("other", "other")
    assert not again.matches("other", "")
    assert again.matches("dd", "any")
    again.apply(3, full=True, add=[], remove=[])
    assert len(again) == 0


def test_blocks_that_were_not_acknowledged_are_sent_again_unchanged() -> None:
    counts = BlockCounts()
    body = {"md5": "a", "sha256": "b", "path": "/x", "pid": 1, "time_us": 5}
    counts.count(body)
    counts.count({**body, "time_us": 6})
    first, number = counts.take(), counts.number
    assert first == [{**body, "time_us": 6, "count": 2}]
    counts.count({**body, "time_us": 7})
    assert (counts.take(), counts.number) == (first, number)
    counts.acknowledge()
    assert counts.take() == [{**body, "time_us": 7, "count": 1}]
    assert counts.number > number
    counts.acknowledge()
    assert (counts.take(), counts.number) == ([], 0)


# --- files ------------------------------------------------------------------------------


def test_a_file_is_hashed_once_until_it_changes(tmp_path: Path) -> None:
    found_events: list[str] = []
    hashes = FileHashes(lambda _, hashed: found_events.append(hashed.md5))
    path = tmp_path / "x"
    path.write_bytes(b"\x7fELF...")
    for _ in range(3):
        found = hashes.of(str(path))
    assert found is not None
    assert found.md5 == hashlib.md5(b"\x7fELF...").hexdigest()
    assert (found.file_type, found.size, len(found_events)) == (2, 7, 1)
    path.write_bytes(b"other")
    os.utime(path, (1, 1))
    assert hashes.of(str(path)) != found


@pytest.mark.parametrize("name", ["missing", "folder", "empty", "\0"])
def test_what_is_no_file_has_no_hash(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty").touch()
    assert FileHashes().of(f"{tmp_path}/{name}") is None


def test_a_budget_runs_out() -> None:
    budget = TokenBucket(per_s=0, burst=10)
    assert [budget.take(6), budget.take(6), budget.take(4)] == [True, False, True]


@pytest.mark.parametrize(
    ("head", "number"),
    [
        (b"MZ\x90", 1),
        (b"\x7fELF", 2),
        (b"\xca\xfe\xba\xbe", 3),
        (b"%PDF-1.7", 48),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 16),
        (b"PK\x03\x04" + b"\0" * 26 + b"a", 64),
        (b"PK\x03\x04" + b"\0" * 26 + b"word/document.xml", 17),
        (b"ab-lh5-", 65),
        (b"\x1f\x9d\x90", 66),
        (b"Rar!\x1a\x07\x01", 67),
        (b"\0" * 257 + b"ustar", 68),
        (b"7z\xbc\xaf\x27\x1c", 69),
        (b"#!/bin/sh", 0),
        (b"", 0),
    ],
)
def test_files_are_known_by_their_first_bytes(head: bytes, number: int) -> None:
    assert file_type(head) == number


# --- times ------------------------------------------------------------------------------


def test_the_two_clocks_of_a_start_agree() -> None:
    boot = Boot("b", 1_000_000)
    assert boot.of_monotonic_us(12_345_678_901, 0) == boot.start_us(1_234)
    assert boot.of_monotonic_us(12_345_678_901, 10_000_000) == boot.start_us(1_235)


def test_pauses_grow_and_obey_the_server() -> None:
    back_off = BackOff(first_s=1, most_s=60)
    pauses = [back_off.pause_s() for _ in range(12)]
    assert pauses[0] <= 1
    assert max(pauses) <= 60
    assert back_off.pause_s(retry_after_s=59) >= 59
    back_off.succeeded()
    assert back_off.pause_s() <= 1


# --- the proc connector -----------------------------------------------------------------


@pytest.mark.parametrize(("status", "exit_code"), [(0, 0), (3 << 8, 3), (9, 137), (139, 139)])
def test_ends_say_how_as_a_shell_does(status: int, exit_code: int) -> None:
    data = b"\0" * 52 + struct.pack("=iiI", 5, 5, status)
    assert ProcConnector._ended(1, data) == [Ended(1, 5, exit_code)]


def test_the_end_of_a_thread_is_none(tmp_path: Path) -> None:
    assert ProcConnector._ended(1, b"\0" * 52 + struct.pack("=iiI", 6, 5, 0)) == []
    assert DiskQueue(tmp_path, 10**7).oldest() is None


# --- the kind of host -------------------------------------------------------------------

SCREEN = "etc/systemd/system/display-manager.service"


@pytest.mark.parametrize(
    ("chassis", "files", "kind"),
    [
        ("23", [SCREEN], "server"),
        ("10", ["run/systemd/system/x"], "workstation"),
        ("1", ["run/systemd/system/x"], "server"),
        (
            "1",
            ["run/systemd/system/x", "etc/systemd/system/display-manager.service"],
            "workstation",
        ),
        ("", [], ""),
    ],
)
def test_a_host_is_what_its_case_says_and_else_whether_it_has_a_screen(
    tmp_path: Path, chassis: str, files: list[str], kind: str
) -> None:
    for name in (*files, "sys/class/dmi/id/chassis_type"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(chassis)
    assert host_type(tmp_path) == kind
