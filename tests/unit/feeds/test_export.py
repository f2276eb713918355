"""Feeds that are exported for other servers conform to the public rules."""

from base64 import b64encode
from typing import Any

import pytest

from tests.support.cbfeeds_rules import check_cbfeeds
from vedette.feeds.export import exported_info, exported_reports
from vedette.feeds.formats.documents import read_items
from vedette.model.threat.feed import Report

PNG = b64encode(b"\x89PNG\r\n\x1a\n" + bytes(20)).decode()


def a_feed(**members: Any) -> dict[str, Any]:
    return {"name": "my-feed", "display_name": None, "provider_rating": None} | members


def a_report(**members: Any) -> dict[str, Any]:
    known = {"id": "r", "title": "t", "description": "", "link": "", "timestamp": 1, "score": 5}
    return known | {"tags": [], "iocs": {"md5": ["ab" * 16]}} | members


def queries(*texts: str, index_type: str = "events") -> dict[str, Any]:
    return {"query": [{"index_type": index_type, "search_query": text} for text in texts]}


def exported(**members: Any) -> tuple[list[dict[str, Any]], int]:
    """The reports that one becomes, which follow the rules, and how much is left out."""
    found, left_out = exported_reports(a_report(**members))
    check_cbfeeds({"feedinfo": exported_info(a_feed()), "reports": found})
    return found, left_out


@pytest.mark.parametrize(
    ("stored", "written"),
    [
        ("q=process_name%3Acmd.exe", "q=process_name%3Acmd.exe"),
        ("q=process_name:cmd.exe path:c:\\a", "q=process_name%3Acmd.exe%20path%3Ac%3A%5Ca"),
        ("q=cmdline:a%2Bb+c", "q=cmdline%3Aa%2Bb%20c"),
        ("cb.urlver=1&q=cmdline%3Aa=b", "cb.urlver=1&q=cmdline%3Aa%3Db"),
        ("process_name:cmd.exe (a OR b*)", "q=process_name%3Acmd.exe%20(a%20OR%20b*)"),
        ("svc.q.process_name=cmd.exe", "cb.q.process_name=cmd.exe"),
        ("q=%C3%BCber", "q=%C3%BCber"),
    ],
)
def test_a_query_is_written_percent_encoded(stored: str, written: str) -> None:
    (report,), left_out = exported(iocs=queries(stored))
    assert report["iocs"]["query"] == {"index_type": "events", "search_query": [written]}
    assert left_out == 0


def test_what_the_rules_do_not_know_is_left_out_and_counted() -> None:
    iocs = {
        "ipv4": ["198.51.100.0/24", "198.51.100.7"],
        "ipv6": ["2001:db8::/32"],
        "dns": ["_srv.evil.example", "c2.evil.example", "a-.example"],
    }
    (report,), left_out = exported(iocs=iocs)
    assert report["iocs"] == {"ipv4": ["198.51.100.7"], "dns": ["c2.evil.example", "a-.example"]}
    assert left_out == 3
    assert exported(iocs=queries("svc.fq.process_name=cmd.exe")) == ([], 1)
    assert exported(id="a b") == ([], 1)


def test_queries_of_two_kinds_are_two_reports_with_other_ids() -> None:
    asked = queries("q=a")["query"] + queries("q=b", index_type="modules")["query"]
    found, left_out = exported(iocs={"query": asked, "md5": ["ab" * 16]})
    assert [one["id"] for one in found] == ["r", "r.events-queries", "r.modules-queries"]
    assert left_out == 0


@pytest.mark.parametrize(
    ("icon", "is_kept"),
    [
        (PNG, True),
        (b64encode(b"\xff\xd8\xff\xe0\0\x10JFIF").decode(), True),
        (b64encode(b"GIF89a").decode(), True),
        (b64encode(b"<svg/>").decode(), False),
        (f"{PNG}\n", False),
        (PNG.rstrip("="), False),
        ("no base64", False),
        ("", False),
    ],
)
def test_an_icon_is_a_picture_or_left_out(icon: str, is_kept: bool) -> None:
    info = exported_info(a_feed(icon=icon, provider_rating=3.5))
    assert ("icon" in info) == is_kept
    check_cbfeeds({"feedinfo": info, "reports": []})


def test_hostile_text_stays_within_the_rules() -> None:
    (report,), _ = exported(score=-5, tags=["a-b", "ü", "", "x" * 40, "ab"], description="\0\n")
    assert (report["score"], report["tags"]) == (0, ["ab", "x" * 32])


def test_what_is_written_is_read_again() -> None:
    """An export is a feed of this server too."""
    import json

    iocs = queries("q=cmdline:a%2Bb+c")
    found, _ = exported(iocs=iocs)
    document = json.dumps({"feedinfo": exported_info(a_feed()), "reports": found}).encode()
    kind, items = read_items(iter([document]))
    (report,) = [one for one in items if isinstance(one, Report)]
    assert (kind, report.iocs[0].value) == ("cbfeeds", "q=cmdline%3Aa%2Bb%20c")
