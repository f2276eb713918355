"""Many objects are freed in portions, so that other threads have their turn meanwhile."""

import asyncio
from types import SimpleNamespace
from typing import cast

import pytest
from anyio import CapacityLimiter

from vedette.web.http.bodies.telemetry_request import (
    RECORDS_ANSWERED_ON_LOOP_MAX,
    RECORDS_FREED_AT_ONCE,
    rendered,
)
from vedette.web.http.services import Services


@pytest.mark.parametrize("portions", [2, 7.5])
def test_what_an_answer_was_made_of_is_freed_by_the_thread_that_made_it(portions: float) -> None:
    records = [str(number) for number in range(int(portions * RECORDS_FREED_AT_ONCE))]
    count = max(len(records), RECORDS_ANSWERED_ON_LOOP_MAX + 1)

    async def answered() -> str:
        here = cast(Services, SimpleNamespace(splits=CapacityLimiter(1)))
        return await rendered(here, count, lambda: records[-1], records)

    last = records[-1]
    assert asyncio.run(answered()) == last
    assert records == []
