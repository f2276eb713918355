"""The server stores event records of these channels although they describe no process."""

import pytest

from vedette.ingest import channels
from vedette.ingest.channels import canonical
from vedette.ingest.context.host_context import HostContext
from vedette.ingest.normalise import SOURCES
from vedette.ingest.normalise.keep import KEEP
from vedette.ingest.record import Record
from vedette.model.event import Kept

EXAMPLES = (
    ("Microsoft-Windows-WinRM/Operational", 6),
    ("Microsoft-Windows-TerminalServices-RDPClient/Operational", 1024),
    ("Microsoft-Windows-AppXDeploymentServer/Operational", 401),
    ("Microsoft-Windows-AppxPackaging/Operational", 157),
    ("Microsoft-Windows-AppLocker/Packaged app-Execution", 8022),
    ("MSExchange Management", 6),
    ("Microsoft-Windows-LSA/Operational", 300),
    ("DNS Server", 770),
    ("Microsoft-Windows-VHDMP/Operational", 1),
    ("RPCFW", 3),
    ("Microsoft-Windows-DHCP-Server/Operational", 1033),
    ("Microsoft-Windows-BitLocker/BitLocker Management", 768),
    ("Microsoft-Windows-SMBServer/Audit", 3000),
)


def outcomes(channel: str, event_id: int, level: int = 0) -> list[object]:
    data = {"connection": "http://srv/wsman"}
    name = canonical(channel)
    record = Record("windows", "h", 1_000_000, name, event_id, data=data, level=level)
    return list(SOURCES["windows"].normalise(record, HostContext(1), KEEP))


@pytest.mark.parametrize(("channel", "event_id"), EXAMPLES)
@pytest.mark.parametrize("spelling", [str, str.lower])
def test_a_record_is_stored_however_its_channel_is_spelt(
    channel: str, event_id: int, spelling: type[str]
) -> None:
    (kept,) = outcomes(spelling(channel), event_id)
    assert isinstance(kept, Kept)
    assert (kept.channel, kept.event_id) == (channel, event_id)
    assert kept.fields == {"connection": "http://srv/wsman"}


def test_steps_of_a_remote_desktop_connection_are_not_stored() -> None:
    assert outcomes(channels.RDP_CLIENT, 226) == []


@pytest.mark.parametrize(
    ("level", "name"), [(0, ""), (2, "error"), (4, "information"), (9, ""), (-1, "")]
)
def test_a_record_keeps_the_name_of_its_level(level: int, name: str) -> None:
    (kept,) = outcomes(channels.WINRM, 6, level)
    assert isinstance(kept, Kept)
    assert kept.level == name
