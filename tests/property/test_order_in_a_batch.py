"""The order of records within a batch does not change what they become.

The stories are small and collide on purpose: two pids, a few ProcessGuids, names that answer
for the same address, Security records of the same processes with a clock that is off.
"""

from collections import Counter
from datetime import UTC, datetime
from random import Random

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.forms import in_form
from vedette.ingest.channels import POWERSHELL, SECURITY, SYSMON, SYSTEM
from vedette.ingest.context.host_context import HOUR_US, HostContext
from vedette.ingest.normalise import SOURCES
from vedette.ingest.normalise.keep import KEEP
from vedette.ingest.record import Record

_BASE_S = 0x65439E00

_PIDS = (40, 41)
_IMAGES = ("C:\\Windows\\a.exe", "C:\\windows\\A.exe", "C:\\b.exe", "<unknown process>", "-")
_MD5, _SHA256 = f"MD5={'a' * 32}", f"SHA256={'c' * 64}"
_DEVICES = ("\\device\\harddiskvolume2\\windows\\a.exe", "\\device\\harddiskvolume2\\b.exe")


def _guid(start: int, token: int, pid: int) -> str:
    second = f"{_BASE_S + start:08x}"
    return f"{{7d1f0a2b-{second[4:]}-{second[:4]}-{token:04x}-0000000{pid:05d}}}"


def _time(at: int) -> str:
    """`at` seconds after the first of the starts that ProcessGuids carry."""
    return f"{datetime.fromtimestamp(_BASE_S + at, UTC):%Y-%m-%d %H:%M:%S}.500"


_process = st.tuples(st.sampled_from((0, 0, 20)), st.sampled_from((1, 2)), st.sampled_from(_PIDS))
_at = st.integers(0, 90)


@st.composite
def _sysmon(draw: st.DrawFn) -> Record:
    start, token, pid = draw(_process)
    other_start, other_token, other_pid = draw(_process)
    image = draw(st.sampled_from(_IMAGES))
    event_id = draw(st.sampled_from((1, 1, 3, 5, 7, 8, 10, 11, 22, 25)))
    prefix = "Source" if event_id in (8, 10) else ""
    data = {
        "UtcTime": _time(draw(_at)),
        f"{prefix}ProcessGuid": draw(st.sampled_from((_guid(start, token, pid), "-"))),
        f"{prefix}ProcessId": draw(st.sampled_from((str(pid), str(pid), "41", "-"))),
        f"{prefix}Image": image,
        "User": draw(st.sampled_from(("CORP\\ann", "-", "CORP\\Ann"))),
        "ParentProcessGuid": _guid(other_start, other_token, other_pid),
        "ParentProcessId": str(other_pid),
        "ParentImage": draw(st.sampled_from(_IMAGES)),
        "ParentCommandLine": draw(st.sampled_from(("p -1", "p -2", ""))),
        "TargetProcessGuid": _guid(other_start, other_token, other_pid),
        "TargetProcessId": str(other_pid),
        "TargetImage": draw(st.sampled_from(_IMAGES)),
        "GrantedAccess": "0x1410",
        "ImageLoaded": "C:\\x.dll",
        "FileVersion": "1.0",
        "Hashes": draw(
            st.sampled_from((f"SHA256={'c' * 64}", f"MD5={'a' * 32},SHA256={'c' * 64}"))
        ),
        "SignatureStatus": draw(st.sampled_from(("Valid", "Unavailable"))),
        "Signed": "true",
        "LogonId": "0x3e7",
        "QueryName": draw(st.sampled_from(("a.example", "b.example"))),
        "QueryResults": "10.9.9.9;",
        "Protocol": draw(st.sampled_from(("tcp", "udp"))),
        "Initiated": draw(st.sampled_from(("true", "false"))),
        "SourceIp": draw(st.sampled_from(("10.0.0.5", "10.9.9.9"))),
        "DestinationIp": draw(st.sampled_from(("10.0.0.5", "10.9.9.9"))),
        "TargetFilename": "C:\\y.txt",
    }
    return _record(SYSMON, event_id, draw(_at), data)


@st.composite
def _by_pid(draw: st.DrawFn) -> Record:
    pid, other = draw(st.sampled_from(_PIDS)), draw(st.sampled_from(_PIDS))
    channel, event_id = draw(
        st.sampled_from(
            (
                *((SECURITY, i) for i in (4624, 4656, 4657, 4663, 4688, 4688, 4689, 4697, 5156)),
                (SYSTEM, 7045),
                (POWERSHELL, 4104),
            )
        )
    )
    known = st.sampled_from((*_IMAGES, *_DEVICES))
    data = {
        "NewProcessId": hex(pid),
        "NewProcessName": draw(known),
        "ProcessId": hex(other if event_id == 4688 else pid),
        "ProcessName": draw(known),
        "ParentProcessName": draw(known),
        "SubjectLogonId": "0x3e7",
        "TargetLogonId": "0x3e7" if event_id == 4624 else "0x0",
        "LogonType": draw(st.sampled_from(("3", "5"))),
        "Status": "0x0",
        "Application": draw(st.sampled_from(_DEVICES)),
        "Direction": draw(st.sampled_from(("%%14592", "%%14593"))),
        "SourceAddress": "10.0.0.5",
        "DestAddress": "10.9.9.9",
        "Protocol": "6",
        "ObjectType": draw(st.sampled_from(("File", "Key", "Process"))),
        "ObjectName": draw(st.sampled_from(_DEVICES)),
        "AccessMask": "0x10006",
        "ServiceName": "s",
        "ScriptBlockText": "x",
    }
    return _record(channel, event_id, draw(_at), data, pid)


def _record(channel: str, event_id: int, at: int, data: dict[str, str], pid: int = 0) -> Record:
    time_us = (_BASE_S + at) * 1_000_000 - 5 * HOUR_US
    return Record("windows", "a", time_us, channel, event_id, 0, "", pid, data)


def _become(records: list[Record]) -> Counter[bytes]:
    """Counts each outcome, regardless of the order of its values."""
    ctx = HostContext(7)
    for record in records:
        SOURCES["windows"].learn(record, ctx)
    return Counter(
        type(outcome).__name__.encode() + msgspec.json.encode(outcome, order="sorted")
        for record in records
        for outcome in SOURCES["windows"].normalise(record, ctx, KEEP)
    )


@settings(max_examples=in_form(80, 300), deadline=None)
@given(st.lists(_sysmon() | _by_pid(), min_size=2, max_size=12), st.randoms(use_true_random=False))
def test_a_shuffled_batch_becomes_the_same(records: list[Record], random: Random) -> None:
    before = _become(records)
    random.shuffle(records)
    assert _become(records) == before
