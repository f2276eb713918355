"""`vedette doctor` says when detection lags behind what arrives."""

from pathlib import Path

import pytest

from tests.contract.pipeline.requests import sysmon
from tests.contract.pipeline.write_path import WritePath
from vedette.clock import DrivenClock
from vedette.doctor.detection import check_detection
from vedette.state.db.database import open_database
from vedette.state.jobs import watermarks


@pytest.mark.parametrize(
    ("minutes", "behind", "severity"),
    [(1, 1, "ok"), (9, 1, "warning"), (99, 1, "error"), (99, 0, "ok")],
)
def test_how_long_the_oldest_commit_waits_for_its_judges(
    path: WritePath, clock: DrivenClock, tmp_path: Path, minutes: int, behind: int, severity: str
) -> None:
    path.post(sysmon())
    seq = path.engine.query("SELECT max(seq) FROM segment").rows[0][0]
    clock.advance(minutes * 60)
    database = open_database("", tmp_path)
    try:
        with database.writing() as connection:
            watermarks.save(connection, "watchlists", seq - behind)
        (found,) = check_detection(path.engine, database, clock.now_us())
    finally:
        database.close()
    assert found.severity == severity
    assert bool(found.remedy) == (severity != "ok")
    assert ("watchlists are" in found.text) == (severity != "ok")
