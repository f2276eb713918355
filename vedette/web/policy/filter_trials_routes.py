"""Trials of ingress filters over the last day. A trial has a deadline, ends with its request, and
reports its progress (docs/ingress-filters.md#what-a-trial-says)."""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from functools import partial
from typing import Any

import orjson
from fastapi import Request
from starlette.requests import ClientDisconnect
from starlette.responses import Response, StreamingResponse

from vedette.alerting.blinded_rules import blinded_rules
from vedette.errors import VedetteError
from vedette.limits import Limit
from vedette.record.objects.ingress_filter import IngressFilter
from vedette.respond.filter_trial import OnProgress, check_filters, no_progress
from vedette.search.bounded_engine import BoundedEngine
from vedette.state.sensors.host_registry import all_sensors
from vedette.watchlists.blinded import blinded_watchlists
from vedette.web.http.error_responses import error_body
from vedette.web.http.responses import json_answer
from vedette.web.http.search_run import run_check
from vedette.web.http.services import Services
from vedette.web.policy.filters_json import trial_body

DRY_RUN_S: Limit[float] = 180.0
"""Maximum duration (s) of a trial, including the search for blinded detections."""

DRY_RUN_READ_SHARE: Limit[float] = 0.5
"""Share of DRY_RUN_S after which a trial reads no more processes. The rest is for the search for
blinded detections."""

DRY_RUN_PROGRESS_S: Limit[float] = 0.5
"""Time (s) between two progress lines of a trial."""


async def trial_of(
    request: Request,
    here: Services,
    wanted: Sequence[IngressFilter],
    on_progress: OnProgress = no_progress,
) -> dict[str, Any]:
    """Returns the events of the last day that the filters would have dropped, and the detections
    that they would blind."""

    def work(engine: BoundedEngine) -> dict[str, Any]:
        def report(what: str, done: int, of: int) -> None:
            engine.cancel.raise_if_cancelled()
            on_progress(what, done, of)

        sensors = all_sensors(here.database)
        detections = [
            partial(blinded_watchlists, here.database),
            partial(blinded_rules, here.database),
        ]
        until_s = time.monotonic() + DRY_RUN_S * DRY_RUN_READ_SHARE
        trials, blinded = check_filters(
            engine, sensors, wanted, here.clock.now_us(), detections, until_s, report
        )
        return trial_body(trials, blinded, sensors)

    return await run_check(request, here, work, DRY_RUN_S)


async def trial_with_progress(
    request: Request, here: Services, wanted: Sequence[IngressFilter]
) -> Response:
    """Streams JSON lines: `{"progress": {"of": ..., "done": ..., "looking_at": ...}}` while the
    trial runs, then its result or error."""
    progress: dict[str, Any] = {}

    def on_progress(what: str, done: int, of: int) -> None:
        progress.update(looking_at=what, done=done, of=of)

    trial = asyncio.ensure_future(trial_of(request, here, wanted, on_progress))
    try:
        # A trial that fails or ends at once gets an ordinary response.
        await asyncio.wait({trial}, timeout=DRY_RUN_PROGRESS_S)
    except BaseException:
        trial.cancel()
        raise
    if trial.done():
        return json_answer(trial.result())
    return StreamingResponse(lines_of(trial, progress), media_type="application/x-ndjson")


async def lines_of(
    trial: "asyncio.Future[dict[str, Any]]", progress: dict[str, Any]
) -> AsyncGenerator[bytes, None]:
    """Yields the progress of a trial as JSON lines until it ends, then its outcome. Cancels the
    trial if the client disconnects."""
    try:
        while not trial.done():
            yield orjson.dumps({"progress": progress}, option=orjson.OPT_APPEND_NEWLINE)
            await asyncio.wait({trial}, timeout=DRY_RUN_PROGRESS_S)
        yield orjson.dumps(_outcome(trial), option=orjson.OPT_APPEND_NEWLINE)
    finally:
        trial.cancel()


def _outcome(trial: "asyncio.Future[dict[str, Any]]") -> dict[str, Any]:
    try:
        return trial.result()
    except VedetteError as error:
        return error_body(error)
    except ClientDisconnect:
        return {}
