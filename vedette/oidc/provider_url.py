"""Which addresses a provider may have: its issuer, and what its metadata names.

HTTPS, since keys and codes come over it. Plain HTTP only to loopback by name, and the guard of
outgoing connections refuses loopback unless `egress_allow` names it.
"""

from ipaddress import ip_address
from urllib.parse import urlsplit

from vedette.errors import BadRequestError
from vedette.notify.http_post import checked_url


def checked_provider_url(text: object, name: str, *, is_issuer: bool = False) -> str:
    """The URL. An issuer has neither a query nor a fragment. Raises BadRequestError."""
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
