"""Connections of NXLog agents of 2019, which put their own `ProcessID` in place of the event's: the
process stands in the text of the message alone."""

from tests.contract.pipeline.write_path import NOON_S, Json, WritePath, found, processes
from tests.support.sysmon import Host
from vedette.pipeline.submission import Outcome

LOGGER_PID = 4
MESSAGE = (
    "The Windows Filtering Platform has permitted a connection.\r\n\r\n"
    "Application Information:\r\n\tProcess ID:\t\t{pid}\r\n"
    "\tApplication Name:\t\\device\\harddiskvolume2\\tool.exe\r\n\r\n"
    "Network Information:\r\n\tSource Address:\t\t10.0.0.5\r\n\tSource Port:\t\t50000\r\n"
)


def connected(host: Host, pid: int | str, record_id: int, port: int = 443) -> Json:
    return {
        "EventTime": "2023-11-15 12:00:00",
        "EventReceivedTime": "2023-11-15 12:00:01",
        "@timestamp": "2023-11-15T12:00:01Z",
        "SourceModuleType": "im_msvistalog",
        "Hostname": host.name,
        "Channel": "Security",
        "SourceName": "Microsoft-Windows-Security-Auditing",
        "EventID": 5156,
        "RecordNumber": record_id,
        "ProcessID": LOGGER_PID,
        "Application": "\\device\\harddiskvolume2\\tool.exe",
        "Direction": "%%14593",
        "SourceAddress": "10.0.0.5",
        "SourcePort": "50000",
        "DestAddress": "203.0.113.9",
        "DestPort": str(port),
        "Protocol": "6",
        "Message": MESSAGE.format(pid=pid),
    }


def test_a_connection_whose_process_stands_in_the_message_alone_is_that_process_own(
    path: WritePath,
) -> None:
    host = Host("nxlog.example", NOON_S - 600)
    tool = host.process(3_428, "C:\\tool.exe", after_s=1)
    path.post([host.created(tool, host.process(900, "C:\\Windows\\explorer.exe"))])
    assert path.outcomes([connected(host, 3_428, 5)]) == [Outcome.EVENTS]
    ((process_id, _),) = found(path.engine, "process_name:tool.exe ipaddr:203.0.113.9 ipport:443")
    assert [process_id] == [one for one, _ in found(path.engine, "process_pid:3428")]
    assert found(path.engine, f"process_pid:{LOGGER_PID}") == []


def test_a_connection_of_a_process_that_nothing_else_tells_of_is_kept_with_its_pid(
    path: WritePath,
) -> None:
    host = Host("nxlog.example", NOON_S - 600)
    assert path.outcomes([connected(host, 77, 5)]) == [Outcome.EVENTS]
    assert len(found(path.engine, "process_pid:77 ipport:443")) == 1


def test_a_message_without_a_process_costs_its_own_record_alone(path: WritePath) -> None:
    host = Host("nxlog.example", NOON_S - 600)
    texts = [connected(host, pid, 5 + at, 1_000 + at) for at, pid in enumerate(("-", "x" * 9, 77))]
    outcomes = path.outcomes(texts)
    assert outcomes[2] is Outcome.EVENTS
    assert Outcome.EVENTS not in outcomes[:2]
    assert len(found(path.engine, "ipport:[1000 TO 1002]")) == 1
    assert len(processes(path.engine)) == 1
