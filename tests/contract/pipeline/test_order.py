"""The order of records in a request changes nothing that can be asked, modulo the sensor's id."""

import random
from pathlib import Path
from typing import Any

import pytest

from tests.contract.pipeline.write_path import NOON_S, WritePath, event_texts, processes, write_path
from tests.support.forms import in_form
from tests.support.sysmon import Host
from vedette.clock import DrivenClock
from vedette.limits import SEGMENT_WINDOW_MS
from vedette.model.columns import PROCESS
from vedette.model.scope import EVERYTHING
from vedette.store.engine.client import ClickHouseEngine, Engine
from vedette.store.read import process as stored

SEED = 20_231_115
ROUNDS = in_form(8, 50)

OF_THE_SENSOR = frozenset({"sensor_id", "hostname", "seq"})
OWN_COLUMNS = [
    column.name
    for column in PROCESS
    if column.name not in {"parent_md5", "parent_sha256", "parent_username"}
]


@pytest.fixture
def engine(plain_engine: ClickHouseEngine) -> ClickHouseEngine:
    """A plain engine suffices: the order of arrival matters only before the store, and the random
    tests take minutes."""
    return plain_engine


def records(name: str) -> list[dict[str, Any]]:
    """A document starts a shell that opens lsass; what names what comes in every direction."""
    host = Host(name, NOON_S - 3_600)
    explorer = host.process(900, "C:\\Windows\\explorer.exe")
    lsass = host.process(600, "C:\\Windows\\System32\\lsass.exe", after_s=-900)
    word = host.process(1_000, "C:\\Office\\WINWORD.EXE", "WINWORD.EXE /n a.docm", 10)
    shell = host.process(1_100, "C:\\Windows\\powershell.exe", "powershell -enc AAAA", 20)
    again = host.process(1_100, "C:\\Windows\\notepad.exe", "notepad", 900)
    hashes = f"MD5={'AB' * 16},SHA256={'CD' * 32}"
    pair = {
        "SourceProcessGUID": shell.guid,
        "SourceProcessId": shell.pid,
        "SourceImage": shell.image,
        "TargetProcessGUID": lsass.guid,
        "TargetProcessId": lsass.pid,
        "TargetImage": lsass.image,
    }
    return [
        host.created(word, explorer),
        host.created(shell, word),
        host.created(again, explorer),
        host.of(shell, 7, 1, ImageLoaded="C:\\amsi.dll", Signed="true", Hashes=hashes),
        host.of(word, 7, 1, ImageLoaded="C:\\amsi.dll", Signed="true", Hashes=hashes),
        host.of(shell, 22, 2, QueryName="c2.example", QueryStatus=0, QueryResults="203.0.113.9;"),
        host.of(shell, 22, 9, QueryName="cdn.example", QueryStatus=0, QueryResults="203.0.113.9;"),
        *(
            host.of(
                shell,
                3,
                at_s,
                Protocol="tcp",
                Initiated="true",
                SourceIp="10.0.0.5",
                SourcePort=50_000 + at_s,
                DestinationIp="203.0.113.9",
                DestinationPort=443,
            )
            for at_s in (3, 8, 12)
        ),
        host.record(10, shell.started_s + 4, GrantedAccess="0x1010", CallTrace="x", **pair),
        host.record(8, shell.started_s + 5, StartModule="C:\\k.dll", StartFunction="f", **pair),
        host.of(shell, 11, 6, TargetFilename="C:\\up.exe", User="CORP\\bob"),
        host.of(shell, 13, 6, EventType="SetValue", TargetObject="HKLM\\Run\\up", Details="up"),
        host.of(word, 5, 30),
        host.of(shell, 5, 40),
        host.of(again, 23, 2, TargetFilename="C:\\gone.txt", Hashes=hashes, Archived="false"),
    ]


def answers(engine: Engine, sensor_id: int) -> dict[str, Any]:
    """Everything of the processes of one sensor, without the sensor."""
    mark = f"{sensor_id:08x}-"
    names = [name for name in processes(engine) if name.startswith(mark)]
    rows = stored.process_rows(engine, names, EVERYTHING)
    return {
        name.removeprefix(mark): (
            {
                column: str(value).replace(mark, "")
                for column, value in rows[name].items()
                if column not in OF_THE_SENSOR
            },
            [text.replace(mark, "") for text in event_texts(engine, name)],
        )
        for name in names
    }


def test_records_of_a_request_may_come_in_any_order(path: WritePath) -> None:
    dice = random.Random(SEED)
    for number in range(ROUNDS):
        shuffled = records(f"order-{number}.example")
        if number:
            dice.shuffle(shuffled)
        receipt = path.post(shuffled)
        assert receipt.refusals == []
    expected = answers(path.engine, 1)
    assert len(expected) == 5
    for number in range(1, ROUNDS):
        assert answers(path.engine, number + 1) == expected, f"seed {SEED}, round {number}"


def test_metadata_is_the_same_whichever_request_reports_it_first(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock
) -> None:
    """A few records a request, in any order, with a restart in between: what completes a process
    reaches it all the same. What is said of its parent is as it was known then."""
    dice = random.Random(SEED)
    rounds = range(in_form(3, 12))
    for number in rounds:
        shuffled = records(f"split-{number}.example")
        if number:
            dice.shuffle(shuffled)
        for half in (shuffled[:9], shuffled[9:]):
            with write_path(engine, tmp_path, clock) as path:
                for at in range(0, len(half), 3):
                    path.post(half[at : at + 3])
    expected = _own_metadata(answers(engine, 1))
    for number in rounds:
        reported = _own_metadata(answers(engine, number + 1))
        assert reported == expected, f"seed {SEED}, round {number}"


def _own_metadata(of_processes: dict[str, Any]) -> dict[str, Any]:
    return {
        name: {column: row[column] for column in OWN_COLUMNS}
        for name, (row, _) in of_processes.items()
    }


def lies(dice: random.Random, name: str) -> list[dict[str, Any]]:
    """Records of other processes that say other things of the shell: in whose name it ran, from
    which path, who its parent is; before, while and after it runs."""
    host = Host(name, NOON_S - 3_600, record_id=1_000)
    shell = host.process(1_100, "C:\\Windows\\powershell.exe", "powershell -enc AAAA", 20)
    word = host.process(1_000, "C:\\Office\\WINWORD.EXE", "WINWORD.EXE /n a.docm", 10)
    other = host.process(2_000, "C:\\other.exe", after_s=40)
    reported = []
    for number in range(8):
        file_name = dice.choice(["zz.exe", "a.exe", "\u20ac"])
        image = f"C:\\{dice.choice('azZ')}{number}\\{file_name}"
        user = f"{dice.choice('AZ')}\\{dice.choice('az')}{number}"
        at_s = host.began_s + dice.randrange(0, 120)
        reported.append(
            dice.choice(
                [
                    host.record(
                        10,
                        at_s,
                        SourceProcessGUID=other.guid,
                        SourceImage=other.image,
                        SourceProcessId=other.pid,
                        TargetProcessGUID=shell.guid,
                        TargetProcessId=shell.pid,
                        TargetImage=image,
                        TargetUser=user,
                    ),
                    host.record(
                        1,
                        at_s,
                        ProcessGuid=other.guid,
                        ProcessId=other.pid,
                        Image=other.image,
                        User=other.user,
                        ParentProcessGuid=shell.guid,
                        ParentProcessId=shell.pid,
                        ParentImage=image,
                        ParentUser=user,
                        ParentCommandLine=image,
                    ),
                    host.record(
                        11,
                        at_s,
                        ProcessGuid=shell.guid,
                        ProcessId=shell.pid,
                        Image=image,
                        User=user,
                        TargetFilename="C:\\x",
                    ),
                    _security_start(
                        host,
                        shell.started_s,
                        NewProcessId=hex(shell.pid),
                        NewProcessName=image,
                        SubjectUserName=user,
                        ProcessId=hex(word.pid),
                        CommandLine=image,
                        MandatoryLabel="S-1-16-4096",
                    ),
                ]
            )
        )
    return reported


def _security_start(host: Host, at_s: float, **data: Any) -> dict[str, Any]:
    record = host.record(4688, at_s, **data)
    log = record["winlog"]
    log |= {"channel": "Security", "provider_name": "Microsoft-Windows-Security-Auditing"}
    del log["event_data"]["UtcTime"]
    return record


SHELL = "a4c4-6554-044c-000000001200"
"""End of the id that the shell's ProcessGuid makes."""

OF_ITS_CREATION = {
    "path": "C:\\Windows\\powershell.exe",
    "process_name": "powershell.exe",
    "process_md5": f"{1_100:032x}",
    "username": "CORP\\ann",
    "cmdline": "powershell -enc AAAA",
    "integrity_level": "High",
    "parent_name": "WINWORD.EXE",
    "start": str((NOON_S - 3_580) * 1_000_000),
}


def test_liars_change_nothing_that_a_process_says_of_its_own_creation(
    engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock
) -> None:
    """One or a few records a request, in any order, with windows that end and restarts between."""
    dice = random.Random(SEED)
    rounds = range(in_form(2, 6))
    for number in rounds:
        name = f"liars-{number}.example"
        mixed = [*records(name), *lies(dice, name)]
        dice.shuffle(mixed)
        cut = dice.randrange(len(mixed))
        for half in (mixed[:cut], mixed[cut:]):
            with write_path(engine, tmp_path, clock) as path:
                for at in range(0, len(half), 2):
                    path.post(half[at : at + 2])
                    clock.advance(dice.choice([0, 0, SEGMENT_WINDOW_MS // 1_000]))
    for number in rounds:
        found = answers(engine, number + 1)
        (row,) = [row for name, (row, _) in found.items() if name.endswith(SHELL)]
        shown = {column: row[column] for column in OF_ITS_CREATION}
        assert shown == OF_ITS_CREATION, f"seed {SEED}, round {number}"
        segments = engine.query(
            "SELECT DISTINCT path, username, integrity_level FROM segment FINAL "
            "WHERE endsWith(process_id, {shell:String}) AND sensor_id = {sensor:UInt32}",
            {"sensor": number + 1, "shell": SHELL},
        )
        assert segments.rows == [(shown["path"], shown["username"], "High")]
