"""Highlighted parts of a value: the text that matched by the rule of its field."""

import pytest
import re2

from vedette.model.fields import PROCESS
from vedette.model.tokens import cmdline_tokens
from vedette.query import check, match_segment, parse
from vedette.query.highlight import markers
from vedette.search.processes.highlights import Highlights

CMD = r'"C:\Windows\system32\rundll32.exe" /d srrstr.dll,ExecuteScheduledSPPCreation'


def marked(query: str, column: str, value: str) -> str:
    """The value with `<` and `>` as markers; as it was where nothing is found."""
    by_column: dict[str, list[str]] = {column: []}
    for marker in markers(parse(query)):
        by_column.setdefault(marker.column, []).append(marker.pattern)
    found = Highlights(by_column)
    found.add(column, value, "id")
    names = [entry.text for entry in found.entries()] or [value]
    return str(names[0]).replace("PREPREPRE", "<").replace("POSTPOSTPOST", ">")


@pytest.mark.parametrize(
    ("query", "column", "expected"),
    [
        ("notepad.exe", "process_name", "<NOTEPAD.exe>"),
        ("notepad.exe", "path", r"c:\windows\system32\<notepad.exe>"),
        ("process_name:notepad.exe", "path", r"c:\windows\system32\<notepad.exe>"),
        ("notepad.exe", "regmod_path", r"\registry\muicache\c:\windows\<notepad.exe>"),
        ("notepad.exe", "cmdline", r'"c:\windows\<notepad.exe>" a.txt <notepad.exe>'),
        (r"path:system32\notepad.exe", "path", r"c:\windows\<system32\\notepad.exe>"),
        ("path:system32/notepad.exe", "path", r"c:\windows\<system32\notepad.exe>"),
        (r"path:c:\windows", "path", r"<c:\windows>\notepad.exe"),
        (r"path:c:\windows\*", "path", r"<c:\windows\notepad.exe>"),
        ("path:win*", "path", r"c:\<windows\notepad.exe>"),
        ("filemod:.dll", "filemod_path", r"c:\a<.dll>"),
        (r"filemod:c:\temp" + "\\", "filemod_path", r"<c:\temp\a.dll>"),
        (
            r"regmod:currentcontrolset\services\x",
            "regmod_path",
            r"\registry\machine\system\<ControlSet001\services\x>",
        ),
        ("cmdline:/d", "cmdline", CMD.replace("/d", "</d>")),
        (r"cmdline:c:\windows", "cmdline", CMD.replace(r"C:\Windows", r"<C:\Windows>")),
        ("cmdline:.exe", "cmdline", CMD.replace("rundll32.exe", "<rundll32.exe>")),
        (
            "cmdline:execute*",
            "cmdline",
            CMD.replace("ExecuteScheduledSPPCreation", "<ExecuteScheduledSPPCreation>"),
        ),
        ('cmdline:"-k netsvcs -p"', "cmdline", "svchost.exe <-k netsvcs -p> -s gpsvc"),
        ("cmdline:/user:", "cmdline", r"net use </user:>corp\bob"),
        ("cmdline:http:", "cmdline", "curl <http:>//foo.com/x"),
        ("cmdline:foo.com", "cmdline", "curl http://<foo.com>/x"),
        ("username:bob", "username", r"CORP\<Bob>"),
        (r"username:corp\bob", "username", r"<CORP\Bob>"),
        ("hostname:ws*", "hostname", "<WS-1>"),
        ("domain:com", "netconn_domain", "foo.<com>.au"),
        ("domain:.com", "netconn_domain", "foo.<com>"),
        ("domain:foo.", "netconn_domain", "<foo>.com"),
        ("domain:foo.com", "netconn_domain", "www.<foo.com>"),
        ("domain:*.level.io", "netconn_domain", "<a.level.io>"),
        ("md5:" + "ab" * 16, "process_md5", f"<{'AB' * 16}>"),
        ("childproc_name:cmd.exe", "childproc_path", r"c:\windows\<cmd.exe>"),
        ('scriptblock:"invoke mimikatz"', "scriptblock_text", "; <Invoke-Mimikatz> -DumpCreds"),
        ("a.exe b.exe", "path", r"c:\b.exe\<a.exe>"),
        ("a.exe OR -b.exe", "cmdline", "<a.exe> b.exe"),
        ("hostname:ws-1", "hostname", "<WS-1>.corp.example"),
        ("hostname:ws?1", "hostname", "<WS-1>.corp.example"),
        ("hostname:ws-1.corp", "hostname", "<ws-1.corp>"),
        ("domain:fo?.", "netconn_domain", "<foo>.com"),
        ("domain:.fo?.", "netconn_domain", "www.<foo>.com"),
        ("filewrite_md5:" + "ab" * 16, "filemod_md5", f"<{'AB' * 16}>"),
        (r"regmod:HKLM\software\x", "regmod_path", r"\<registry\machine\Software\x>"),
        (r"regmod:HKCU\software\x*", "regmod_path", r"\<registry\user\s-1-5\Software\xyz>"),
        (r"regmod:HKCR\x", "regmod_path", r"\<registry\user\s-1-5_Classes\x>"),
        ("cmdline:/nologo", "cmdline", "cscript /</nologo> x.js"),
        ("cmdline:/", "cmdline", "cmd </c> x </d>"),
    ],
)
def test_the_matched_text_is_marked(query: str, column: str, expected: str) -> None:
    value = expected.replace("<", "").replace(">", "")
    assert marked(query, column, value) == expected


@pytest.mark.parametrize(
    ("query", "column", "value"),
    [
        ("-notepad.exe", "path", r"c:\notepad.exe"),
        ("*", "path", r"c:\notepad.exe"),
        ("path:*", "path", r"c:\notepad.exe"),
        ("netconn_count:[1 TO *]", "cmdline", "1"),
        ("process_pid:4", "cmdline", "4"),
        ("start:2026-01-01", "cmdline", "2026-01-01"),
        ("digsig_result:signed", "cmdline", "signed"),
        ("cmdline:d", "cmdline", "a.exe /d"),
        ("cmdline:rundll32", "cmdline", "rundll32.exe"),
        ("path:boot", "path", r"c:\boot\winload.exe"),
        ("process_name:notepad", "process_name", "notepad.exe"),
        ("domain:.com", "netconn_domain", "foo.com.au"),
        ("process_name:a.exe", "filemod_path", r"c:\a.exe"),
        ("x" * 5_000, "path", "x" * 5_000),
    ],
)
def test_what_did_not_match_is_not_marked(query: str, column: str, value: str) -> None:
    assert marked(query, column, value) == value


@pytest.mark.parametrize(
    ("query", "column", "value"),
    [
        (r"path:windows\*\cmd.exe", "path", r"C:\Windows\System32\cmd.exe"),
        (r"path:system32\cm?.exe", "path", "C:/Windows//System32/cmd.exe"),
        ("path:.gz", "path", r"c:\a.tar.gz"),
        ("cmdline:/bin/ls", "cmdline", "/bin/ls /tmp/somefile"),
        ("cmdline:ls", "cmdline", "/bin/ls /tmp/somefile"),
        ("cmdline:somefile", "cmdline", "/bin/ls /tmp/somefile"),
        ("cmdline:/tmp", "cmdline", "/bin/ls /tmp/somefile"),
        ("cmdline:key:val", "cmdline", "x.exe key:val"),
        ("cmdline:*nc", "cmdline", "powershell -enc AAAA"),
        ("username:b?b", "username", r"CORP\bob"),
        ("process_name:PowerShell*", "process_name", "powershell.exe"),
    ],
)
def test_what_the_search_finds_is_marked(query: str, column: str, value: str) -> None:
    segment = {column: value}
    if column == "cmdline":
        segment["cmdline_tokens"] = cmdline_tokens(value)
    assert match_segment(check(parse(query), PROCESS, now_us=0), segment)
    assert "<" in marked(query, column, value)


@pytest.mark.parametrize(
    "query",
    [
        'cmdline:""',
        'notepad.exe ""',
        '"" OR " "',
        'username:""',
        'domain:"."',
        r'path:"\"',
        '"* *"',
    ],
)
def test_an_empty_phrase_marks_nothing_and_ends(query: str) -> None:
    for column in ("hostname", "username", "path", "cmdline", "netconn_domain", "process_name"):
        for value in ("", "a"):
            assert marked(query, column, value) == value


@pytest.mark.parametrize("query", ['""', 'cmdline:""', 'hostname:""', r'username:"\ "'])
def test_no_pattern_of_a_query_matches_the_empty_text(query: str) -> None:
    for marker in markers(parse(query)):
        assert re2.compile(marker.pattern).search("") is None, marker
