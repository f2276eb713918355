"""Enrollment of the Linux sensor: its old key, a pending approval, its update key."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.linux_sensor import write_settings
from tests.support.linux_server import PlayedServer, Signer, played_server
from vedette.sensor.limits import ENROL_S, ENROL_S_MAX
from vedette.sensor.settings import read_settings
from vedette.sensor.transport.https_client import Client, ServerUnavailableError
from vedette.sensor.transport.identity import Identity


@pytest.fixture
def played(tmp_path: Path) -> Iterator[PlayedServer]:
    with played_server(tmp_path / "server") as made:
        yield made


def _sensor(played: PlayedServer, folder: Path, **more: object) -> tuple[Identity, Client]:
    path = write_settings(played.server, folder, "e.example", group_secret="s", **more)
    settings = read_settings(path)
    return Identity(folder / "identity.json", settings), Client(settings)


def test_a_new_sensor_sends_no_previous_key(played: PlayedServer, tmp_path: Path) -> None:
    identity, client = _sensor(played, tmp_path)
    assert identity.credential(client) == "7:key-0"
    assert "previous_key" not in played.enrolments[0]
    client.close()


def test_a_sensor_whose_key_is_refused_enrols_with_it(played: PlayedServer, tmp_path: Path) -> None:
    first, client = _sensor(played, tmp_path)
    first.credential(client)
    identity, _ = _sensor(played, tmp_path)
    identity.invalidate("7:key-0")
    assert identity.credential(client) == "7:key-1"
    assert played.enrolments[-1]["previous_key"] == "key-0"
    identity.invalidate("7:key-0")  # another thread's request, answered late
    assert identity.credential(client) == "7:key-1"
    client.close()


def test_a_key_of_another_server_is_not_sent(played: PlayedServer, tmp_path: Path) -> None:
    identity, client = _sensor(played, tmp_path)
    identity.credential(client)
    identity, other = _sensor(played, tmp_path, server_url=f"{played.url}/other")
    assert identity.sensor_id == 0
    client.close()
    other.close()


def test_an_approval_is_waited_for_with_growing_pauses_and_logged(
    played: PlayedServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pending = {"reason": "reenrolment_pending", "message": "ask an administrator"}
    played.enrol_answers = [(409, pending)]
    identity, client = _sensor(played, tmp_path)
    pauses = []
    with caplog.at_level(logging.WARNING):
        for _ in range(8):
            with pytest.raises(ServerUnavailableError, match="administrator's approval") as refused:
                identity.credential(client)
            pauses.append(refused.value.retry_after_s)
            with pytest.raises(ServerUnavailableError, match="administrator's approval"):
                identity.credential(client)  # before its time: nothing is sent
            identity._enrol_at = 0.0
    assert len(played.enrolments) == 8
    assert ENROL_S / 2 < pauses[0] < pauses[4] <= pauses[-1] + ENROL_S_MAX / 2
    assert max(pauses) <= ENROL_S_MAX
    assert "waits for an administrator's approval" in caplog.text
    played.enrol_answers = [(200, {})]
    assert identity.credential(client) == "7:key-0"
    client.close()


def test_the_update_key_of_the_first_enrolment_stays_for_ever(
    played: PlayedServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = Signer().public_text, Signer().public_text
    played.enrol_answers = [
        (200, {"update_public_key": first}),
        (200, {"update_public_key": second}),
    ]
    identity, client = _sensor(played, tmp_path)
    identity.credential(client)
    held = identity.update_key
    assert held is not None
    identity.invalidate("7:key-0")
    identity._enrol_at = 0.0
    identity.credential(client)
    assert identity.update_key == held
    assert "a different update key" in caplog.text
    assert _sensor(played, tmp_path)[0].update_key == held
    client.close()


def test_the_update_key_of_the_settings_stands_above_all(
    played: PlayedServer, tmp_path: Path
) -> None:
    played.enrol_answers = [(200, {"update_public_key": Signer().public_text})]
    identity, client = _sensor(played, tmp_path, update_public_key=Signer().public_text)
    before = identity.update_key
    identity.credential(client)
    assert identity.ensure_update_key(client) == before
    assert len(played.enrolments) == 1
    client.close()


@pytest.mark.parametrize("offered", ["", "AAAA", 5, "A" * 43 + "=", None])
def test_an_update_key_that_is_none_is_not_taken(
    played: PlayedServer, tmp_path: Path, offered: object
) -> None:
    played.enrol_answers = [(200, {"update_public_key": offered})]
    identity, client = _sensor(played, tmp_path)
    identity.credential(client)
    assert identity.update_key is None
    client.close()


def test_a_sensor_from_before_update_keys_gets_one_by_enrolling_again_once(
    played: PlayedServer, tmp_path: Path
) -> None:
    played.enrol_answers = [
        (200, {}),
        (200, {}),
        (200, {"update_public_key": Signer().public_text}),
    ]
    identity, client = _sensor(played, tmp_path)
    identity.credential(client)
    assert identity.ensure_update_key(client) is None
    assert identity.ensure_update_key(client) is None
    assert [one.get("previous_key") for one in played.enrolments] == [None, "key-0"]
    identity._update_key_at = 0.0
    assert identity.ensure_update_key(client) is not None
    assert identity.credential(client) == "7:key-2"
    assert _sensor(played, tmp_path)[0].update_key == identity.update_key
    client.close()


def test_a_refused_enrolment_for_the_update_key_leaves_the_sensor_enrolled(
    played: PlayedServer, tmp_path: Path
) -> None:
    played.enrol_answers = [(200, {}), (401, {"reason": "revoked"})]
    identity, client = _sensor(played, tmp_path)
    identity.credential(client)
    assert identity.ensure_update_key(client) is None
    assert identity.credential(client) == "7:key-0"
    client.close()
