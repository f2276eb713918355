"""Builds the HTTP application: routers in matching order, error handlers and middleware."""

from collections.abc import Iterator
from typing import Final

from fastapi import FastAPI

import vedette
from vedette.web.accounts import (
    approved_list_routes,
    audit_routes,
    cloud_identity_admin_routes,
    cloud_identity_routes,
    identity_providers_routes,
    saved_views_routes,
    sessions_routes,
    teams_routes,
    tokens_routes,
    users_routes,
)
from vedette.web.alerts import (
    bulk_triage_routes,
    cloud_notes_routes,
    hits_routes,
    response_policy_routes,
    suppressions_routes,
    triage_routes,
)
from vedette.web.alerts import cloud_alerts_routes as cloud_alerts
from vedette.web.alerts import routes as alerts_routes
from vedette.web.feeds import routes as feeds_routes
from vedette.web.feeds import threat_reports_routes
from vedette.web.fleet import (
    aliases_routes,
    bulk_sensors_routes,
    devices_routes,
    groups_routes,
    installers_routes,
    live_queries_routes,
    sites_routes,
    update_jobs_routes,
)
from vedette.web.fleet import jobs_routes as cloud_jobs
from vedette.web.fleet import routes as fleet_routes
from vedette.web.forwarding import routes as forwarding_routes
from vedette.web.http.access import authorize
from vedette.web.http.error_responses import install_failures
from vedette.web.http.fast_path import FastPath
from vedette.web.http.middleware import HttpMetrics, RequestMiddleware
from vedette.web.http.pages import Pages
from vedette.web.http.router import Route, Router
from vedette.web.http.services import Services
from vedette.web.logs import routes as logs_routes
from vedette.web.notify import app_control_routes, outbox_routes
from vedette.web.notify import routes as notify_routes
from vedette.web.policy import bans_routes, filters_routes
from vedette.web.processes import (
    completeness_routes,
    lookups_routes,
    process_views_routes,
    queries_routes,
)
from vedette.web.processes import routes as processes_routes
from vedette.web.processes.analysis import routes as analysis_routes
from vedette.web.programs import binary_requests_routes, yara_routes
from vedette.web.programs import routes as programs_routes
from vedette.web.rules import routes as rules_routes
from vedette.web.rules import rule_placeholders_routes
from vedette.web.server import (
    backup_routes,
    docs_routes,
    doctor_routes,
    health_routes,
    license_routes,
    partitions_routes,
    policy_reports_routes,
    pulse_routes,
    servers_routes,
)
from vedette.web.server import routes as server_routes
from vedette.web.server.openapi_document import DESCRIPTION
from vedette.web.telemetry import (
    bulk_routes,
    elastic_setup_routes,
    osquery_routes,
    sensor_files_routes,
    sensor_protocol_routes,
)
from vedette.web.telemetry import routes as telemetry_routes
from vedette.web.watchlists import routes as watchlists_routes

ROUTERS: Final[tuple[Router, ...]] = (
    sensor_protocol_routes.router,  # first: most requests of a fleet are check-ins
    health_routes.router,
    docs_routes.router,
    server_routes.router,
    yara_routes.router,
    binary_requests_routes.router,
    programs_routes.router,  # before processes_routes, whose summary matches any two path segments
    process_views_routes.router,  # before processes_routes, for the same reason
    logs_routes.router,  # before processes_routes, for the same reason
    processes_routes.router,
    analysis_routes.router,
    queries_routes.router,
    lookups_routes.router,
    suppressions_routes.router,  # before alerts_routes, whose ids match any path segment
    alerts_routes.router,
    hits_routes.router,
    triage_routes.router,
    bulk_triage_routes.router,
    fleet_routes.router,
    bulk_sensors_routes.router,
    aliases_routes.router,
    filters_routes.router,
    # Before rules_routes, whose rule id would match this path.
    rule_placeholders_routes.router,
    rules_routes.router,
    bans_routes.router,
    feeds_routes.router,
    threat_reports_routes.router,
    watchlists_routes.router,
    notify_routes.router,
    outbox_routes.router,
    app_control_routes.router,
    response_policy_routes.router,
    groups_routes.router,
    sites_routes.router,
    installers_routes.router,
    sensor_files_routes.router,
    osquery_routes.router,
    live_queries_routes.router,
    partitions_routes.router,
    completeness_routes.router,
    users_routes.router,
    teams_routes.router,
    tokens_routes.router,
    sessions_routes.router,
    identity_providers_routes.router,
    saved_views_routes.router,
    cloud_alerts.router,
    cloud_notes_routes.router,
    devices_routes.router,
    cloud_jobs.router,
    update_jobs_routes.router,
    forwarding_routes.router,
    cloud_identity_routes.router,
    cloud_identity_admin_routes.router,
    approved_list_routes.router,
    audit_routes.router,
    license_routes.router,
    backup_routes.router,
    doctor_routes.router,
    policy_reports_routes.router,
    pulse_routes.router,
    servers_routes.router,
    telemetry_routes.router,
    bulk_routes.router,
    elastic_setup_routes.router,  # last: it matches any path segment
)


def create_app(services: Services, pages: Pages | None = None) -> FastAPI:
    """Creates the application from its services, with console pages if given. Does not open or
    close resources."""
    routes = list(all_routes(pages))
    app = FastAPI(
        title="Vedette",
        version=vedette.__version__,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # checked per request
    )
    app.state.services = services
    app.state.pages = pages
    # Appended directly, because the framework searches included routers twice per request.
    app.router.routes.extend(routes)
    install_failures(app)
    metrics = HttpMetrics(services.metrics)
    app.add_middleware(RequestMiddleware, metrics=metrics, bodies=services.bodies)
    app.middleware_stack = FastPath(app.build_middleware_stack(), routes, metrics, services.bodies)
    return app


def all_routes(pages: Pages | None = None) -> Iterator[Route]:
    """Yields every route in matching order. Asserts that each authorizes its caller first."""
    for router in (*(() if pages is None else pages.routers), *ROUTERS):
        for route in router.routes:
            assert isinstance(route, Route)
            first = [one.call for one in route.dependant.dependencies[:1]]
            assert first == [authorize], f"{route.path}: it is open to everybody"
            yield route
