"""Feeds, threat reports and indicators of compromise (IOCs), as values.

A feed is a published document of reports, each with indicators. Every format in
`vedette/feeds/formats` is parsed into the same `Report`.
"""

import re
from typing import Final, Literal

from msgspec import Struct

IocType = Literal["md5", "sha256", "ipv4", "ipv6", "dns", "ja3", "ja3s", "query"]
IOC_TYPES: tuple[IocType, ...] = ("md5", "sha256", "ipv4", "ipv6", "dns", "ja3", "ja3s", "query")

IndexType = Literal["", "events", "modules"]
"""Documents that a query indicator searches: processes or binaries; "" for value indicators."""

CONFIDENCE_UNKNOWN = 0.5
"""Confidence of an indicator whose source states none."""


class Ioc(Struct, frozen=True, gc=False):
    """An indicator in normal form: hashes and names in lower case, networks as `address/bits`
    without host bits, single addresses without bits."""

    type: IocType
    value: str
    index_type: IndexType = ""
    confidence: float = CONFIDENCE_UNKNOWN
    """0 to 1."""
    expires_us: int = 0
    """Time when the indicator expires; 0 means never."""


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
    """Time of the last change by the source."""
    iocs: tuple[Ioc, ...] = ()
    """Empty if the report is withdrawn."""
    valid_from_us: int = 0
    """Time when the indicators become valid; until then the report counts as withdrawn. 0 means at
    once."""


class BrokenPart(Struct, frozen=True, kw_only=True):
    """A report or an indicator that cannot be parsed. The rest of the document is still used."""

    place: str
    """Position in the document."""
    problem: str
    report_id: str = ""
    """Id of the lost report, if known."""


class FeedInfo(Struct, frozen=True, kw_only=True):
    """A document's information about its feed; "" or None where it has none."""

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
"""An element that the parser of a document yields, in document order."""


_USERINFO: Final = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*://)[^/?#]*@")


def shown_url(url: str) -> str:
    """Returns a URL without user info, query and fragment: publishers put keys into the query."""
    address, mark, _ = _USERINFO.sub(r"\1", url.partition("#")[0]).partition("?")
    return f"{address}?..." if mark else address
