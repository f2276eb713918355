"""Which addresses the server connects to when somebody writes them into a form."""

import socket
import threading
from ipaddress import ip_address

import pytest

from vedette.notify.egress import EgressError, EgressPolicy, connect, resolve

STRICT = EgressPolicy()


@pytest.mark.parametrize(
    "text",
    [
        "127.0.0.1",
        "127.9.9.9",
        "0.0.0.0",
        "0.1.2.3",
        "169.254.169.254",
        "169.254.1.1",
        "100.100.100.200",
        "168.63.129.16",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1",
        "ff02::1",
        "fd00:ec2::254",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::",
        "::127.0.0.1",
    ],
)
def test_addresses_of_the_inside_are_refused(text: str) -> None:
    assert STRICT.refusal(ip_address(text))


@pytest.mark.parametrize(
    "text", ["10.1.2.3", "192.168.1.5", "172.16.0.1", "8.8.8.8", "2606:4700::1111", "fd12::1"]
)
def test_other_addresses_are_reached(text: str) -> None:
    assert STRICT.refusal(ip_address(text)) == ""


def test_an_exception_is_named_by_address_or_network() -> None:
    policy = EgressPolicy.of(["127.0.0.1", "fe80::/10"])
    assert policy.refusal(ip_address("127.0.0.1")) == ""
    assert policy.refusal(ip_address("::ffff:127.0.0.1")) == ""
    assert policy.refusal(ip_address("127.0.0.2"))
    assert policy.refusal(ip_address("fe80::1")) == ""
    with pytest.raises(ValueError, match="nonsense"):
        EgressPolicy.of(["nonsense"])


@pytest.mark.parametrize(
    "host", ["localhost", "127.1", "0x7f.1", "2130706433", "017700000001", "[::1]".strip("[]")]
)
def test_other_spellings_of_loopback_are_refused(host: str) -> None:
    with pytest.raises(EgressError, match="egress_allow"):
        resolve(host, 80, STRICT)


@pytest.mark.parametrize("host", ["\udcff", "a" * 300, "a..b", ""])
def test_what_is_no_host_name_is_an_error_of_the_connection(host: str) -> None:
    with pytest.raises((OSError, EgressError)):
        connect(host, 80, 1, STRICT)


def test_the_address_that_was_judged_is_the_one_connected_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A name that answers differently the second time is asked once."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    thread = threading.Thread(target=lambda: [listener.accept()[0].close()])
    thread.start()
    answers = iter(["127.0.0.1", "169.254.169.254"])

    def rebinding(host: str, port: int, **_: object) -> list[object]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), port))]

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    policy = EgressPolicy.of(["127.0.0.1"])
    with connect("rebinding.example", port, 5, policy) as connection:
        assert connection.getpeername() == ("127.0.0.1", port)
    with pytest.raises(EgressError):
        connect("rebinding.example", port, 5, policy)
    thread.join()
    listener.close()
