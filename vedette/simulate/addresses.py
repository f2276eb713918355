"""Host names and IP addresses that the fleet connects to, internal and external.

External names are in reserved domains, external addresses in documentation ranges; a name always
resolves to the same address.
"""

from functools import lru_cache
from random import Random
from zlib import crc32

from vedette.simulate.fleet import DOMAIN

WEB_NAMES: tuple[str, ...] = tuple(
    f"{label}.{domain}"
    for domain in ("example.com", "example.net", "example.org", "weather.test", "shop.test")
    for label in (
        "www",
        "news",
        "cdn",
        "static",
        "img",
        "api",
        "login",
        "video",
        "fonts",
        "maps",
        "telemetry",
        "ads",
        "docs",
        "mail",
        "forum",
        "search",
        "assets",
        "tracker",
        "media",
    )
)
UPDATE_NAMES = ("update.windows.test", "dl.windows.test", "ctldl.windows.test", "defender.test")
OFFICE_NAMES = ("roaming.office.test", "outlook.office.test", "config.office.test", "nexus.test")
CHAT_NAMES = ("edge.teamline.test", "presence.teamline.test", "files.teamline.test")
PACKAGE_NAMES = ("deb.software.test", "security.software.test", "bottles.software.test")
GIT_NAME = f"git.{DOMAIN}"
MAIL_NAME = f"mail-001.{DOMAIN}"
FILES_NAME = f"files-001.{DOMAIN}"
DC_NAME = f"dc-001.{DOMAIN}"
PROXY_NAME = f"proxy.{DOMAIN}"
MONITOR_NAME = f"monitor.{DOMAIN}"

_INSIDE = {
    DC_NAME: "10.10.0.21",
    MAIL_NAME: "10.10.0.22",
    FILES_NAME: "10.10.0.24",
    GIT_NAME: "10.10.0.200",
    PROXY_NAME: "10.10.0.201",
    MONITOR_NAME: "10.10.0.202",
}
_OUTSIDE = ("192.0.2", "198.51.100", "203.0.113")


@lru_cache(maxsize=4096)
def address_of(name: str) -> str:
    """Returns the address of a name. The low addresses of the external ranges belong to the
    attackers (`stories/`)."""
    inside = _INSIDE.get(name)
    if inside is not None:
        return inside
    number = crc32(name.encode())
    return f"{_OUTSIDE[number % 3]}.{40 + number // 3 % 210}"


def workstation_address(rng: Random) -> str:
    """Returns the address of a random workstation."""
    return f"10.{rng.choice((20, 30, 40))}.0.{20 + int(rng.random() * 60)}"
