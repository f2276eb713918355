"""Checks of `vedette doctor` on the state database, on both databases."""

from pathlib import Path

import pytest
from sqlalchemy import insert, update

from tests.contract.conftest import on_sqlite
from tests.contract.state.conftest import NOW_US
from vedette import limits
from vedette.doctor.finding import worst
from vedette.doctor.fleet import (
    DOCTOR_NAMES_MAX,
    check_database,
    check_quotas,
    check_sensors,
    check_tokens,
)
from vedette.model.host import Sighting
from vedette.settings import Settings
from vedette.state.accounts import tokens, users
from vedette.state.db.database import Database
from vedette.state.db.schema import CHANNEL, SENSOR, TOKEN
from vedette.state.files.stored_files import StoredFile, add
from vedette.state.sensors.host_registry import Sensors

DAY_US = 86_400 * 1_000_000
HOSTS = DOCTOR_NAMES_MAX + 5


def test_a_started_database_is_whole(database: Database) -> None:
    assert worst(check_database(database)) == "ok"
    assert worst(check_tokens(database, NOW_US)) == "ok"
    assert worst(check_sensors(database, NOW_US)) == "ok"
    assert worst(check_quotas(database, Settings())) == "ok"


def test_silent_sensors_are_counted_and_the_longest_silent_are_named(database: Database) -> None:
    names = [f"h{number:02}.example" for number in range(HOSTS)]
    refs = Sensors(database).resolve({name: Sighting() for name in names}, 1, NOW_US)
    with database.writing() as connection:
        for number, name in enumerate(names):
            connection.execute(
                update(SENSOR)
                .where(SENSOR.c.id == refs[name].id)
                .values(last_seen_us=NOW_US - (100 - number) * DAY_US)
            )
    (found,) = check_sensors(database, NOW_US)
    assert found.severity == "warning"
    assert found.text.startswith(f"{HOSTS} of {HOSTS} sensors")
    assert found.text.index(names[0]) < found.text.index(names[1])
    assert names[-1] not in found.text
    with database.writing() as connection:
        connection.execute(update(SENSOR).values(uninstalled_us=1))
    assert worst(check_sensors(database, NOW_US)) == "ok"


@pytest.mark.parametrize(("copied", "severity"), [(790, "ok"), (800, "warning"), (1_000, "error")])
def test_quotas_warn_before_they_are_full(database: Database, copied: int, severity: str) -> None:
    sender = Sensors(database).resolve({"h.example": Sighting()}, 1, NOW_US)["h.example"].id
    add(database, StoredFile("a" * 64, 0, "b" * 32, "x", copied, copied, "a" * 64), sender, NOW_US)
    assert worst(check_quotas(database, Settings(copied_files_bytes_max=1_000))) == severity
    assert worst(check_quotas(database, Settings(copied_files_bytes_max=0))) == "ok"


def test_channel_names_that_are_used_up_are_an_error(database: Database) -> None:
    with database.writing() as connection:
        connection.execute(insert(CHANNEL), {"code": limits.CHANNELS_MAX, "name": "made up"})
    (found,) = check_quotas(database, Settings())
    assert (found.severity, found.text) == ("error", "32767 of 32767 channel names")


def test_that_people_are_signed_in_is_no_warning(database: Database) -> None:
    tokens.begin_session(database, users.id_of(database, "admin"), "a browser", NOW_US)
    with database.writing() as connection:
        connection.execute(update(TOKEN).values(last_used_us=NOW_US))
    assert worst(check_tokens(database, NOW_US)) == "ok"


def test_only_tokens_in_use_that_end_soon_are_named(database: Database) -> None:
    soon = NOW_US + 3 * DAY_US
    new = tokens.NewToken("ingest", "shippers", group_id=1, expires_us=soon)
    issued = tokens.issue(database, new, NOW_US)
    assert worst(check_tokens(database, NOW_US)) == "ok"
    with database.writing() as connection:
        mine = TOKEN.c.id == issued.id
        connection.execute(update(TOKEN).where(mine).values(last_used_us=NOW_US - DAY_US))
    (found,) = check_tokens(database, NOW_US)
    assert found.severity == "warning"
    assert "shippers" in found.text
    tokens.revoke(database, issued.id, NOW_US)
    assert worst(check_tokens(database, NOW_US)) == "ok"


@on_sqlite
def test_a_garbled_file_is_damaged_and_the_other_checks_say_that_they_cannot_answer(
    database: Database, tmp_path: Path
) -> None:
    """PostgreSQL looks after its files itself."""
    assert worst(check_database(database)) == "ok"
    database.close()
    path = tmp_path / "state.db"
    content = path.read_bytes()
    path.write_bytes(content[:8_192] + b"x" * 40_960 + content[49_152:])
    (found,) = check_database(database)
    assert found.severity == "error"
