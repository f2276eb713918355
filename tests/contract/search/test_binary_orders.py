"""Selection of the sensors from which a file is ordered, on a real store and state."""

from pathlib import Path

import pytest
from sqlalchemy import insert

from tests.support.started_state import open_started_state
from vedette.errors import ForbiddenError
from vedette.model.event import BinarySeen
from vedette.model.principal import Principal, Role
from vedette.model.scope import EVERYTHING
from vedette.record.objects.sensor_group import GroupOptions
from vedette.respond.binary_requests import request_file
from vedette.state.db.schema import SENSOR
from vedette.state.files import binary_orders
from vedette.state.files.binary_orders import OrderedFile
from vedette.state.policy import groups
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.write.commit import BinaryRow, Commit
from vedette.store.write.insert import write_commit

NOW_US = 1_700_000_000_000_000
SHIPPERS = 1_100
OWN = SHIPPERS + 1
FILE = OrderedFile("ab" * 16, "cd" * 32)


def sensor(number: int, group_id: int, key: bytes | None = None) -> dict[str, object]:
    flags = dict.fromkeys(
        ("network_isolation_enabled", "is_isolating", "restart_queued", "uninstall"), False
    )
    name = f"ws-{number}"
    names = {"hostname": f"{name}.example", "computer_name": name, "os_type": "linux"}
    return {"id": number, "group_id": group_id, "key_sha256": key, **names, **flags}


def sighting(number: int) -> BinaryRow:
    """Returns a sighting. Those of shippers' hosts are newer than that of the sensor."""
    at_us = NOW_US - (1_000_000 if number == OWN else 0)
    seen = BinarySeen(at_us, FILE.md5, FILE.sha256, "", f"/opt/{number}", {})
    return BinaryRow(number, f"ws-{number}", "G", "linux", seen, NOW_US, 1)


def test_the_one_sensor_that_can_send_a_file_is_found_behind_a_thousand_other_hosts(
    engine: ClickHouseEngine, tmp_path: Path
) -> None:
    database = open_started_state(tmp_path, NOW_US)
    group = groups.add(database, "sends", options=GroupOptions(binary_orders="asked"))
    with database.writing() as connection:
        rows = [sensor(number, groups.DEFAULT_GROUP_ID) for number in range(1, OWN)]
        connection.execute(insert(SENSOR), [*rows, sensor(OWN, group.id, bytes(32))])
    write_commit(engine, Commit(binaries=[sighting(number) for number in range(1, OWN + 1)]))
    analyst = Principal("user", "ann", "T", roles=((group.id, Role.ANALYST),))
    request_file(engine, database, analyst, EVERYTHING, FILE, NOW_US, NOW_US + 10**9)
    (order,) = binary_orders.of_file(database, FILE, EVERYTHING, NOW_US)
    assert (order.sensor_id, order.username) == (OWN, "ann")
    (handed,) = binary_orders.hand_out(database, OWN, NOW_US)
    assert handed["paths"] == [f"/opt/{OWN}"]
    stranger = Principal("user", "bob", "T", roles=((77, Role.ANALYST),))
    with pytest.raises(ForbiddenError):
        request_file(engine, database, stranger, EVERYTHING, FILE, NOW_US, NOW_US + 10**9)
    database.close()
