"""Validation of settings that depends on more than their type: combinations and formats."""

import ipaddress
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from vedette.settings.catalogue import Settings

_OWN_ADDRESSES: Final = (ipaddress.ip_address("127.0.0.1"), ipaddress.ip_address("::1"))


@dataclass(frozen=True, slots=True)
class Conflict:
    """A problem with the named settings. Messages point to the first of them that was set."""

    names: tuple[str, ...]
    text: str


def conflicts(settings: Settings) -> Iterator[Conflict]:
    """Yields all problems that prevent the server from starting."""
    yield from _of_tls(settings)
    if settings.commit_bytes_max > settings.queue_bytes_max:
        yield Conflict(
            ("commit_bytes_max", "queue_bytes_max"),
            "commit_bytes_max: must not be above queue_bytes_max",
        )
    for proxy in settings.trusted_proxies:
        if not _is_network(proxy):
            yield Conflict(
                ("trusted_proxies",),
                f"trusted_proxies: {proxy!r} is not an address and no block such as 10.0.0.0/8",
            )
    if settings.proxy_protocol:
        yield from _of_proxy_protocol(settings)
    yield from _of_bucket(settings)
    for network in settings.egress_allow:
        if not _is_network(network):
            yield Conflict(
                ("egress_allow",),
                f"egress_allow: {network!r} is not an address and no network, as 10.0.0.0/8",
            )
    for entry in settings.keep:
        if entry != "default" and not re.fullmatch(r".+:(\*|\d+)", entry):
            yield Conflict(
                ("keep",),
                f'keep: must be "channel:id", "channel:*" or "default", not {entry!r}',
            )


def _of_tls(settings: Settings) -> Iterator[Conflict]:
    if (settings.tls_cert is None) != (settings.tls_key is None):
        yield Conflict(("tls_cert", "tls_key"), "tls_cert, tls_key: set both or neither")
    if settings.http and settings.tls_cert is not None:
        yield Conflict(("http", "tls_cert"), "http: cannot be combined with a certificate")
    if settings.http and not settings.http_anywhere and not _is_loopback(settings.listen_host):
        yield Conflict(
            ("http", "listen_host", "http_anywhere"),
            f"http: tokens would cross the network unencrypted on {settings.listen_host}; "
            "listen on loopback, or set http_anywhere behind a proxy that ends TLS",
        )


def _of_proxy_protocol(settings: Settings) -> Iterator[Conflict]:
    names = ("proxy_protocol", "trusted_proxies")
    if not settings.trusted_proxies:
        yield Conflict(names, "proxy_protocol: requires trusted_proxies")
    for proxy in filter(_is_network, settings.trusted_proxies):
        network = ipaddress.ip_network(proxy, strict=False)
        if any(own.version == network.version and own in network for own in _OWN_ADDRESSES):
            yield Conflict(
                names,
                f"proxy_protocol: {proxy} of trusted_proxies holds the address from which commands "
                "on this machine call the server; have the proxy call from another, e.g. 127.0.0.2",
            )


def _of_bucket(settings: Settings) -> Iterator[Conflict]:
    if settings.blob_endpoint and not settings.blob_bucket:
        yield Conflict(("blob_endpoint", "blob_bucket"), "blob_endpoint: requires blob_bucket")
    if settings.blob_endpoint and not re.fullmatch(r"https?://[^/@\s]+/?", settings.blob_endpoint):
        yield Conflict(
            ("blob_endpoint",),
            "blob_endpoint: must be https://host:port, without a path; credentials go to "
            "blob_credentials_file",
        )


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return True


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
