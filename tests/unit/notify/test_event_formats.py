"""CEF, LEEF and JSON, byte for byte, and what hostile titles do to them."""

import json
from typing import get_args, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette import __version__
from vedette.notify.event_formats import FORMATS, cef, json_line, leef
from vedette.notify.notice import Notice, decode, encode, notice_of
from vedette.settings import Settings

NOTICE = Notice(
    id="ab12",
    source_kind="rule",
    source_id="4d2a",
    alert_type="watchlist.hit.query.process",
    title="Encoded PowerShell",
    description="a=b",
    severity=75,
    level="high",
    time_us=1_700_000_000_123_456,
    created_us=1_700_000_001_000_000,
    hostname="pc.corp",
    username="CORP\\ann",
    process_path="c:\\windows\\powershell.exe",
    md5="ff" * 16,
    techniques=["T1059.001"],
)


def test_cef_is_escaped_as_its_format_says() -> None:
    assert cef(NOTICE) == (
        f"CEF:0|Vedette|Vedette|{__version__}|rule:4d2a|Encoded PowerShell|8|"
        "rt=1700000001000 start=1700000000123 externalId=ab12 cat=watchlist.hit.query.process "
        "cnt=1 dhost=pc.corp duser=CORP\\\\ann filePath=c:\\\\windows\\\\powershell.exe "
        f"fileHash={'ff' * 16} msg=a\\=b cs1=high cs1Label=Level cs2=T1059.001 cs2Label=Techniques"
    )


def test_leef_has_the_delimiter_that_its_header_names() -> None:
    assert leef(NOTICE) == (
        f"LEEF:2.0|Vedette|Vedette|{__version__}|rule:4d2a|x5E|"
        "devTime=1700000000123^cat=watchlist.hit.query.process^sev=8^name=Encoded PowerShell^"
        "externalId=ab12^identHostName=pc.corp^usrName=CORP\\ann^"
        f"resource=c:\\windows\\powershell.exe^md5={'ff' * 16}^level=high^techniques=T1059.001^"
        "count=1"
    )


def test_a_hostile_title_adds_no_field_and_no_line() -> None:
    hostile = Notice(id="1", title="a|b\\c\r\nCEF:0|x", description="x=1 dhost=other\nline\x1b[2J")
    text = cef(hostile)
    assert "|a\\|b\\\\c  CEF:0\\|x|" in text
    assert "msg=x\\=1 dhost\\=other\\nline [2J" in text
    text = leef(Notice(id="1", title="t^usrName=admin\nx", source_id="a|b"))
    assert "name=t usrName=admin x" in text
    assert "|:a b|x5E|" in text


@given(st.text(max_size=40), st.sampled_from(sorted(FORMATS)))
def test_every_format_is_one_printable_line_that_can_be_encoded(text: str, name: str) -> None:
    notice = decode(encode(notice_of({"id": "1", "title": text, "username": text, "tags": [text]})))
    line = FORMATS[name](notice)
    assert line.isprintable()
    assert line.encode()


@given(st.text(max_size=40))
def test_a_line_of_json_is_the_notice(text: str) -> None:
    clean = encode(Notice(id="1", title=text))
    shown = json.loads(json_line(decode(clean)))["title"]
    meant = json.loads(clean)["title"]
    assert shown == "".join(
        one if one.isprintable() or ord(one) < 0x10000 else " " for one in meant
    )


def test_there_is_a_format_for_each_choice_of_the_setting() -> None:
    kind = get_type_hints(Settings)["syslog_format"]
    assert sorted(FORMATS) == sorted(get_args(kind))


def test_long_values_are_cut() -> None:
    notice = notice_of(
        {"id": "1", "title": "x" * 10_000, "matched": {str(n): "y" * 9_999 for n in range(99)}}
    )
    assert (len(notice.title), len(notice.matched), len(notice.matched["0"])) == (2_000, 50, 2_000)


@pytest.mark.parametrize("text", ["\udcff", "a\x00b"])
def test_what_a_database_cannot_hold_is_replaced(text: str) -> None:
    body = encode(Notice(id="1", title=text))
    assert "\x00" not in json.loads(body)["title"]
    assert body.encode()
