"""The HTTP application: routers in order, error handlers and middleware."""

from collections.abc import Iterator
from typing import Final

from fastapi import FastAPI
from fastapi.routing import APIRoute

import vedette
from vedette.api.http.access import authorize
from vedette.api.http.error_responses import install_failures
from vedette.api.http.fast_path import FastPath
from vedette.api.http.middleware import HttpMetrics, RequestMiddleware
from vedette.api.http.pages import Pages
from vedette.api.http.router import Router
from vedette.api.routes.accounts import (
    approved_list,
    audit,
    identities,
    kept_views,
    sessions,
    teams,
    tokens,
    users,
)
from vedette.api.routes.alerts import alerts, bulk_triage, suppressions, triage
from vedette.api.routes.cloud import (
    alert_notes,
    devices,
    forwarders,
    identity,
    identity_admin,
    update_jobs,
)
from vedette.api.routes.cloud import alerts as cloud_alerts
from vedette.api.routes.cloud import jobs as cloud_jobs
from vedette.api.routes.fleet import (
    aliases,
    bulk_sensors,
    groups,
    installers,
    live_queries,
    sensors,
    sites,
)
from vedette.api.routes.policy import (
    actions,
    app_control,
    bans,
    feeds,
    filters,
    outbox,
    responses,
    rule_placeholders,
    rules,
    watchlists,
    yara,
)
from vedette.api.routes.search import (
    analysis,
    binaries,
    binary_requests,
    completeness,
    lookups,
    process_views,
    processes,
    queries,
    threat_reports,
)
from vedette.api.routes.server import (
    backup,
    docs,
    doctor,
    health,
    info,
    license,
    partitions,
    policy_reports,
    pulse,
    servers,
)
from vedette.api.routes.telemetry import (
    bulk,
    elastic_setup,
    ingest,
    osquery,
    sensor_files,
    sensor_protocol,
)
from vedette.api.schemas.openapi.document import DESCRIPTION
from vedette.api.services import Services

ROUTERS: Final[tuple[Router, ...]] = (
    sensor_protocol.router,  # first: most requests of a fleet are check-ins
    health.router,
    docs.router,
    info.router,
    yara.router,
    binary_requests.router,
    binaries.router,  # before the processes, whose summary matches any two path segments
    process_views.router,  # likewise
    processes.router,
    analysis.router,
    queries.router,
    lookups.router,
    suppressions.router,  # before the alerts, whose ids match any path segment
    alerts.router,
    triage.router,
    bulk_triage.router,
    sensors.router,
    bulk_sensors.router,
    aliases.router,
    filters.router,
    # Before the routes of single rules, one of which it would be.
    rule_placeholders.router,
    rules.router,
    bans.router,
    feeds.router,
    threat_reports.router,
    watchlists.router,
    actions.router,
    outbox.router,
    app_control.router,
    responses.router,
    groups.router,
    sites.router,
    installers.router,
    sensor_files.router,
    osquery.router,
    live_queries.router,
    partitions.router,
    completeness.router,
    users.router,
    teams.router,
    tokens.router,
    sessions.router,
    identities.router,
    kept_views.router,
    cloud_alerts.router,
    alert_notes.router,
    devices.router,
    cloud_jobs.router,
    update_jobs.router,
    forwarders.router,
    identity.router,
    identity_admin.router,
    approved_list.router,
    audit.router,
    license.router,
    backup.router,
    doctor.router,
    policy_reports.router,
    pulse.router,
    servers.router,
    ingest.router,
    bulk.router,
    elastic_setup.router,  # last: it matches any path segment
)


def create_app(services: Services, pages: Pages | None = None) -> FastAPI:
    """The application over its services, with pages for people if there are any. It neither opens
    nor closes resources."""
    routes = list(all_routes(pages))
    app = FastAPI(
        title="Vedette",
        version=vedette.__version__,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # checked for each request
    )
    app.state.services = services
    app.state.pages = pages
    # As they are: included routers are searched twice for each request.
    app.router.routes.extend(routes)
    install_failures(app)
    metrics = HttpMetrics(services.metrics)
    app.add_middleware(RequestMiddleware, metrics=metrics, bodies=services.bodies)
    app.middleware_stack = FastPath(app.build_middleware_stack(), routes, metrics, services.bodies)
    return app


def all_routes(pages: Pages | None = None) -> Iterator[APIRoute]:
    """Every route, in the order of matching. Each authorizes its caller first."""
    for router in (*(() if pages is None else pages.routers), *ROUTERS):
        for route in router.routes:
            assert isinstance(route, APIRoute)
            first = [one.call for one in route.dependant.dependencies[:1]]
            assert first == [authorize], f"{route.path}: it is open to everybody"
            yield route
