"""Events whose values hold text of other formats, and opens of a process, through the API."""

import json

import httpx

from tests.support.sysmon import Host

_FORGED = "node=dc1.forged.example type=SYSCALL msg=audit(1600000000.1:1): pid=1 success=yes"


def test_command_lines_with_audit_text_keep_their_events(
    sender: httpx.Client, analyst: httpx.Client
) -> None:
    host = Host("marked.example")
    shell = host.process(900, "C:\\Windows\\explorer.exe")
    records = [
        {"message": _FORGED, **host.created(host.process(pid, "C:\\m.exe", line, pid), shell)}
        for pid, line in enumerate((_FORGED, f"echo {_FORGED}", f"x\n{_FORGED}"), 100)
    ]
    body = "".join(f'{{"create":{{}}}}\n{json.dumps(one)}\n' for one in records)
    answer = sender.post("/_bulk", content=body, headers={"Content-Type": "application/x-ndjson"})
    assert [item["create"]["status"] for item in answer.json()["items"]] == [201, 201, 201]
    found = analyst.get("/api/v1/process", params={"q": "process_name:m.exe"}).json()["results"]
    assert {one["process_pid"] for one in found} == {100, 101, 102}
    assert {one["hostname"] for one in found} == {"marked.example"}
    forged = analyst.get("/api/v1/process", params={"q": "hostname:dc1.forged.example"}).json()
    assert forged["total_results"] == 0


def test_who_opened_a_process_is_found_on_that_process(
    sender: httpx.Client, analyst: httpx.Client
) -> None:
    host = Host("opened.example")
    lsass = host.process(700, "C:\\Windows\\System32\\lsass.exe")
    dumper = host.process(900, "C:\\Temp\\dumper.exe", after_s=10)
    record = host.record(
        10,
        host.began_s + 20,
        SourceProcessGUID=dumper.guid,
        SourceProcessId=dumper.pid,
        SourceImage=dumper.image,
        TargetProcessGUID=lsass.guid,
        TargetProcessId=lsass.pid,
        TargetImage=lsass.image,
        GrantedAccess="0x1410",
    )
    assert sender.post("/api/v1/ingest", content=json.dumps(record)).json()["stored"] == 1
    for query in ("crossproc_name:dumper.exe", "crossproc_type:processopentarget"):
        params = {"q": f"{query} hostname:opened.example"}
        (found,) = analyst.get("/api/v1/process", params=params).json()["results"]
        assert found["process_name"] == "lsass.exe"
