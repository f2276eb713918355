"""The URL under which the caller reached the server. Sensors use it unless their group has its
own."""

import ipaddress
import re
from typing import Final
from urllib.parse import urlsplit

from fastapi import Request

from vedette.errors import BadRequestError

_HOST: Final = re.compile(r"([A-Za-z0-9._-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(:[0-9]{1,5})?")


def server_url(request: Request) -> str:
    """Returns `https://host:port` without a trailing slash. Raises BadRequestError for a malformed
    Host header, because the URL is written into files."""
    host = request.headers.get("host", "")
    if not _HOST.fullmatch(host):
        raise BadRequestError("the Host header has no host")
    return f"{request.url.scheme}://{host}"


def names_loopback(url: str) -> bool:
    """Returns whether the URL names the local machine: `localhost`, 127.0.0.0/8 or ::1."""
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
