"""Binaries with the public client `cbapi`, unmodified (docs/clients.md#requests)."""

from typing import Any

import pytest

from tests.support.served import Server
from tests.support.sysmon import Story, story

# cbapi 2.0 was written for older urllib3, attrdict and Python: what it warns of is its own.
pytestmark = pytest.mark.filterwarnings("ignore")

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
