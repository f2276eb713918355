"""A trial of a filter is answered in lines: how far it is, then what came of it."""

import asyncio
from typing import Any

import orjson
import pytest

from vedette.errors import UnavailableError
from vedette.web.policy import filter_trials_routes
from vedette.web.policy.filter_trials_routes import lines_of

FAR = {"looking_at": "processes", "done": 10, "of": 20}


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filter_trials_routes, "DRY_RUN_PROGRESS_S", 0.001)


def lines(end: Any) -> list[dict[str, Any]]:
    """All lines of a trial that has this end, after two about its progress."""

    async def answered() -> list[dict[str, Any]]:
        trial: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        found = []
        async for line in lines_of(trial, FAR):
            assert line.endswith(b"\n")
            found.append(orjson.loads(line))
            if len(found) == 2:
                if isinstance(end, Exception):
                    trial.set_exception(end)
                else:
                    trial.set_result(end)
        return found

    return asyncio.run(answered())


def test_the_last_line_is_the_result() -> None:
    assert lines({"dry_run": True}) == [{"progress": FAR}, {"progress": FAR}, {"dry_run": True}]


def test_what_went_wrong_is_the_last_line() -> None:
    *_, last = lines(UnavailableError("too late", reason="deadline"))
    assert last == {"reason": "deadline", "message": "too late"}


def test_a_trial_that_nobody_reads_ends() -> None:
    async def left() -> bool:
        trial: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        answer = lines_of(trial, FAR)
        await anext(answer)
        await answer.aclose()
        return trial.cancelled()

    assert asyncio.run(left())
