"""Update orders: only a newer version, signed with the key that the sensor holds."""

import base64
from typing import Any

import pytest

from tests.support.linux_server import Signer
from vedette.sensor import SENSOR_VERSION
from vedette.sensor.response.update import UpdateError, parse, version_number

CONTENT = b"a newer sensor"
SIGNER = Signer()
KEY = base64.b64decode(SIGNER.public_text)


def _refusal(order: dict[str, Any], key: bytes | None = KEY) -> str:
    try:
        parse(order).check(key)
    except UpdateError as error:
        return str(error)
    return ""


def test_a_newer_version_with_a_good_signature_is_taken() -> None:
    assert _refusal(SIGNER.order(CONTENT, "1.0.1")) == ""
    assert _refusal(SIGNER.order(CONTENT, "1.0.0.1")) == ""
    assert _refusal(SIGNER.order(CONTENT, "10.0")) == ""


@pytest.mark.parametrize("version", [SENSOR_VERSION, "1.0", "1", "0.9.9", "0", "1.0.0.0"])
def test_an_older_or_equal_version_is_refused_however_well_it_is_signed(version: str) -> None:
    assert "not newer" in _refusal(SIGNER.order(CONTENT, version))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"signature": None}, "not signed"),
        ({"signature": ""}, "not signed"),
        ({"signature": "?"}, "not base64"),
        ({"signature": base64.b64encode(bytes(64)).decode()}, "does not fit"),
        ({"signature": "A" * 10**6}, "does not fit"),
        ({"version": "1.0.2"}, "does not fit"),
        ({"version": "1.0.1\n"}, "not a version"),
        ({"version": "1.0.1-rc"}, "not a version"),
        ({"version": "9" * 5_000}, "not a version"),
        ({"version": "²"}, "not a version"),
        ({"version": None}, "not a version"),
        ({"sha256": "0" * 64}, "does not fit"),
        ({"sha256": "x"}, "no SHA-256"),
        ({"sha256": "A" * 64}, "no SHA-256"),
        ({"url_path": "//elsewhere/x"}, "not a path"),
        ({"url_path": "https://elsewhere/x"}, "not a path"),
    ],
)
def test_an_unsigned_or_altered_order_is_refused_with_its_reason(
    change: dict[str, Any], reason: str
) -> None:
    assert reason in _refusal({**SIGNER.order(CONTENT, "1.0.1"), **change})


def test_an_order_signed_with_another_key_is_refused() -> None:
    assert "does not fit" in _refusal(Signer().order(CONTENT, "1.0.1"))


def test_a_sensor_without_a_key_refuses_every_update() -> None:
    assert "no update_public_key" in _refusal(SIGNER.order(CONTENT, "1.0.1"), None)


def test_what_is_signed_cannot_be_split_in_another_way() -> None:
    order = SIGNER.order(CONTENT, "1.0.1")
    moved = {**order, "version": f"1.0.1\n{order['sha256']}"}
    assert "not a version" in _refusal(moved)


def test_versions_compare_as_numbers() -> None:
    assert version_number("1.10") > version_number("1.9.9")
    assert version_number("1.2") == version_number("1.2.0")
