"""Lists all object definitions, for code that processes each: the reference and tests."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from vedette.record.bodies import RecordBody
from vedette.record.objects import (
    ban,
    feed,
    ingress_filter,
    kept_view,
    response_policy,
    sensor_group,
    site,
    suppression,
    watchlist,
)


@dataclass(frozen=True, slots=True)
class Defined:
    """An object definition and the bodies of the routes that write it."""

    kind: type
    page: str
    """File name of the page in `docs/` about the object."""
    bodies: Sequence[RecordBody[Any]]
    has_columns: bool = True
    """Whether each stored member has its own column; False if one column has all members as
    JSON."""


DEFINED: Final = (
    Defined(ban.Ban, "bans.md", (ban.NEW_BAN, ban.BAN_CHANGE)),
    Defined(feed.Feed, "feeds.md", (feed.NEW_FEED, feed.FEED_CHANGE)),
    Defined(
        ingress_filter.IngressFilter,
        "ingress-filters.md",
        (ingress_filter.NEW_FILTER, ingress_filter.FILTER_CHANGE),
        has_columns=False,
    ),
    Defined(
        response_policy.ResponsePolicy,
        "notifications.md",
        (response_policy.NEW_POLICY, response_policy.POLICY_CHANGE),
        has_columns=False,
    ),
    Defined(
        sensor_group.Group,
        "clients.md",
        (sensor_group.NEW_GROUP, sensor_group.GROUP_CHANGE),
        has_columns=False,
    ),
    Defined(site.Site, "clients.md", (site.NEW_SITE, site.SITE_CHANGE)),
    Defined(
        suppression.Suppression,
        "alerts.md",
        (suppression.NEW_SUPPRESSION, suppression.SUPPRESSION_CHANGE),
    ),
    Defined(kept_view.SavedSearch, "console.md", (kept_view.NEW_SEARCH,)),
    Defined(
        watchlist.Watchlist,
        "watchlists.md",
        (watchlist.NEW_WATCHLIST, watchlist.WATCHLIST_CHANGE),
    ),
)
