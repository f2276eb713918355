"""The HTTP application: routers in order, error shapes, and what runs around every request."""

from typing import Final

from fastapi import APIRouter, Depends, FastAPI

import vedette
from vedette.api.access import authorize
from vedette.api.conduct import Conduct, HttpMetrics
from vedette.api.failures import install_failures
from vedette.api.openapi import DESCRIPTION
from vedette.api.routes import (
    analysis,
    bans,
    binaries,
    bulk,
    docs,
    elastic_setup,
    filters,
    groups,
    health,
    info,
    ingest,
    installers,
    live_queries,
    osquery,
    partitions,
    processes,
    queries,
    sensor_files,
    sensor_protocol,
    sensors,
    sites,
    stories,
)
from vedette.api.services import Services

ROUTERS: Final[tuple[APIRouter, ...]] = (
    health.router,
    docs.router,
    info.router,
    binaries.router,  # before the processes, whose summaries answer for any two words
    stories.router,  # so are these
    processes.router,
    analysis.router,
    queries.router,
    sensors.router,
    filters.router,
    bans.router,
    groups.router,
    sites.router,
    installers.router,
    sensor_protocol.router,
    sensor_files.router,
    osquery.router,
    live_queries.router,
    partitions.router,
    ingest.router,
    bulk.router,
    elastic_setup.router,  # last: it answers for any name of an index
)


def create_app(services: Services) -> FastAPI:
    """The application over its services. It opens nothing and closes nothing."""
    app = FastAPI(
        title="Vedette",
        version=vedette.__version__,
        description=DESCRIPTION,
        dependencies=[Depends(authorize)],
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    app.state.services = services
    for router in ROUTERS:
        app.include_router(router)
    install_failures(app)
    app.add_middleware(Conduct, metrics=HttpMetrics(services.metrics))
    return app
