"""Isolation with the real nftables of a network namespace: what an attacker with root, a bad list
and a moved name server try against it. As root."""

import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.linux_network import Cable, cable, entered
from tests.support.linux_sensor import program
from vedette.sensor.limits import ISOLATION_ENDPOINTS_MAX, ISOLATION_PROBLEMS_MAX
from vedette.sensor.response import firewall
from vedette.sensor.response.firewall import TABLE, IsolationError
from vedette.sensor.response.isolation import Isolation

pytestmark = pytest.mark.xdist_group("audit")
SERVER = ("server.invalid", 8443)
PEER = ("198.18.7.1", 8443)
OTHER = ("198.18.7.9", 8443)
LISTENING = [PEER, OTHER, ("198.18.7.9", 9001), ("198.18.7.9", 9002)]
"""On the other end of the cable."""


@pytest.fixture
def host() -> Iterator[Cable]:
    program("nft")
    with cable() as made, ExitStack() as open_sockets:
        for where in LISTENING:
            open_sockets.enter_context(socket.create_server(where))
        with entered(made):
            yield made


@pytest.fixture
def isolation(host: Cable, tmp_path: Path) -> Iterator[Isolation]:
    made = _isolation(tmp_path)
    yield made
    made.end()


def _isolation(folder: Path) -> Isolation:
    names = folder / "resolv.conf"
    if not names.exists():
        names.write_text("nameserver 198.18.7.1\n")
    return Isolation(folder / "isolation.json", dns=True, dhcp=True, resolv_conf=names)


def _nft(*words: str) -> str:
    done = subprocess.run([program("nft"), *words], capture_output=True, text=True, check=True)
    return done.stdout


def _is_cut(where: tuple[str, int]) -> bool:
    """Whether a connection to one of `LISTENING` fails."""
    try:
        socket.create_connection(where, 5).close()
    except OSError:
        return True
    return False


def test_a_bad_entry_is_left_out_and_reported_and_the_host_is_isolated(
    isolation: Isolation,
) -> None:
    entries = ["198.18.7.9:", "198.18.7.9:9001", "not an address", "[::1%lo accept]:1", ""]
    isolation.begin(SERVER, entries, PEER)
    assert isolation.is_on
    assert len(isolation.problems) == 4
    assert any("198.18.7.9" in one for one in isolation.problems)
    assert not _is_cut(PEER)
    assert not _is_cut(("198.18.7.9", 9001))
    assert _is_cut(("198.18.7.9", 9002))


def test_an_entry_without_a_port_is_the_whole_address(isolation: Isolation) -> None:
    isolation.begin(SERVER, ["198.18.7.9", "2001:db8::9"], PEER)
    assert isolation.problems == []
    for port in (9001, 9002):
        assert not _is_cut(("198.18.7.9", port))
        assert not isolation.blocks("198.18.7.9", port)
        assert not isolation.blocks("2001:db8::9", port)
    assert isolation.blocks("198.18.7.8", 9001)
    isolation.begin(SERVER, [], PEER)
    assert _is_cut(("198.18.7.9", 9001))


def test_ipv4_that_is_mapped_into_ipv6_is_ipv4(isolation: Isolation) -> None:
    isolation.begin(SERVER, ["[::ffff:198.18.7.9]:9001"], PEER)
    assert not _is_cut(("198.18.7.9", 9001))
    assert _is_cut(("198.18.7.9", 9002))


def test_a_list_without_a_good_entry_leaves_the_server_reachable(isolation: Isolation) -> None:
    isolation.begin(SERVER, ["x"] * 5_000, PEER)
    assert len(isolation.problems) <= ISOLATION_PROBLEMS_MAX
    assert not _is_cut(PEER)
    assert _is_cut(OTHER)


def test_more_entries_than_fit_do_not_push_out_the_server(isolation: Isolation) -> None:
    entries = [f"10.0.{at // 250}.{at % 250 + 1}:1" for at in range(ISOLATION_ENDPOINTS_MAX + 50)]
    isolation.begin(SERVER, entries, PEER)
    assert not _is_cut(PEER)
    assert isolation.problems == ["50 isolation entries left out: there are too many"]


@pytest.mark.parametrize(
    "change",
    [
        f"delete table inet {TABLE}",
        f"flush table inet {TABLE}",
        f"flush chain inet {TABLE} output",
        f"insert rule inet {TABLE} output accept",
        f"insert rule inet {TABLE} input ip saddr 198.18.7.9 accept",
        f"add rule inet {TABLE} forward accept",
        f"add table inet {TABLE} {{ flags dormant; }}",
        f"delete table inet {TABLE}; add table inet {TABLE}",
        f"add chain inet {TABLE} other",
    ],
)
def test_a_table_that_somebody_changed_is_loaded_again_and_reported(
    isolation: Isolation, change: str
) -> None:
    isolation.begin(SERVER, [], PEER)
    before = firewall.table_content()
    _nft(change)
    isolation.enforce()
    assert firewall.table_content() == before
    assert isolation.is_on
    assert "changed or deleted, and loaded again (1 time)" in isolation.problems[0]
    assert _is_cut(OTHER)


def test_refused_packets_are_no_change_of_the_table(isolation: Isolation) -> None:
    isolation.begin(SERVER, [], PEER)
    assert _is_cut(OTHER)
    isolation.enforce()
    assert isolation.problems == []


def test_a_table_that_cannot_be_read_or_loaded_is_not_reported_as_isolating(
    isolation: Isolation, monkeypatch: pytest.MonkeyPatch
) -> None:
    isolation.begin(SERVER, [], PEER)
    with monkeypatch.context() as missing:
        missing.setattr(firewall, "_SEARCH_PATH", "/nowhere")
        with pytest.raises(IsolationError, match="nft"):
            isolation.enforce()
        assert not isolation.is_on
    isolation.enforce()
    assert isolation.is_on


def test_addresses_stay_as_they_were_when_the_order_came(
    isolation: Isolation, tmp_path: Path
) -> None:
    isolation.begin(SERVER, [], PEER)
    before = firewall.table_content()
    (tmp_path / "resolv.conf").write_text("nameserver 198.18.7.9\n")
    isolation.begin(SERVER, [], OTHER)
    isolation.enforce()
    assert firewall.table_content() == before
    again = _isolation(tmp_path)
    again.resume(SERVER)
    assert firewall.table_content() == before
    assert again.server_addresses() == [PEER]
    assert again.problems == []


def test_the_servers_list_changes_while_isolated_and_the_addresses_do_not(
    isolation: Isolation,
) -> None:
    isolation.begin(SERVER, ["198.18.7.9:9001"], PEER)
    isolation.begin(SERVER, ["198.18.7.9:9002"], OTHER)
    assert _is_cut(("198.18.7.9", 9001))
    assert not _is_cut(("198.18.7.9", 9002))
    assert _is_cut(OTHER)


def test_an_order_is_resumed_without_a_name_server(isolation: Isolation, tmp_path: Path) -> None:
    isolation.begin(SERVER, [], PEER)
    isolation.lift()
    assert not _is_cut(OTHER)
    again = _isolation(tmp_path)
    again.resume(SERVER)
    assert again.is_on
    assert _is_cut(OTHER)
    assert not _is_cut(PEER)


def test_an_order_kept_by_an_earlier_version_is_resumed(
    isolation: Isolation, tmp_path: Path
) -> None:
    (tmp_path / "isolation.json").write_text('["198.18.7.9:9001", "198.18.7.9:"]')
    isolation.resume(PEER)
    assert isolation.is_on
    assert not _is_cut(PEER)
    assert not _is_cut(("198.18.7.9", 9001))
    assert _is_cut(OTHER)


@pytest.mark.parametrize("text", ["", "{}", '{"server": 5}', '{"entries": 5, "server": [1, 2]}'])
def test_a_damaged_order_is_an_error_and_the_next_one_isolates(
    isolation: Isolation, tmp_path: Path, text: str
) -> None:
    (tmp_path / "isolation.json").write_text(text)
    with pytest.raises(IsolationError):
        isolation.resume(SERVER)
    isolation.begin(SERVER, [], PEER)
    assert _is_cut(OTHER)


def test_the_end_of_an_order_removes_the_table_and_the_state(
    isolation: Isolation, tmp_path: Path
) -> None:
    isolation.begin(SERVER, [], PEER)
    isolation.end()
    isolation.enforce()
    assert firewall.table_content() == ""
    assert not (tmp_path / "isolation.json").exists()
    assert isolation.server_addresses() == []
