"""Processes and detections are correct when sources send false, scant or differently formatted
records. Each test sends records to a running server and searches as a client."""

import itertools
import json
from typing import Any
from xml.sax.saxutils import escape

import httpx
import pytest

from tests.support.sysmon import Host, Process

Json = dict[str, Any]
SECURITY = "Microsoft-Windows-Security-Auditing"
TOOL = "C:\\Tools\\mimi.exe"


def send(sender: httpx.Client, *records: Json) -> Json:
    answer = sender.post("/api/v1/ingest", json=list(records))
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def search(analyst: httpx.Client, query: str) -> list[Json]:
    answer = analyst.get("/api/v1/process", params={"q": query, "rows": 50})
    assert answer.status_code == 200, answer.text
    return list(answer.json()["results"])


def names(analyst: httpx.Client, query: str) -> set[str]:
    return {one["process_name"] for one in search(analyst, query)}


def security(host: Host, event_id: int, at_s: float, **data: Any) -> Json:
    record = host.record(event_id, at_s, **data)
    record["winlog"] |= {"channel": "Security", "provider_name": SECURITY}
    del record["winlog"]["event_data"]["UtcTime"]
    return record


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_what_others_say_never_replaces_what_a_process_says_of_its_own_start(
    sender: httpx.Client, analyst: httpx.Client, order: tuple[int, ...]
) -> None:
    host = Host(f"hearsay-{''.join(map(str, order))}.example")
    explorer = host.process(900, "C:\\Windows\\explorer.exe")
    tool = host.process(1_000, TOOL, "mimi.exe /x", 10)
    liar = host.process(1_100, "C:\\zzz.exe", after_s=11)
    reported = [
        host.created(tool, explorer),
        security(
            host,
            4688,
            tool.started_s,
            SubjectUserName="ZZZ$",
            SubjectDomainName="ZZZ",
            SubjectUserSid="S-1-5-18",
            NewProcessId=hex(tool.pid),
            CommandLine="zzz",
            NewProcessName="C:\\zzz\\masquerade.exe",
            ProcessId="0xfff0",
            ParentProcessName="C:\\zzz\\parent.exe",
        ),
        host.record(
            10,
            tool.started_s + 2,
            SourceProcessGUID=liar.guid,
            SourceProcessId=liar.pid,
            SourceImage=liar.image,
            TargetProcessGUID=tool.guid,
            TargetProcessId=tool.pid,
            TargetImage="C:\\zzz\\zzzzz.exe",
            GrantedAccess="0x1fffff",
            SourceUser="ZZZ\\zzz",
            TargetUser="ZZZ\\zzz",
        ),
    ]
    for at in order:
        assert send(sender, reported[at])["rejected"] == 0

    results = search(analyst, f"hostname:{host.name} process_pid:{tool.pid}")
    shown = [
        [one[name] for name in ("path", "process_name", "username", "cmdline", "parent_name")]
        for one in results
        if one["id"].endswith(tool.sensor_less_id)
    ]
    assert shown == [[TOOL, "mimi.exe", "CORP\\ann", "mimi.exe /x", "explorer.exe"]]


def test_a_pid_that_is_used_again_within_seconds_is_another_process(
    sender: httpx.Client, analyst: httpx.Client
) -> None:
    host = Host("pid-again.example")
    began_s = host.began_s

    def created(image: str, at_s: float) -> Json:
        return security(
            host,
            4688,
            at_s,
            NewProcessId="0x7d0",
            NewProcessName=image,
            CommandLine=image,
            ProcessId="0x384",
            ParentProcessName="C:\\Windows\\explorer.exe",
            SubjectUserName="ann",
            SubjectDomainName="CORP",
            SubjectUserSid="S-1-5-21-1",
        )

    def connected(image: str, at_s: float, port: int) -> Json:
        return security(
            host,
            5156,
            at_s,
            ProcessID=0x7D0,
            Application=image,
            Direction="%%14593",
            SourceAddress="10.0.0.5",
            SourcePort=50_000 + port,
            DestAddress="203.0.113.9",
            DestPort=port,
            Protocol=6,
        )

    device = "\\device\\harddiskvolume2\\"
    send(
        sender,
        created("C:\\one.exe", began_s),
        connected(f"{device}one.exe", began_s + 0.5, 81),
        created("C:\\two.exe", began_s + 1),
        connected(f"{device}two.exe", began_s + 1.5, 82),
    )
    for name, port, other in (("one.exe", 81, 82), ("two.exe", 82, 81)):
        (shown,) = search(analyst, f"hostname:{host.name} process_name:{name}")
        assert (shown["process_pid"], shown["netconn_count"]) == (0x7D0, 1)
        events = analyst.get(f"/api/v4/process/{shown['id']}/0/event").json()["process"]
        assert [one["remote_port"] for one in events["netconn_complete"]] == [port]
        assert not search(analyst, f"hostname:{host.name} process_name:{name} ipport:{other}")


_COLUMNS = {"TimeGenerated": "2026-01-05T09:30:00.5Z", "EventID": 1}
_CHANNEL = "Microsoft-Windows-Sysmon/Operational"


def azure_rows(host: str) -> dict[str, tuple[str, Json]]:
    """A row of each table and form, with the process number of its record."""
    forms: dict[str, tuple[str, Json]] = {}
    tables: dict[str, Json] = {
        "Event": {"EventLog": _CHANNEL, "Source": "Microsoft-Windows-Sysmon"},
        "WindowsEvent": {"Channel": _CHANNEL, "Provider": "Microsoft-Windows-Sysmon"},
        "SecurityEvent": {"Channel": _CHANNEL, "EventSourceName": "Microsoft-Windows-Sysmon"},
    }
    for number, (table, form) in enumerate(itertools.product(tables, ("xml", "json", "object"))):
        data = {
            "UtcTime": "2026-01-05 09:30:00.000",
            "ProcessGuid": f"{{6f1c2a3b-8498-695b-{number + 1:02x}00-000000000400}}",
            "ProcessId": str(5_000 + number),
            "Image": f"C:\\azure\\{table}-{form}.exe",
            "CommandLine": f"{table} {form} <&>",
        }
        xml = "".join(f'<Data Name="{name}">{escape(v)}</Data>' for name, v in data.items())
        written: Any = {
            "xml": f'<DataItem><EventData xmlns="x">{xml}</EventData></DataItem>',
            "json": json.dumps(data),
            "object": data,
        }[form]
        row = {"Type": table, "Computer": host, **_COLUMNS, **tables[table], "EventData": written}
        forms[f"{table} {form}"] = (f"{table}-{form}.exe", row)
    return forms


@pytest.mark.parametrize("form", sorted(azure_rows("x")))
def test_rows_of_azure_tables_become_events(
    sender: httpx.Client, analyst: httpx.Client, form: str
) -> None:
    host = f"azure-{form.replace(' ', '-').lower()}.example"
    name, row = azure_rows(host)[form]
    assert send(sender, row)["stored"] == 1
    (shown,) = search(analyst, f"hostname:{host}")
    assert (shown["process_name"], shown["cmdline"]) == (name, f"{form} <&>")


def test_a_record_of_an_unknown_shape_is_rejected_with_a_sample_and_its_place(
    sender: httpx.Client,
) -> None:
    known = Host("beside-unknown.example")
    strange = {"Computer": "strange.example", "Channel": _CHANNEL, **_COLUMNS, "Payload": "x"}
    records = [known.created(known.process(7, TOOL), known.process(8, "C:\\x.exe")), strange]
    answer = send(sender, *records)
    assert (answer["stored"], answer["records"], answer["rejected"]) == (1, 0, 1)
    (error,) = answer["errors"]
    assert (error["position"], error["reason"]) == (1, "unknown_format")
    assert "Payload" in error["message"]


def test_the_pid_of_a_connection_is_read_from_the_message_where_it_stands_only_there(
    sender: httpx.Client, analyst: httpx.Client
) -> None:
    message = (
        "The Windows Filtering Platform has permitted a connection.\r\n\r\nApplication Information:"
        "\r\n\tProcess ID:\t\t3428\r\n\tApplication Name:\t\\device\\harddiskvolume2\\x.exe\r\n"
    )
    row = {
        "EventTime": "2026-01-05 14:51:00",
        "EventReceivedTime": "2026-01-05 14:51:02",
        "SourceModuleType": "im_msvistalog",
        "Hostname": "nxlog-2019.example",
        "Channel": "Security",
        "SourceName": SECURITY,
        "EventID": 5156,
        "RecordNumber": 5,
        "ProcessID": 4,
        "Application": "\\device\\harddiskvolume2\\x.exe",
        "Direction": "%%14593",
        "SourceAddress": "172.18.39.106",
        "SourcePort": "51234",
        "DestAddress": "10.0.10.106",
        "DestPort": "443",
        "Protocol": "6",
        "Message": message,
    }
    assert send(sender, row)["stored"] == 1
    (shown,) = search(analyst, "hostname:nxlog-2019.example ipport:443")
    assert (shown["process_pid"], shown["process_name"]) == (3_428, "x.exe")


@pytest.fixture(scope="module")
def seen(sender: httpx.Client) -> Host:
    """A host with processes of which each did one thing that queries are fussy about."""
    host = Host("fussy.example")
    parent = host.process(900, "C:\\Windows\\explorer.exe")

    def did(name: str, pid: int, event_id: int, **data: Any) -> list[Json]:
        process = host.process(pid, f"C:\\fussy\\{name}.exe", f"{name}.exe", 1)
        return [host.created(process, parent), host.of(process, event_id, 2, **data)]

    gone, kept = "ab" * 16, "cd" * 16
    switches = host.process(
        1_007, "C:\\fussy\\switches.exe", "sw //nologo /user:ann C:\\a_b.txt", 1
    )
    send(
        sender,
        *did("deletes", 1_001, 23, TargetFilename="C:\\gone.exe", Hashes=f"MD5={gone}"),
        *did("writes", 1_002, 27, TargetFilename="C:\\kept.exe", Hashes=f"MD5={kept}"),
        *did("asks", 1_003, 22, QueryName="www.bing.com", QueryResults="::ffff:203.0.113.9;"),
        *did("asks-au", 1_004, 22, QueryName="foo.com.au", QueryResults="::ffff:203.0.113.8;"),
        *did(
            "sets",
            1_005,
            13,
            Details="1",
            TargetObject="HKLM\\System\\CurrentControlSet\\Services\\evil\\ImagePath",
        ),
        *did(
            "sets-user",
            1_006,
            13,
            Details="1",
            TargetObject="HKU\\S-1-5-21-1\\Software\\Run\\evil",
        ),
        host.created(switches, parent),
    )
    return host


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (f"filewrite_md5:{'ab' * 16}", set()),
        (f"md5:{'ab' * 16}", set()),
        ("filemod:gone.exe", {"deletes.exe"}),
        ("domain:co?.", set()),
        ("domain:..", set()),
        ("domain:.com", {"asks.exe"}),
        ("domain:.com.", {"asks-au.exe"}),
        ("domain:.co?.", {"asks-au.exe"}),
        ("domain:bin?.", set()),
        ("domain:ww?.", {"asks.exe"}),
        ("regmod:HKLM\\\\System\\\\*\\\\evil\\\\ImagePath", {"sets.exe"}),
        ("regmod:HKEY_LOCAL_MACHINE\\\\System\\\\*\\\\ImagePath", {"sets.exe"}),
        ("regmod:HKU\\\\S-1-5-21-1\\\\Software\\\\Run\\\\evil", {"sets-user.exe"}),
        ("cmdline:/nologo", {"switches.exe"}),
        ("cmdline:*ser:an*", {"switches.exe"}),
        ("cmdline:*_b.t*", {"switches.exe"}),
        ("cmdline:*olog*", {"switches.exe"}),
        ("path:*itche*", {"switches.exe"}),
        ("regmod:*rolSet\\\\Serv*", {"sets.exe"}),
    ],
)
def test_a_fussy_query_finds_exactly(
    analyst: httpx.Client, seen: Host, query: str, found: set[str]
) -> None:
    assert names(analyst, f"hostname:{seen.name} {query}") == found


def test_a_start_is_not_read_out_of_a_made_up_id(
    sender: httpx.Client, analyst: httpx.Client
) -> None:
    host = Host("made-up.example")
    process = Process(77, "C:\\made-up.exe", "made-up.exe", host.began_s)
    record = host.of(process, 11, 1, TargetFilename="C:\\1.txt")
    record["winlog"]["event_data"]["ProcessGuid"] = "{0E984725-C51C-4BF4-9960-E1C80E27ABA0}"
    known = host.process(78, "C:\\known.exe")
    send(sender, record, host.created(known, host.process(900, "C:\\Windows\\explorer.exe")))
    both = f"hostname:{host.name} (process_pid:77 OR process_pid:78)"
    (shown,) = search(analyst, f"hostname:{host.name} process_pid:77")
    assert shown["start"] is None
    assert names(analyst, f"{both} start:[* TO *]") == {"known.exe"}
    for direction in ("asc", "desc"):
        asked = {"q": both, "sort": f"start {direction}"}
        results = analyst.get("/api/v1/process", params=asked).json()["results"]
        assert [one["process_name"] for one in results] == ["known.exe", "made-up.exe"]


def test_made_up_record_numbers_use_up_none_of_the_true_records(
    sender: httpx.Client, analyst: httpx.Client
) -> None:
    """Who guesses the numbers that a host's log will have next, and sends records with them."""
    true = Host("used-up.example")
    forged = Host(true.name, true.began_s - 60)
    parent = forged.process(900, "C:\\Windows\\explorer.exe")
    first = send(sender, forged.created(forged.process(1_001, "C:\\forged.exe"), parent))
    record = true.created(true.process(1_002, "C:\\true.exe"), parent)
    second = send(sender, record)
    assert (first["stored"], first["conflicts"]) == (1, 0)
    assert (second["stored"], second["duplicate"], second["conflicts"]) == (1, 0, 1)
    assert names(analyst, f"hostname:{true.name}") >= {"forged.exe", "true.exe"}
    assert send(sender, record)["duplicate"] == 1
