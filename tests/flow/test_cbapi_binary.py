"""Binaries with the public client `cbapi`, unmodified (docs/clients.md#requests)."""

import hashlib
import os
from typing import Any

import pytest

from tests.flow.conftest import ONE_SERVER
from tests.support.program_files import SYSTEM_PROGRAM
from tests.support.sensor import enrol, event, sending_secret
from tests.support.served import Server
from tests.support.sysmon import Story, story
from vedette.clock import SystemClock

# cbapi 2.0 was written for older urllib3, attrdict and Python: what it warns of is its own.
pytestmark = [ONE_SERVER, pytest.mark.filterwarnings("ignore")]

AMSI = "AB" * 16


@pytest.fixture(scope="module")
def sent_story(server: Server) -> Story:
    """A story that is stored once its post is answered."""
    tale = story("cbapi-binary.corp.example")
    with server.sender() as client:
        assert client.post("/api/v1/ingest", json=tale.records).status_code == 200
    return tale


def test_a_binary_is_selected_by_its_hash(cb: Any, sent_story: Story) -> None:
    from cbapi.response import Binary

    found = cb.select(Binary, AMSI.lower())
    assert found.signed
    assert found.signing_data.publisher == "Microsoft Windows"
    assert found.observed_filenames == ["C:\\Windows\\System32\\amsi.dll"]
    assert (found.size, found.is_64bit, found.is_executable_image) == (0, None, True)
    assert found.version_info.product_name == ""
    assert sent_story.host.name in {sensor.computer_name for sensor in found.endpoints}


def test_every_binary_of_a_search_is_met_once(cb: Any, sent_story: Story) -> None:
    from cbapi.response import Binary

    query = cb.select(Binary).where(f"hostname:{sent_story.host.name}")
    met = [binary.md5sum for binary in query]
    assert len(query) == len(met) == len(set(met)) >= 4
    assert AMSI in met


def test_facets_are_read(cb: Any, sent_story: Story) -> None:
    from cbapi.response import Binary

    facets = cb.select(Binary).where(f"md5:{AMSI}").facets("digsig_result", "hostname")
    assert [one["name"] for one in facets["digsig_result"]] == ["Signed"]
    assert float(facets["hostname"][0]["ratio"]) > 0


def test_an_unknown_binary_is_not_found(cb: Any) -> None:
    from cbapi.errors import ObjectNotFoundError
    from cbapi.response import Binary

    with pytest.raises(ObjectNotFoundError):
        cb.select(Binary, "12" * 16, force_init=True)


def test_a_process_leads_to_its_binary_and_how_common_it_is(cb: Any, sent_story: Story) -> None:
    from cbapi.response import Process

    (found,) = cb.select(Process).where(f"process_name:whoami.exe hostname:{sent_story.host.name}")
    binary = found.binary
    assert binary.md5sum == sent_story.whoami.md5.upper()
    assert any(path.lower().endswith("whoami.exe") for path in binary.observed_filenames)
    frequency = binary.frequency
    assert frequency.computer_count >= 1
    assert frequency.process_count >= 1
    assert 0 < frequency.module_frequency <= 1


def test_a_process_is_found_by_the_signature_of_a_module(cb: Any, sent_story: Story) -> None:
    from cbapi.response import Process

    query = f"digsig_result_modload:Signed hostname:{sent_story.host.name}"
    (found,) = cb.select(Process).where(query)
    (module,) = found.modloads
    assert module.is_signed


def test_an_icon_is_drawn(cb: Any, sent_story: Story) -> None:
    from cbapi.response import Binary

    assert cb.select(Binary, AMSI).icon.startswith(b"\x89PNG\r\n\x1a\n")


@pytest.fixture(scope="module")
def copied(server: Server) -> bytes:
    """A program that a sensor has run and sent."""
    content = SYSTEM_PROGRAM.read_bytes() + os.urandom(16)
    md5, sha256 = hashlib.md5(content).hexdigest(), hashlib.sha256(content).hexdigest()
    with server.client() as client:
        sensor = enrol(client, "cbapi-copied.corp.example", sending_secret(server))
        now_us = SystemClock().now_us()
        run = {"path": "/opt/copied", "cmdline": "copied", "md5": md5, "sha256": sha256}
        sensor.send([event("start", now_us, 4711, now_us, **run)])
        file = {"sha256": sha256, "md5": md5, "size": len(content), "path": "/opt/copied"}
        assert sensor.post("binaries/offer", {"files": [file]}).json()["want"]
        answer = client.put(
            f"/sensor/v1/binaries/{sha256}",
            params={"offset": "0"},
            content=content,
            headers=sensor.headers,
        )
        assert answer.status_code == 200, answer.text
    return content


def test_the_file_of_a_binary_is_what_the_host_has(cb: Any, copied: bytes) -> None:
    from cbapi.response import Binary

    found = cb.select(Binary, hashlib.md5(copied).hexdigest().upper())
    assert found.file.read() == copied
    assert [one.computer_name for one in found.endpoints] == ["cbapi-copied.corp.example"]


def test_a_ban_is_seen_at_its_binary(cb: Any, copied: bytes) -> None:
    from cbapi.response import BannedHash, Binary

    found: Any = cb.select(Binary, hashlib.md5(copied).hexdigest().upper())
    assert not found.banned
    ban = cb.create(BannedHash)
    ban.md5hash, ban.text, ban.enabled = found.md5sum.lower(), "unwanted", True
    ban.save()
    assert found.banned.text == "unwanted"
    assert found.banned.enabled
    ban.delete()
    assert not found.banned.enabled  # the record of a ban stays
