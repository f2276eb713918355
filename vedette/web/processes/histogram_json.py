"""Adds the `histogram` to a search response, within the remaining time of the search."""

from collections.abc import Callable
from time import monotonic
from typing import Any

from vedette.errors import UnavailableError
from vedette.search.processes.histogram import Histogram
from vedette.web.http.services import Services
from vedette.web.processes.search_results_json import histogram_body


def with_histogram(
    body: dict[str, Any], began: float, here: Services, count: Callable[[float], Histogram]
) -> dict[str, Any]:
    """Returns the response of a search that started at `began` with its `histogram`. If the
    remaining time is not enough, the histogram is null and the results are marked incomplete."""
    left_s = began + here.settings.search_deadline_s - monotonic()
    try:
        if left_s <= 0:
            raise UnavailableError("the histogram ran out of time", reason="deadline")
        return body | {"histogram": histogram_body(count(left_s))}
    except UnavailableError as error:
        if error.reason != "deadline":
            raise
        return body | {"histogram": None, "incomplete_results": True}
