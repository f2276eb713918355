"""One event of Windows gives the same facts and the same values to rules, whoever sends it and
whatever modules and pipelines did to it."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support import windows_events, winlog_modules
from tests.support.windows_events import CLASSIC, EVENTS, WindowsEvent
from tests.unit.detect.rules import rule
from tests.unit.ingest.normalise.events import outcomes
from vedette.detect.rule_set import RuleSet
from vedette.detect.views.windows import event_of_record
from vedette.ingest.decode import decode
from vedette.ingest.framing.body import split_body
from vedette.ingest.record import Record
from vedette.limits import MODULE_LIST_ITEMS_MAX
from vedette.model.event import Kept

_COMPUTER = "desk-31"
_TIME = "2023-11-02T13:04:05.678Z"


def _module_7(event: WindowsEvent) -> dict[str, Any]:
    return winlog_modules.module_7(windows_events.winlogbeat(event, _COMPUTER, _TIME))


def _pipeline_8(event: WindowsEvent) -> dict[str, Any]:
    return winlog_modules.pipeline_8(windows_events.winlogbeat(event, _COMPUTER, _TIME))


def _wrapper(make: Callable[[WindowsEvent, str, str], Any]) -> Callable[[WindowsEvent], Any]:
    return lambda event: make(event, _COMPUTER, _TIME)


def _csv_row(event: WindowsEvent) -> Any:
    (row,) = split_body(windows_events.evtxecmd_csv(event, _COMPUTER, _TIME).encode())
    return json.loads(row)


FORMS: dict[str, Callable[[WindowsEvent], Any]] = {
    "Winlogbeat": _wrapper(windows_events.winlogbeat),
    "Winlogbeat 6": _wrapper(windows_events.winlogbeat_6),
    "module of Winlogbeat 7": _module_7,
    "pipeline of Winlogbeat 8": _pipeline_8,
    "NXLog": _wrapper(windows_events.nxlog),
    "Get-WinEvent": _wrapper(windows_events.get_winevent),
    "Azure": _wrapper(windows_events.azure),
    "XML in a shipper's record": lambda event: {
        "message": windows_events.event_xml(event, _COMPUTER, _TIME)
    },
    "Wazuh": _wrapper(windows_events.wazuh),
    "EvtxECmd": _wrapper(windows_events.evtxecmd),
    "EvtxECmd, CSV": _csv_row,
}


_WITHOUT_PARAMETERS = frozenset({"NXLog", "Wazuh", "EvtxECmd", "EvtxECmd, CSV"})
"""Senders that drop or join values without names."""


def _decoded(document: Any) -> Record:
    (record,) = decode(json.dumps(document, separators=(",", ":")).encode())
    return record


def _plain(value: Any) -> Any:
    """A value without what senders may write as they like: braces of GUIDs, ends of lines, and
    markers of unknown values, which the pipeline of version 8 drops."""
    if isinstance(value, dict):
        return {name: text for name, one in value.items() if (text := _plain(one)) != ""}
    if not isinstance(value, str):
        return value
    lines = [line.rstrip() for line in value.strip("{}\n").split("\n")]
    text = "\n".join(lines)
    return "" if text in {"-", "00000000-0000-0000-0000-000000000000"} else text


def _facts(record: Record) -> list[Any]:
    found: list[Any] = []
    for outcome in outcomes(record):
        if isinstance(outcome, Kept):
            outcome.fields = _plain(outcome.fields)
        found.append(outcome)
    return found


_ALSO = (
    "EventID",
    "Channel",
    "Provider_Name",
    "Computer",
    "Data",
    "query",
    "answer",
    "record_type",
    "md5",
    "sha1",
    "sha256",
    "imphash",
    "Image",
    "CommandLine",
    "ParentImage",
    "User",
    "ProcessId",
    "ParentProcessId",
    "IntegrityLevel",
    "LogonId",
    "TargetObject",
    "Details",
)


def _values(record: Record, event: WindowsEvent) -> dict[str, str]:
    seen = event_of_record(record)
    return {name: _plain(seen.value(name)) for name in (*event.data, *_ALSO)}


@pytest.mark.parametrize(
    ("name", "form"),
    [
        (name, form)
        for name, event in EVENTS.items()
        for form in FORMS
        if form not in _WITHOUT_PARAMETERS or event.channel != CLASSIC
    ],
)
def test_an_event_gives_the_facts_and_values_of_its_evtx_record(name: str, form: str) -> None:
    event = EVENTS[name]
    wanted = _decoded(windows_events.evtx_json(event, _COMPUTER, _TIME))
    found = _decoded(FORMS[form](event))
    identity = (found.host, found.channel, found.event_id, found.record_id, found.provider)
    assert identity == (_COMPUTER, event.channel, event.event_id, 77, event.provider)
    assert (found.time_us, found.pid) == (wanted.time_us, wanted.pid)
    assert _values(found, event) == _values(wanted, event)
    assert _facts(found) == _facts(wanted)


@pytest.mark.parametrize("form", FORMS)
def test_a_rule_about_process_starts_fires_on_a_start_of_any_form(form: str) -> None:
    condition = "  a:\n    Image|endswith: '\\vssadmin.exe'\n    CommandLine|contains: ' list '\n"
    judged = RuleSet([rule(condition + "  condition: a\n")])
    record = _decoded(FORMS[form](EVENTS["Security 4688"]))
    assert len(judged.firing(event_of_record(record))) == 1


def test_what_a_processor_adds_beside_complete_event_data_changes_nothing() -> None:
    event = EVENTS["Security 4688"]
    plain = windows_events.winlogbeat(event, _COMPUTER, _TIME)
    added = {
        "process": {"pid": 1, "executable": "C:\\other.exe", "command_line": "other"},
        "source": {"ip": "192.0.2.1"},
        "user": {"name": "other", "domain": "OTHER"},
    }
    assert _decoded(plain | added).data == _decoded(plain).data


@pytest.mark.parametrize("value", [None, 7, "x", [], [{}], {"a": {"b": [1]}}, [None] * 5000])
@pytest.mark.parametrize("name", ["process", "source", "user", "powershell", "dns", "related"])
def test_a_place_of_a_wrong_type_costs_neither_the_record_nor_its_other_members(
    name: str, value: Any
) -> None:
    for event in EVENTS.values():
        document = winlog_modules.pipeline_8(windows_events.winlogbeat(event, _COMPUTER, _TIME))
        record = _decoded(document | {name: value})
        assert (record.host, record.event_id) == (_COMPUTER, event.event_id)
        assert all(isinstance(one, str | int | float | bool) for one in record.data.values())


def test_a_list_without_end_is_read_up_to_the_limit() -> None:
    document = _pipeline_8(EVENTS["Sysmon 22"])
    document["dns"]["answers"] = [{"type": "A", "data": "203.0.113.9"}] * 10_000
    answers = _decoded(document).data["QueryResults"]
    assert answers.count(";") == MODULE_LIST_ITEMS_MAX
