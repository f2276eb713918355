"""Fixtures of alerting: a real engine, a real state database, a controlled clock."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import insert

from tests.support.started_state import open_started_state
from vedette.clock import DrivenClock
from vedette.state.db.database import Database
from vedette.state.db.schema import GROUP, SENSOR

NOW_US = 1_700_000_400_000_000


@pytest.fixture
def clock() -> DrivenClock:
    return DrivenClock(NOW_US)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """The state of a server with three sensors: two in the default group, one in another."""
    opened = open_started_state(tmp_path, NOW_US)
    with opened.writing() as connection:
        connection.execute(insert(GROUP).values(id=2, name="Finance", site_id=1))
        for number, group in ((1, 1), (2, 1), (3, 2)):
            connection.execute(
                insert(SENSOR).values(
                    id=number,
                    hostname=f"ws-{number}.corp.test",
                    computer_name=f"WS-{number}",
                    group_id=group,
                    os_type="windows",
                    interface_ip=f"10.0.0.{number}",
                    network_isolation_enabled=False,
                    is_isolating=False,
                    restart_queued=False,
                    uninstall=False,
                )
            )
    yield opened
    opened.close()
