"""The pages of the console as a reader gets them, to be compared byte by byte."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from tests.support.route_access import PAGE_ACCESS
from vedette.web.http.rights.right import Right

VIEWS: Final = (
    "/ui/alerts?q=",
    "/ui/alerts?q=&by=host",
    "/ui/alerts?q=&by=rule&then=host",
    "/ui/alerts?q=&by=rule,process,host",
    "/ui/process?t=all",
    "/ui/process?t=all&group=none",
    "/ui/process?t=all&q=whoami",
    "/ui/process?t=all&q=hostname:hidden*",
    "/ui/log?t=all",
    "/ui/log?t=all&q=hostname:hidden*",
    "/ui/binary?q=host_count:[2 TO *]",
    "/ui/_/process/histogram?t=all",
    "/ui/_/process/week?t=all",
    "/ui/_/process/histogram?t=all&table=1",
    "/ui/_/process/histogram?t=all&by=hostname",
    "/ui/process?t=all&by=process_name",
    "/ui/_/process/rare?t=all&facet=hostname",
    "/ui/_/sensors/ids?q=hidden",
    "/ui/_/log/rare?t=all&facet=hostname",
    "/ui/_/process/wider?q=hostname:hidden*",
    "/ui/_/binary/rare?facet=observed_filename_facet",
    "/ui/sensors?q=hidden",
    "/ui/sensors?silent=1",
    "/ui/reports?q=title:known",
    "/ui/sigma?q=somebody",
    "/ui/watchlists/new?q=whoami",
    f"/ui/_/bans/reach?md5hashes={'ab' * 16}",
    f"/ui/binary/{'ab' * 32}",
)
"""Views that an address without a query does not show."""

NOT_COMPARED: Final = {
    "/ui/process": "of the last day: its range moves with the clock; as t=all it is compared",
    "/ui/_/process/histogram": "the same",
    "/ui/_/process/week": "the same",
    "/ui/_/process/rare": "the same",
    "/ui/log": "the same",
    "/ui/_/log/rare": "the same",
}
_OF_THE_MOMENT: Final = re.compile(
    r'nonce="[^"]*"|content="\d{13}"|printed [^<]*|\d[\d\u2009]* ms'
    r"|request <code>[0-9a-f]{16}</code>|(used |Searched until</dt>\s*<dd>)<time[^>]*>[^<]*</time>"
    r'|data-as-of="[^"]*"|<span class="meta age"[^>]*>\d+ (s|min)</span>\s*</td>'
    r"|<meter[^>]*></meter>\s*<[^>]*>\d+|risk \d+ of 100"
)
"""Matches the parts of a page that differ between two answers: nonces, times, durations, and the
risk of a host, which decays with time."""
_RANGE: Final = re.compile(r'<time[^>]*>[^<]*</time>|data-(since|until)="\d+"|<rect[^>]*>')


def paths(filled: Callable[[str], str]) -> Iterator[str]:
    """The address of every page and part that a user may read."""
    for method, path in sorted(PAGE_ACCESS):
        if PAGE_ACCESS[method, path] in (Right.READ, Right.VIEW) and path not in NOT_COMPARED:
            named = path.replace("{watchlist}", "{watchlist_id}")
            digest = "cd" * 16 if "/bans/" in path else "ab" * 16
            if path.endswith("/report"):
                named += "?id={report_id}"
            yield filled(named.replace("{md5}", digest))
    yield from VIEWS


def comparable(path: str, text: str) -> str:
    """A page without what is of the moment. Ranges of the home page end now, and their bars move
    with the clock; what these count is in the table beside them."""
    if path.startswith(("/ui/_/home/over-time", "/ui/_/home/starts")):
        text = _RANGE.sub("", text)
    return _OF_THE_MOMENT.sub("", text)
