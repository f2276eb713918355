"""The starter pack over the simulated company: every attack is found, an ordinary day is quiet."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import vedette.detect
from tests.support.fleet_log import START_US
from vedette.cli.main import app
from vedette.simulate.day import iter_events
from vedette.simulate.fleet import build_fleet
from vedette.simulate.stories import STORIES
from vedette.simulate.story import Story

PACK = Path(vedette.detect.__path__[0]) / "starter"
FLEET = build_fleet(1, 60)
QUIET_EVENTS = 40_000
MONTH_EVENTS = 80_000


def _hits(folder: Path, events: int, hours: float, stories: Sequence[Story]) -> list[Any]:
    """Returns the hits of `sigma scan` in these hours of the simulated company."""
    log = folder / "day.json"
    with log.open("wb") as file:
        for at_us, stream, body in iter_events(
            FLEET, START_US, hours=hours, events=events, stories=stories
        ):
            file.write(b"".join(stream.frame(at_us, body)).partition(b"\n")[2])
    result = CliRunner().invoke(app, ["sigma", "scan", str(PACK), str(log), "--json"])
    assert result.exit_code == 0, result.output
    hits: list[Any] = json.loads(result.stdout)
    return hits


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_every_attack_is_found_by_rules_of_level_high(story: Story, tmp_path: Path) -> None:
    hits = _hits(tmp_path, 500, 1, (story,))
    severe = [hit for hit in hits if hit["level"] in {"high", "critical"}]
    assert len({hit["rule_id"] for hit in severe}) >= 2
    assert {hit["host"] for hit in severe} <= {FLEET.first(role).name for _, role in story.hosts}
    assert {technique for hit in severe for technique in hit["techniques"]} & set(story.techniques)


def test_an_ordinary_day_is_quiet(tmp_path: Path) -> None:
    hits = _hits(tmp_path, QUIET_EVENTS, 24, ())
    assert Counter(hit["title"] for hit in hits) == {}


def test_a_month_raises_less_than_one_alert_per_host(tmp_path: Path) -> None:
    hits = _hits(tmp_path, MONTH_EVENTS, 30 * 24, ())
    by_host = Counter(hit["host"] for hit in hits)
    assert max(by_host.values(), default=0) < 1, Counter(hit["title"] for hit in hits)
