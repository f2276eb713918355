"""Feeds, their threat reports and indicators of compromise (IOC), as values.

A feed is a document that somebody publishes: reports, each with indicators. The formats of
`vedette/feeds/formats` become the same `Report`.
"""

import re
from typing import Final, Literal

from msgspec import Struct

IocType = Literal["md5", "sha256", "ipv4", "ipv6", "dns", "ja3", "ja3s", "query"]
IOC_TYPES: tuple[IocType, ...] = ("md5", "sha256", "ipv4", "ipv6", "dns", "ja3", "ja3s", "query")

IndexType = Literal["", "events", "modules"]
"""What a query asks: processes or binaries; "" for indicators that are values."""

CONFIDENCE_UNKNOWN = 0.5
"""Confidence of an indicator whose source does not say."""


class Ioc(Struct, frozen=True, gc=False):
    """An indicator in its normal form: hashes and names in lower case, networks as `address/bits`
    without host bits, single addresses without bits."""

    type: IocType
    value: str
    index_type: IndexType = ""
    confidence: float = CONFIDENCE_UNKNOWN
    """0 to 1."""
    expires_us: int = 0
    """When it stops to count; 0: never."""


class Report(Struct, frozen=True, kw_only=True):
    """A threat report of a feed."""

    id: str
    title: str
    description: str = ""
    link: str = ""
    tags: tuple[str, ...] = ()
    score: int = 0
    """-100 to 100."""
    time_us: int = 0
    """When its source changed it last."""
    iocs: tuple[Ioc, ...] = ()
    """Without any, the report is withdrawn."""


class BrokenPart(Struct, frozen=True, kw_only=True):
    """A report, or an indicator of one, that cannot be read; it costs nothing else."""

    place: str
    """Where it stands in the document."""
    problem: str
    report_id: str = ""
    """Of the report that is lost, where it is known."""


class FeedInfo(Struct, frozen=True, kw_only=True):
    """What a document says of its feed; "" and None where it does not."""

    name: str = ""
    display_name: str = ""
    provider_url: str = ""
    summary: str = ""
    tech_data: str = ""
    category: str = ""
    icon: str = ""
    icon_small: str = ""
    provider_rating: float | None = None


Item = FeedInfo | Report | BrokenPart
"""What reading a document yields, in its order."""


_USERINFO: Final = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*://)[^/?#]*@")


def shown_url(url: str) -> str:
    """A URL without credentials: publishers put keys into the query."""
    address, mark, _ = _USERINFO.sub(r"\1", url.partition("#")[0]).partition("?")
    return f"{address}?..." if mark else address
