"""Pseudonyms of users and secrets in records."""

import time
from typing import Any

import pytest

from vedette.ingest.pseudonyms import Pseudonyms, secret_pattern_problem
from vedette.ingest.record import Record
from vedette.model.privacy import GroupPrivacy

USERS = GroupPrivacy(user_names=True)
PASSWORD = r"(?:--password|-p)[= ](\S+)"


def hidden(privacy: GroupPrivacy, key: bytes = b"key", **data: Any) -> dict[str, Any]:
    record = Record("windows", "h.example", 1, "Security", data=data)
    Pseudonyms(key, privacy).hide(record)
    return record.data


def test_equal_names_stay_equal_and_others_differ() -> None:
    found = hidden(USERS, User="CORP\\Ann", TargetUserName="ann", SubjectUserName="bob")
    domain, _, name = found["User"].partition("\\")
    assert domain == "CORP"
    assert name.startswith("user-")
    assert found["TargetUserName"] == name != found["SubjectUserName"]
    assert hidden(USERS, b"other key", User="ann")["User"] != name


@pytest.mark.parametrize(
    "name",
    ["NT AUTHORITY\\SYSTEM", "root", "1000", "WEB-1$", "-", "S-1-5-18", "", "DWM-2", "unset"],
)
def test_accounts_that_stand_for_no_person_keep_their_names(name: str) -> None:
    assert hidden(USERS, User=name)["User"] == name


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (r"C:\Users\ann\a.exe", r"C:\Users\{}\a.exe"),
        ("/home/ann", "/home/{}"),
        ('"C:\\Users\\ann" x', '"C:\\Users\\{}" x'),
        ("cp /home/ann/a /Users/Ann/b", "cp /home/{}/a /Users/{}/b"),
        (r"C:\Users\Public\a.exe", r"C:\Users\Public\a.exe"),
        ("/usr/bin/home", "/usr/bin/home"),
    ],
)
def test_the_folders_of_users_have_their_pseudonyms(before: str, after: str) -> None:
    name = hidden(USERS, User="ann")["User"]
    assert hidden(USERS, Image=before)["Image"] == after.replace("{}", name)


@pytest.mark.parametrize(
    "member",
    [
        "ParentUser",
        "TargetOutboundUserName",
        "Detection User",
        "set_user",
        "filesystem_user",
        "SamAccountName",
        "UserId",
        "UserContext",
        "jobOwner",
        "AUID",
        "effective_user",
    ],
)
def test_members_that_name_an_account_are_hidden(member: str) -> None:
    name = hidden(USERS, User="ann")["User"]
    assert hidden(USERS, **{member: "CORP\\Ann"})[member] == f"CORP\\{name}"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "Host = x\r\n  User = CORP\\ann\r\n  Connected User = \r\n  Shell = y",
            "Host = x\r\n  User = CORP\\{}\r\n  Connected User = \r\n  Shell = y",
        ),
        ("\tUserId=CORP\\Ann\n\tHostName=a", "\tUserId=CORP\\{}\n\tHostName=a"),
        ("user: MXS01\\ann ip: 192.0.2.4 hostname: h", "user: MXS01\\{} ip: 192.0.2.4 hostname: h"),
        ("\tAccount Name:\t\tann@corp.example\r\n", "\tAccount Name:\t\t{}@corp.example\r\n"),
        ("runas /user:CORP\\ann cmd", "runas /user:CORP\\{} cmd"),
        ('{"user": "ann", "a": 1}', '{"user": "{}", "a": 1}'),
        ("/login?user=ann&x=1", "/login?user={}&x=1"),
        ("User = NT AUTHORITY\\SYSTEM\n", "User = NT AUTHORITY\\SYSTEM\n"),
        ("UserId=1000 user=root User: -", "UserId=1000 user=root User: -"),
        ("C:\\Program Files\\User Accounts\\a.exe", "C:\\Program Files\\User Accounts\\a.exe"),
    ],
)
def test_names_behind_what_says_so_are_hidden_in_free_text(before: str, after: str) -> None:
    name = hidden(USERS, User="ann")["User"]
    assert hidden(USERS, Text=before)["Text"] == after.replace("{}", name)


def test_a_name_of_two_words_is_hidden_to_the_end_of_its_line() -> None:
    found = hidden(USERS, User="CORP\\Ann Smith", Message="x:\r\nUser: CORP\\Ann Smith\r\nA: x")
    assert found["Message"] == f"x:\r\nUser: {found['User']}\r\nA: x"


@pytest.mark.parametrize("name", ["user-bob", "s-1-bob", "user-0123456789abcdef"])
def test_a_name_that_looks_like_a_pseudonym_is_hidden(name: str) -> None:
    assert name not in hidden(USERS, User=name)["User"]


def test_what_is_hidden_is_not_hidden_again() -> None:
    once = hidden(USERS, User="CORP\\ann", Image="/home/ann/x", Text="User = ann")
    assert hidden(USERS, **once) == once


def test_a_name_with_a_space_is_hidden_whole() -> None:
    found = hidden(USERS, Image=r"C:\Users\Ann Smith\a.exe", User="CORP\\Ann Smith")
    assert "Smith" not in str(found)
    assert found["User"].partition("\\")[2] in found["Image"]


def test_a_secret_is_hidden_and_the_rest_of_its_text_stays() -> None:
    privacy = GroupPrivacy(secret_patterns=(PASSWORD,))
    found = hidden(privacy, CommandLine="run --password hunter2 --host x", Again="-p=hunter2")
    assert "hunter2" not in str(found)
    assert found["CommandLine"].startswith("run --password [secret-")
    assert found["CommandLine"].endswith(" --host x")
    assert found["Again"].removeprefix("-p=") in found["CommandLine"]


def test_a_secret_in_an_argument_of_its_own_is_hidden() -> None:
    privacy = GroupPrivacy(secret_patterns=(PASSWORD,))
    found = hidden(privacy, EXECVE={"ARGV": ["mysql", "-p", "hunter2", "db"]})
    argv = found["EXECVE"]["ARGV"]
    assert argv[:2] + argv[3:] == ["mysql", "-p", "db"]
    assert argv[2].startswith("[secret-")


def test_a_secret_over_several_arguments_is_hidden() -> None:
    found = hidden(GroupPrivacy(secret_patterns=("BEGIN.*END",)), a=["x", "BEGIN a", "b", "END y"])
    assert "".join(found["a"][1:3]).startswith("[secret-")
    assert found["a"] == ["x", found["a"][1], "", " y"]


def test_secrets_are_hidden_at_any_depth_and_beside_what_has_no_text() -> None:
    privacy = GroupPrivacy(secret_patterns=("AKIA[0-9A-Z]{4}",))
    found = hidden(privacy, a=[{"b": [["AKIA1234", 7], None]}], c="xAKIA5678")
    assert "AKIA" not in str(found)
    assert found["a"][0]["b"][0][1] == 7
    deep: Any = "AKIA1234"
    for _ in range(900):
        deep = [deep]
    assert "AKIA" not in str(hidden(privacy, deep=deep))


def test_patterns_that_overlap_hide_all_that_any_of_them_finds() -> None:
    privacy = GroupPrivacy(secret_patterns=("abc", "bcd", r"secret-\w+"))
    assert hidden(privacy, a="xabcdy")["a"].count("[secret-") == 1
    assert "abc" not in hidden(privacy, a="xabcdy")["a"]


@pytest.mark.parametrize("pattern", ["(", "a{2000}", "(?<=a)b", "a*", "\udc00"])
def test_a_pattern_that_cannot_be_used_is_refused(pattern: str) -> None:
    assert secret_pattern_problem(pattern)


def test_a_long_text_takes_time_in_proportion_to_its_length() -> None:
    privacy = GroupPrivacy(True, ("(a|a)*b", "(x+x+)+y"))

    def cpu_s(size: int) -> float:
        began = time.process_time()
        hidden(privacy, a="a" * size, b="x" * size, c="/home/" * size, d="user: a " * size)
        return time.process_time() - began

    cpu_s(1_000)
    assert cpu_s(40_000) < 3 * cpu_s(20_000) + 0.5
