"""The event of a record, while rules are asked."""

import gc

from vedette.detect.views.event import Event
from vedette.ingest.context.host_context import HostContext
from vedette.ingest.record import Record
from vedette.model.host import SensorRef
from vedette.pipeline.batch.host_cache import Host
from vedette.pipeline.batch.rule_judge import RecordEvent

GUID = "{01234567-0000-5000-0100-000000000001}"
NAMED = Record(
    "windows",
    "pc",
    1_700_000_000_000_000,
    "Microsoft-Windows-Sysmon/Operational",
    event_id=11,
    data={"ProcessGuid": GUID, "TargetFilename": "C:\\a"},
)


def _host() -> Host:
    context = HostContext(1)
    assert context.by_guid(GUID, 7) is not None
    return Host(SensorRef(1, "pc", 1, "default", "windows"), context)


def test_an_event_answers_from_the_metadata_of_the_process_that_its_record_names() -> None:
    host = _host()
    named = host.context.named(GUID)
    assert named is not None
    known = {named.id: {"cmdline": "cmd /c"}}
    made = RecordEvent(NAMED, host, [], lambda process_id: known.get(process_id, {}))
    assert made.actor() == named.id
    assert made.facts() == {"cmdline": "cmd /c"}
    assert made.event() is made.event()
    assert made.event().value("CommandLine") == "cmd /c"


def test_an_event_leaves_nothing_for_the_garbage_collector() -> None:
    host = _host()
    gc.collect()
    gc.disable()
    try:
        made: RecordEvent | Event = RecordEvent(NAMED, host, [], lambda _: {})
        made = made.event() if isinstance(made, RecordEvent) else made
        assert made.value("CommandLine") == ""
        del made
        assert gc.collect() == 0
    finally:
        gc.enable()
