"""Checks the addresses of a provider: its issuer, and the addresses that its metadata names.

HTTPS is required, because keys and codes are sent over it. Plain HTTP is allowed only to loopback
addresses, and the guard of outgoing connections refuses these unless `egress_allow` names them.
"""

from ipaddress import ip_address
from urllib.parse import urlsplit

from vedette.errors import BadRequestError
from vedette.notify.http_post import checked_url


def checked_provider_url(text: object, name: str, *, is_issuer: bool = False) -> str:
    """Returns the URL. An issuer has neither a query nor a fragment. Raises BadRequestError."""
    url = checked_url(text, name)
    parts = urlsplit(url)
    if parts.scheme != "https" and not _is_loopback(parts.hostname or ""):
        raise BadRequestError(f"{name}: must be https://")
    if parts.fragment or (is_issuer and parts.query):
        raise BadRequestError(f"{name}: must have neither a query nor a fragment")
    return url


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
