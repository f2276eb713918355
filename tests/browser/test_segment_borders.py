"""The timeline of an analysis marks where the segments of the process begin."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.api.analysis.conftest import Analysed, launch_analysed
from tests.browser.conftest import Visiting, until
from tests.browser.test_long_timeline import HOLD
from tests.support.served import Server


@pytest.fixture(scope="module")
def analysed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Analysed]:
    yield from launch_analysed(tmp_path_factory.mktemp("borders"))


@pytest.fixture(scope="module")
def server(analysed: Analysed) -> Server:
    return analysed.server


def test_the_first_event_of_each_further_segment_is_a_border(
    visiting: Visiting, analysed: Analysed
) -> None:
    with visiting() as visit:
        page = visit.open(f"/ui/process/{analysed.id}")
        page.wait_for_selector("[data-loaded]")
        visit.settle()
        page.evaluate(HOLD)
        until(page, "Boolean(window.line)")
        began_ms = analysed.process.started_s * 1_000
        borders = page.evaluate("line.borders")
        assert borders == pytest.approx([began_ms + 10_000, began_ms + 70_000], abs=1)
        with_borders = page.evaluate("line.canvas.toDataURL()")
        page.evaluate("line.borders = []; line.draw()")
        assert page.evaluate("line.canvas.toDataURL()") != with_borders
        page.reload()
        page.wait_for_selector("[data-loaded]")
        page.click("#timeline-twin summary")
        # The table is written at the event `toggle`, which comes after the click has returned.
        expect(page.locator("#timeline-table td:has-text('record starts')")).to_have_count(2)
