"""Security records that name the image of their process: of which process with the pid they are."""

from typing import Any

import pytest

from tests.unit.ingest.normalise.events import IMAGE, SENSOR_ID, only, outcomes, security
from tests.unit.ingest.normalise.test_security import START, STARTED_ID
from vedette.ingest.context.host_context import HostContext
from vedette.ingest.record import Record
from vedette.model.event import Childproc, Facts, Filemod, Netconn, Regmod

_CMD = "\\device\\harddiskvolume2\\windows\\system32\\cmd.exe"
_TOOL = "\\device\\harddiskvolume2\\app\\tool.exe"


def _connected_by(path: str, **members: Any) -> Record:
    return security(
        5156, ProcessID="40", Application=path, Direction="%%14593", Protocol="6", **members
    )


def _later(record: Record) -> Record:
    record.time_us += 3_600_000_000
    return record


_BY_ANOTHER = [
    (Netconn, _connected_by(_TOOL)),
    (
        Filemod,
        security(
            4663,
            ProcessId="0x28",
            ProcessName="C:\\app\\tool.exe",
            ObjectType="File",
            ObjectName="C:\\a",
            AccessMask="0x2",
        ),
    ),
    (
        Regmod,
        security(
            4657,
            ProcessId="0x28",
            ProcessName="C:\\app\\tool.exe",
            ObjectName="\\REGISTRY\\A",
            ObjectValueName="B",
            OperationType="%%1904",
        ),
    ),
    (
        Childproc,
        security(
            4688,
            **START
            | {
                "NewProcessId": "0x99",
                "ProcessId": "0x28",
                "ParentProcessName": "C:\\app\\tool.exe",
            },
        ),
    ),
]


@pytest.mark.parametrize(("kind", "record"), _BY_ANOTHER)
def test_a_record_that_names_another_image_is_not_of_the_process_that_had_the_pid(
    kind: type[Any], record: Record
) -> None:
    """The start of the process that has the pid now comes in a later post."""
    ctx = HostContext(SENSOR_ID)
    outcomes(security(4688, **START), ctx=ctx)
    made = outcomes(_later(record), ctx=ctx)
    (event,) = [one for one in made if type(one) is kind]
    assert event.process_id != STARTED_ID
    reported = [
        one.values
        for one in made
        if getattr(one, "process_id", "") == event.process_id and isinstance(one, Facts)
    ]
    assert ("tool.exe", 40) in [
        (one.get("process_name"), one.get("process_pid")) for one in reported
    ]


@pytest.mark.parametrize("path", [_CMD, IMAGE, IMAGE.upper(), "", "-", "C:\\WINDOW~1\\cmd.exe"])
def test_a_record_that_names_the_image_by_another_name_is_of_its_process(path: str) -> None:
    ctx = HostContext(SENSOR_ID)
    outcomes(security(4688, **START), ctx=ctx)
    assert only(Netconn, _connected_by(path), ctx=ctx).process_id == STARTED_ID


def test_a_file_of_the_same_name_elsewhere_is_another_image_once_its_drive_is_known() -> None:
    ctx = HostContext(SENSOR_ID)
    outcomes(security(4688, **START), _connected_by(_CMD), ctx=ctx)
    other_place = "\\device\\harddiskvolume2\\users\\public\\cmd.exe"
    assert only(Netconn, _later(_connected_by(other_place)), ctx=ctx).process_id != STARTED_ID


def test_a_volume_mounted_in_a_folder_is_not_another_image() -> None:
    ctx = HostContext(SENSOR_ID)
    outcomes(security(4688, **START), _connected_by(_CMD), ctx=ctx)
    mounted = "\\device\\harddiskvolume9\\cmd.exe"
    assert only(Netconn, _connected_by(mounted), ctx=ctx).process_id == STARTED_ID
