"""Everything that is served under `/ui/`, and who may see it."""

from typing import Final

from fastapi.routing import APIRoute

from vedette.api.http.pages import Pages
from vedette.api.http.route_rights import Right
from vedette.api.http.router import Router
from vedette.console import static_files
from vedette.console.failure import failure_page
from vedette.console.screens import (
    accounts,
    alerts,
    bans,
    binaries,
    data,
    feeds,
    filters,
    groups,
    home,
    identity_sign_in,
    jobs,
    process_analysis,
    process_search,
    reports,
    sensors,
    settings,
    sigma,
    sign_in,
    unknown,
    watchlists,
)

ROUTERS: Final[tuple[Router, ...]] = (
    static_files.router,
    sign_in.router,
    identity_sign_in.router,
    home.router,
    alerts.router,
    sensors.router,
    groups.router,
    jobs.router,
    bans.router,
    binaries.router,
    watchlists.router,
    sigma.router,
    feeds.router,
    reports.router,
    filters.router,
    data.router,
    accounts.router,
    settings.router,
    process_search.router,
    process_analysis.router,
    unknown.router,  # last: it matches everything below /ui/
)
"""A new screen adds its router here."""

RIGHTS: Final[dict[str, Right]] = {
    "/ui/static/{version}/{name:path}": Right.OPEN,
    "/ui/sign-in": Right.OPEN,
    "/ui/sign-in/with/{provider}": Right.OPEN,
    "/ui/sign-in/with/{provider}/callback": Right.OPEN,
    **dict.fromkeys(
        (
            *("/ui", "/ui/", "/ui/{rest:path}", "/ui/me", "/ui/s/{link_id}"),
            *("/ui/_/home/alerts", "/ui/_/home/rules", "/ui/_/home/over-time", "/ui/_/home/starts"),
            *("/ui/_/home/hosts", "/ui/_/home/sensors", "/ui/_/home/storage"),
            *("/ui/_/home/changes", "/ui/_/home/health"),
            *("/ui/alerts", "/ui/_/alerts/changes", "/ui/_/alerts/{alert_id}"),
            *("/ui/_/alerts/{alert_id}/lineage", "/ui/_/alerts/{alert_id}/prevalence"),
            *("/ui/sensors", "/ui/_/sensors/ids", "/ui/sensors/{sensor_id}"),
            *("/ui/_/sensors/{sensor_id}/completeness", "/ui/_/sensors/{sensor_id}/isolation"),
            *("/ui/groups", "/ui/groups/{group_id}", "/ui/binary", "/ui/binary/{md5}"),
            *("/ui/watchlists/new", "/ui/_/watchlists/{watchlist}/deletion"),
            *("/ui/feeds/{feed_id}/report", "/ui/process", "/ui/process/{process_id}"),
            *("/ui/_/process/histogram", "/ui/_/process/week", "/ui/_/process/rare"),
            *("/ui/_/process/wider", "/ui/_/binary/rare"),
            *("/ui/_/process/{process_id}/{segment_id}", "/ui/_/analysis/{process_id}/stored"),
        ),
        Right.READ,
    ),
    **dict.fromkeys(
        (
            *("/ui/bans", "/ui/watchlists", "/ui/watchlists/{watchlist}", "/ui/sigma"),
            *("/ui/sigma/coverage", "/ui/sigma/{rule_id}", "/ui/sigma/{rule_id}/versions"),
            *("/ui/feeds", "/ui/feeds/{feed_id}", "/ui/bans/{md5}", "/ui/filters/{filter_id}"),
            *("/ui/filters", "/ui/jobs", "/ui/jobs/{job_id}", "/ui/reports"),
            "/ui/_/bans/reach",
        ),
        Right.VIEW,
    ),
    **dict.fromkeys(
        (
            *("/ui/data", "/ui/access", "/ui/audit", "/ui/settings", "/ui/_/access/effective"),
            "/ui/_/access/team/{team_id}",
            "/ui/_/audit/chain",
            *("/ui/_/data/partitions/{name}/deletion", "/ui/_/settings/approved/{without}"),
        ),
        Right.ADMINISTER,
    ),
}
"""What each page needs; what users see on them is their scope. A page that is not here keeps the
server from starting: none is open by accident."""

PAGES: Final = Pages(
    ROUTERS,
    {
        (method, route.path): RIGHTS[route.path]
        for router in ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    },
    failure_page,
)
