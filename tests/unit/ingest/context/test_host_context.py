"""Context that records provide about a host: processes, names, drives, clock, logons."""

import pytest

from vedette.ingest.context.host_context import HOUR_US, HostContext
from vedette.ingest.context.process_index import HOST_PROCESSES_MAX, SAME_START_US
from vedette.model.address import pack_address
from vedette.model.event import Facts, Outcome
from vedette.model.host import HostProcess
from vedette.model.ids import process_id_from_start
from vedette.model.metadata_rank import Rank

_START_S = 0x65430000 + 0x9E21
_START_US = _START_S * 1_000_000
_GUID = "{7D1F0A2B-9E21-6543-1000-000000000400}"
_ID = "00000007-9e21-6543-1000-000000000400"


@pytest.fixture
def ctx() -> HostContext:
    return HostContext(7)


def _reported(ctx_new: list[Outcome]) -> list[dict[str, object]]:
    return [dict(fact.values) for fact in ctx_new if isinstance(fact, Facts)]


# --- processes --------------------------------------------------------------------------


@pytest.mark.parametrize("guid", [_GUID, _GUID.lower(), _GUID.strip("{}"), _GUID[1:-1].lower()])
def test_a_process_guid_is_one_process_in_every_spelling(ctx: HostContext, guid: str) -> None:
    known = ctx.by_guid(guid)
    assert known is not None
    assert (known.id, known.start_us) == (_ID, _START_US)
    assert ctx.by_guid(_GUID) is known


@pytest.mark.parametrize(
    "guid",
    [
        "{7D1F0A2B-FFFF-FFFF-0000-000000000000}",
        "{7D1F0A2B-FFFF-FFFF-FFFF-FFFFFFFFFFFF}",
        "{7D1F0A2B-0000-0000-1000-000000000400}",
        "{0E984725-C51C-4BF4-9960-E1C80E27ABA0}",
        "{00000000-0000-8000-0000-000000000001}",
    ],
)
def test_no_start_is_read_out_of_a_made_up_id(ctx: HostContext, guid: str) -> None:
    known = ctx.by_guid(guid, 40)
    assert known is not None
    assert known.start_us == 0
    found: list[Outcome] = []
    known.report(found)
    assert [values.get("start") for values in _reported(found)] == [None]


@pytest.mark.parametrize(
    "text", ["", "-", "{00000000-0000-0000-0000-000000000000}", "{7D1F0A2B}", "z" * 36, "x" * 38]
)
def test_text_that_is_no_process_guid_names_nobody(ctx: HostContext, text: str) -> None:
    assert ctx.by_guid(text, 4) is None


def test_a_pid_is_the_process_that_had_it_at_the_time(ctx: HostContext) -> None:
    first, second = ctx.started(40, _START_US), ctx.started(40, _START_US + 60_000_000)
    assert ctx.find(40, _START_US + 30_000_000) is first
    assert ctx.find(40, _START_US + 90_000_000) is second
    assert ctx.find(40, _START_US - 10_000_000) is None
    assert ctx.find(41, _START_US) is None


def test_a_pid_is_nobody_after_its_process_ended(ctx: HostContext) -> None:
    known = ctx.by_guid(_GUID, 40)
    ctx.learn_end(40, _START_US + 10_000_000)
    assert ctx.find(40, _START_US + 10_000_000 + SAME_START_US) is known
    assert ctx.find(40, _START_US + 60_000_000) is None


def test_a_pid_and_start_near_a_process_guid_is_that_process(ctx: HostContext) -> None:
    known = ctx.by_guid(_GUID, 40)
    assert ctx.started(40, _START_US + SAME_START_US) is known
    assert ctx.started(40, _START_US + SAME_START_US + 1) is not known
    assert ctx.started(41, _START_US) is not known


def test_a_process_known_by_its_own_key_becomes_that_of_the_guid(ctx: HostContext) -> None:
    before = ctx.by_key("exec:1", 40, _START_US)
    after = ctx.by_guid(_GUID, 40)
    assert before is not after
    assert ctx.by_key("exec:1", 40, _START_US) is after
    assert ctx.find(40, _START_US) is after


def test_a_pid_that_nobody_saw_start_is_one_process_an_image(ctx: HostContext) -> None:
    one = ctx.mention(40, "C:\\a.exe")
    other = ctx.mention(40, "C:\\b.exe")
    assert one.id != other.id
    assert ctx.alive(40, _START_US) is other
    assert ctx.alive(40, _START_US, "c:\\A.exe") is one


def test_one_image_is_the_same_with_its_drive_and_with_its_device(ctx: HostContext) -> None:
    one = ctx.mention(40, "\\device\\harddiskvolume2\\windows\\a.exe")
    assert ctx.mention(40, "C:\\Windows\\a.exe") is one
    assert one.path == "C:\\Windows\\a.exe"


def test_guids_of_processes_that_linux_lost_sight_of_have_no_pid(ctx: HostContext) -> None:
    known = ctx.by_guid("{7d1f0a2b-9e21-6543-0000-000000000000}", 40)
    assert known is not None
    assert known.pid == 0


def test_of_two_guids_for_one_process_that_of_its_creation_is_meant(ctx: HostContext) -> None:
    other, created = ctx.by_guid(_GUID, 40), ctx.by_guid(_GUID.replace("0400", "0300"), 40)
    assert other is not None
    assert created is not None
    created.created = True
    assert ctx.started(40, _START_US) is created


def test_what_is_known_is_reported_once(ctx: HostContext) -> None:
    known = ctx.by_guid(_GUID, 40)
    assert known is not None
    known.learn(path="C:\\x\\a.exe", username="CORP\\ann", cmdline="a -b")
    out: list[Outcome] = []
    known.report(out)
    known.learn(path="C:\\x\\a.exe", username="CORP\\ann", cmdline="a -b")
    known.report(out)
    assert _reported(out) == [
        {
            "process_guid": _GUID[1:-1].lower(),
            "process_pid": 40,
            "start": _START_US,
            "path": "C:\\x\\a.exe",
            "process_name": "a.exe",
            "username": "CORP\\ann",
            "cmdline": "a -b",
        }
    ]


def test_everything_is_reported_again_after_a_failed_commit(ctx: HostContext) -> None:
    known = ctx.by_guid(_GUID, 40)
    assert known is not None
    out: list[Outcome] = []
    known.learn(cmdline="a -b")
    known.report(out)
    ctx.mark_unreported()
    known.learn(cmdline="a -b")
    known.report(out)
    assert _reported(out)[0] == _reported(out)[1]


def test_what_the_store_knew_before_a_restart_is_not_reported_again(ctx: HostContext) -> None:
    derived = process_id_from_start(7, 41, _START_US)
    whole = HostProcess(7, _ID, 40, _START_US, 0, "C:\\a.exe", "ab", "cd", "ann", "parent")
    ctx.restore([whole, HostProcess(7, derived, 41, _START_US, 0, "", "", "", "", "")])
    known = ctx.by_guid(_GUID, 40)
    assert known is not None
    assert (known.path, known.is_reported) == ("C:\\a.exe", True)
    assert (known.md5, known.sha256, known.username) == ("ab", "cd", "ann")
    assert ctx.parent_id_of(known) == "parent"
    assert ctx.started(40, _START_US + 1_000) is known
    assert ctx.started(41, _START_US).id == derived


def test_processes_are_bounded_and_what_is_used_stays(ctx: HostContext) -> None:
    used = ctx.by_guid(_GUID, 40)
    for number in range(3 * HOST_PROCESSES_MAX):
        ctx.started(1_000 + number, _START_US)
        assert ctx.by_guid(_GUID) is used
    assert len(ctx._known) <= 2 * HOST_PROCESSES_MAX
    assert len(ctx._pids) <= 2 * HOST_PROCESSES_MAX
    assert ctx.find(40, _START_US) is used


def test_many_hosts_divide_the_cache_capacity(ctx: HostContext) -> None:
    ctx.divide_capacity(4)
    for number in range(HOST_PROCESSES_MAX):
        ctx.started(1_000 + number, _START_US)
    assert len(ctx._known) <= 2 * HOST_PROCESSES_MAX // 4
    assert ctx.find(1_000 + HOST_PROCESSES_MAX - 1, _START_US) is not None


# --- names, drives, clock, logons ---------------------------------------------------------


def test_an_address_is_named_by_the_answer_of_its_time(ctx: HostContext) -> None:
    address = pack_address("10.1.2.3")
    ctx.learn_answer(address, "late.example", 2_000_000_000)
    ctx.learn_answer(address, "early.example", 1_000_000_000)
    assert ctx.name_of(address, 1_500_000_000) == "early.example"
    assert ctx.name_of(address, 2_500_000_000) == "late.example"
    assert ctx.name_of(address, 900_000_000) == ""
    assert ctx.name_of(address, 2_000_000_000 + 25 * HOUR_US) == ""


def test_an_answer_logged_just_after_its_connection_counts(ctx: HostContext) -> None:
    ctx.learn_answer(pack_address("10.1.2.3"), "a.example", 2_000_000_000)
    assert ctx.name_of(pack_address("10.1.2.3"), 1_996_000_000) == "a.example"


def test_loopback_and_nothing_are_no_addresses_of_a_host(ctx: HostContext) -> None:
    for text in ("127.0.0.1", "::1", "0.0.0.0", "", "10.0.0.5"):
        ctx.learn_local(pack_address(text))
    assert ctx.local == {pack_address("10.0.0.5")}


def test_a_device_is_the_drive_on_which_most_of_its_files_are(ctx: HostContext) -> None:
    known = ctx.by_guid(_GUID, 40)
    assert known is not None
    ctx.learn_path(known, "C:\\Windows\\svchost.exe")
    ctx.learn_device_path("\\device\\harddiskvolume2\\windows\\svchost.exe")
    assert ctx.drive_path("\\Device\\HarddiskVolume2\\Temp\\X.exe") == "C:\\Temp\\X.exe"
    assert ctx.drive_path("\\device\\other\\x") == "\\device\\other\\x"
    assert ctx.drive_path("C:\\x") == "C:\\x"


def test_the_clock_is_off_by_what_most_records_show(ctx: HostContext) -> None:
    for hours in (0, -5, -5, -5, 1):
        ctx.learn_clock(_START_US + hours * HOUR_US + 40_000_000, _START_US)
    assert ctx.clock_offset_us == -5 * HOUR_US


def test_a_record_replayed_after_days_says_nothing_of_the_clock(ctx: HostContext) -> None:
    ctx.learn_clock(_START_US + 100 * HOUR_US, _START_US)
    assert ctx.clock_offset_us == 0


@pytest.mark.parametrize("logon_first", [True, False])
def test_a_logon_type_reaches_its_processes_in_either_order(
    ctx: HostContext, logon_first: bool
) -> None:
    known = ctx.by_guid(_GUID, 40)
    assert known is not None
    steps = [
        lambda: ctx.learn_logon("0x3e7", 5),
        lambda: ctx.learn_logon_process("0x3e7", known),
    ]
    for step in steps if logon_first else reversed(steps):
        step()
    assert known.logon_type == 5


def test_a_file_is_reported_once_with_its_earliest_time_and_best_values(ctx: HostContext) -> None:
    hashes = f"MD5={'a' * 32}"
    image = ctx.learn_image("C:\\a.dll", hashes, 50)
    image.learn({"file_version": "1"})
    assert ctx.learn_image("C:\\a.dll", hashes, 20) is image
    out: list[Outcome] = []
    image.report(out)
    ctx.learn_image("C:\\a.dll", hashes, 90).report(out)
    assert [(seen.time_us, seen.values) for seen in out] == [(20, {"file_version": "1"})]


def test_a_file_without_a_hash_is_not_reported(ctx: HostContext) -> None:
    out: list[Outcome] = []
    ctx.learn_image("C:\\a.dll", "-", 50).report(out)
    assert out == []


def test_an_md5_is_learned_from_a_file_that_has_both(ctx: HostContext) -> None:
    ctx.learn_image("C:\\a.dll", f"MD5={'a' * 32},SHA256={'b' * 64}", 1)
    assert ctx.md5_of("b" * 64) == "a" * 32
    assert ctx.md5_of("") == ""


# --- pids that are used again -------------------------------------------------------------


def test_a_creation_ends_the_process_that_had_the_pid_a_moment_before(ctx: HostContext) -> None:
    first = ctx.started(44, _START_US)
    second = ctx.started(44, _START_US + 1_000_000)
    assert ctx.alive(44, _START_US + 500_000) is first
    assert ctx.alive(44, _START_US + 1_000_000) is second
    assert ctx.alive(44, _START_US + 1_500_000) is second


def test_a_start_by_another_log_may_be_a_little_later_than_the_event(ctx: HostContext) -> None:
    known = ctx.by_guid(_GUID, 44)
    assert ctx.find(44, _START_US - SAME_START_US) is known
    assert ctx.find(44, _START_US - SAME_START_US - 1) is None


# --- sources ------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, -1])
def test_what_others_say_of_a_process_does_not_replace_what_it_says_itself(
    ctx: HostContext, order: int
) -> None:
    known = ctx.started(44, _START_US)
    claims = [("C:\\a.exe", "CORP\\ann", Rank.OWN), ("C:\\z.exe", "CORP\\zoe", Rank.OTHERS)]
    for path, username, rank in claims[::order]:
        known.learn(path=path, username=username, rank=rank)
    assert (known.path, known.username) == ("C:\\a.exe", "CORP\\ann")
    out: list[Outcome] = []
    known.report(out)
    ranks = {one.rank for one in out if isinstance(one, Facts) and "path" in one.values}
    assert ranks == {Rank.OWN}


def test_what_only_others_say_is_reported_with_their_rank(ctx: HostContext) -> None:
    known = ctx.started(44, _START_US)
    known.learn(path="C:\\z.exe", rank=Rank.OTHERS)
    known.learn(username="CORP\\ann")
    out: list[Outcome] = []
    known.report(out)
    by_rank = {one.rank: one.values for one in out if isinstance(one, Facts)}
    assert by_rank[Rank.OTHERS]["path"] == "C:\\z.exe"
    assert by_rank[Rank.OWN] == {"username": "CORP\\ann"}


@pytest.mark.parametrize("order", [1, -1])
def test_a_path_with_a_drive_is_better_than_one_of_an_nt_device(
    ctx: HostContext, order: int
) -> None:
    device, drive = "\\device\\harddiskvolume2\\b.exe", "C:\\b.exe"
    known = ctx.mention(44, device)
    for path in (device, drive)[::order]:
        assert ctx.mention(44, path) is known
        known.learn(path, rank=Rank.OTHERS)
    assert known.path == drive
