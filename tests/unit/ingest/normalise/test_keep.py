"""Which records are kept, and how."""

from typing import Any

import pytest

from tests.unit.ingest.normalise.events import AT_US, other, outcomes
from vedette.ingest import channels
from vedette.ingest.context.host_context import HostContext
from vedette.ingest.normalise import SOURCES
from vedette.ingest.normalise.keep import KEEP
from vedette.ingest.normalise.normaliser import Keep
from vedette.model.event import Kept


@pytest.mark.parametrize(
    ("channel", "event_id"),
    [
        (channels.SYSMON, 19),
        (channels.SECURITY, 1102),
        (channels.SECURITY, 4625),
        (channels.SECURITY, 4720),
        (channels.SYSTEM, 104),
        (channels.SYSTEM, 7045),
        (channels.POWERSHELL, 4103),
        (channels.POWERSHELL_CLASSIC, 400),
        (channels.DEFENDER, 1116),
        (channels.TASKS, 106),
        (channels.WMI, 5861),
    ],
)
def test_what_detection_asks_for_is_kept_by_default(channel: str, event_id: int) -> None:
    assert KEEP.keeps(channel, event_id)


@pytest.mark.parametrize(
    ("channel", "event_id"),
    [
        (channels.SECURITY, 4658),
        (channels.SECURITY, 4690),
        (channels.SECURITY, 5158),
        (channels.POWERSHELL, 4105),
        (channels.SYSTEM, 10016),
        ("Some/Channel", 1),
    ],
)
def test_chatter_is_not_kept_by_default(channel: str, event_id: int) -> None:
    assert not KEEP.keeps(channel, event_id)
    assert outcomes(other(channel, event_id, A="b")) == []


def test_a_setting_replaces_the_default() -> None:
    keep = Keep.of(("Some/Channel",), ())
    record = other("Some/Channel", 1, A="b")
    found = SOURCES["windows"].normalise(record, HostContext(1), keep)
    assert found == [Kept(AT_US, "Some/Channel", 1, 0, "p", {"A": "b"})]


def test_kept_values_are_text_and_nested_ones_are_left_out() -> None:
    data: dict[str, Any] = {"A": 5, "B": True, "C": None, "D": [1], "E": "", "F": "x", "G": 1.5}
    (found,) = outcomes(other(channels.DEFENDER, 1116, **data))
    assert isinstance(found, Kept)
    assert found.fields == {"A": "5", "B": "true", "F": "x", "G": "1.5"}


def test_the_envelope_of_flat_wrappers_is_no_event_data() -> None:
    envelope: dict[str, Any] = {
        "EventID": 1102,
        "Hostname": "a",
        "SourceModuleType": "im",
        "Keywords": -1,
    }
    data: dict[str, Any] = {"SubjectUserName": "ann", "Message": "The audit log was cleared."}
    (found,) = outcomes(other(channels.SECURITY, 1102, **envelope, **data))
    assert isinstance(found, Kept)
    assert found.fields == {"SubjectUserName": "ann"}


def test_the_message_is_kept_where_there_is_nothing_else() -> None:
    envelope: dict[str, Any] = {"EventID": 400, "Hostname": "a", "AccountName": "ann"}
    (found,) = outcomes(other(channels.POWERSHELL_CLASSIC, 400, **envelope, Message="text"))
    assert isinstance(found, Kept)
    assert found.fields == {"AccountName": "ann", "Message": "text"}
