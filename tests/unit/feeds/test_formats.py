"""Contents of feed documents in every format, and their unreadable parts."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from vedette.feeds.formats import cbfeeds, misp, stix, value_list
from vedette.feeds.formats.documents import or_problem, read_items
from vedette.feeds.formats.indicator_values import UnreadableError, normal_value
from vedette.feeds.formats.json_pieces import BrokenDocumentError, cut
from vedette.model.threat.feed import BrokenPart, FeedInfo, Report

MD5, SHA256 = "ab" * 16, "cd" * 32


def pieces(document: bytes | str, size: int = 7) -> Iterator[bytes]:
    raw = document if isinstance(document, bytes) else document.encode()
    return (raw[at : at + size] for at in range(0, len(raw), size))


def read(document: bytes | str) -> tuple[str, list[Report], list[BrokenPart]]:
    name, items = read_items(pieces(document))
    found = list(items)
    reports = [one for one in found if isinstance(one, Report)]
    return name, reports, [one for one in found if isinstance(one, BrokenPart)]


def values(report: Report) -> list[tuple[str, str]]:
    return [(ioc.type, ioc.value) for ioc in report.iocs]


# --- pieces ------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3, 16, 4096])
def test_values_are_cut_out_whatever_the_chunks(size: int) -> None:
    text = r'{"a": [1, "x\"]}\\", {"b": [[], {}]}, null], "c\"d": true, "e": "skip", "a2": -1.5e3}'
    found = list(cut(pieces(text, size), (("a", "[]"), ("a2",))))
    assert [json.loads(one.data or b"") for one in found] == [
        1,
        'x"]}\\',
        {"b": [[], {}]},
        None,
        -1500.0,
    ]
    assert found[2].place == "a[2] at byte 21"


def test_a_piece_that_is_too_large_or_too_deep_is_passed_over() -> None:
    text = f'{{"r": ["{"x" * 5000}", 1, {"[" * 300}{"]" * 300}, 2]}}'
    found = [one.data for one in cut(pieces(text, 64), (("r", "[]"),), bytes_max=1000)]
    assert found == [None, b"1", None, b"2"]


@pytest.mark.parametrize("text", ["", "{", '{"r"', '{"r":', '{"r": [1', '{"r" 1}', '{"r": [1 2]}'])
def test_a_document_that_ends_early_says_where(text: str) -> None:
    with pytest.raises(BrokenDocumentError):
        list(cut(pieces(text), (("r", "[]"),)))


# --- values ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "text", "normal"),
    [
        ("md5", " ABABABABABABABABABABABABABABABAB ", MD5),
        ("ipv4", "10.1.2.3/24", "10.1.2.0/24"),
        ("ipv4", "10.1.2.3/32", "10.1.2.3"),
        ("ipv6", "2001:DB8:0::1", "2001:db8::1"),
        ("dns", "EVIL.Example.", "evil.example"),
        ("dns", "bücher.example", "xn--bcher-kva.example"),
        ("dns", "_srv.evil.example", "_srv.evil.example"),
    ],
)
def test_indicators_have_a_normal_form(kind: str, text: str, normal: str) -> None:
    assert normal_value(kind, text) == (kind, normal)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("md5", "ab"),
        ("md5", None),
        ("sha256", MD5),
        ("ipv4", "0.0.0.0/0"),
        ("ipv4", "10.0.0.0/7"),
        ("ipv4", "::1"),
        ("ipv6", "10.0.0.1"),
        ("ipv6", "::/8"),
        ("dns", "localhost"),
        ("dns", "a..b"),
        ("dns", "1.2.3.4"),
        ("dns", "x" * 64 + ".example"),
        ("email", "a@b.example"),
        ("query", "q=x"),
    ],
)
def test_what_is_no_indicator_is_refused(kind: str, value: Any) -> None:
    with pytest.raises(UnreadableError):
        normal_value(kind, value)


# --- cbfeeds -----------------------------------------------------------------------------------


def a_report(**members: Any) -> dict[str, Any]:
    known = {"id": "r", "title": "t", "link": "l", "timestamp": 5, "score": 10, "iocs": {}}
    return known | members


QUERY = "cb.urlver=1&q=process_name%3Anotepad.exe"


@pytest.mark.parametrize(
    "query",
    [
        {"index_type": "events", "search_query": [QUERY]},
        [{"index_type": "events", "search_query": QUERY}],
    ],
    ids=["object", "list"],
)
def test_both_forms_of_queries_are_read(query: Any) -> None:
    document = {"feedinfo": {"name": "x"}, "reports": [a_report(iocs={"query": query})]}
    name, reports, broken = read(json.dumps(document))
    assert (name, broken) == ("cbfeeds", [])
    assert [(one.index_type, one.value) for one in reports[0].iocs] == [("events", QUERY)]


@pytest.mark.parametrize(
    ("members", "word"),
    [
        ({"id": "a b"}, "id"),
        ({"title": ""}, "title"),
        ({"score": 101}, "score"),
        ({"score": True}, "score"),
        ({"timestamp": "now"}, "timestamp"),
        ({"timestamp": 1e300}, "timestamp"),
        ({"iocs": [1]}, "iocs"),
        ({"iocs": {"md5": [MD5], "query": []}}, "excludes"),
        ({"iocs": {"query": [{"index_type": "tables", "search_query": "q=x"}]}}, "index_type"),
        ({"iocs": {"query": [{"index_type": "events", "search_query": "q=(x"}]}}, "query"),
        ({"iocs": {"query": [{"index_type": "events", "search_query": "q=*:*"}]}}, "everything"),
        ({"iocs": {"query": [{"index_type": "modules", "search_query": "-md5:a"}]}}, "everything"),
        ({"tags": [1]}, "tags"),
    ],
)
def test_a_broken_report_says_what_is_wrong(members: dict[str, Any], word: str) -> None:
    reports = [a_report(id="good", iocs={"md5": [MD5]}), a_report(**members)]
    _, good, broken = read(json.dumps({"reports": reports}))
    assert [one.id for one in good] == ["good"]
    assert word in broken[0].problem
    assert broken[0].place.startswith("reports[1] at byte ")


def test_the_description_may_come_last() -> None:
    document = {"reports": [a_report(iocs={"md5": [MD5]})], "feedinfo": {"name": "last"}}
    found = list(cbfeeds.items(pieces(json.dumps(document))))
    assert isinstance(found[-1], FeedInfo)
    assert found[-1].name == "last"


# --- STIX --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("[file:hashes.MD5 = '" + MD5 + "']", [("md5", MD5)]),
        ("[file:hashes.'SHA-256' = '" + SHA256 + "']", [("sha256", SHA256)]),
        (
            f"[file:hashes.MD5 = '{MD5}' AND file:hashes.'SHA-256' = '{SHA256}']",
            [("md5", MD5), ("sha256", SHA256)],
        ),
        (
            "[ipv4-addr:value = '203.0.113.1' OR domain-name:value = 'evil.example'] "
            "OR [ipv6-addr:value = '2001:db8::1']",
            [("ipv4", "203.0.113.1"), ("dns", "evil.example"), ("ipv6", "2001:db8::1")],
        ),
        (
            "[ipv4-addr:value IN ('203.0.113.1', '198.51.100.0/24')]",
            [("ipv4", "203.0.113.1"), ("ipv4", "198.51.100.0/24")],
        ),
    ],
)
def test_patterns_that_list_indicators_are_read(pattern: str, found: list[Any]) -> None:
    assert stix.pattern_iocs(pattern) == found


@pytest.mark.parametrize(
    "pattern",
    [
        f"[file:hashes.MD5 = '{MD5}' AND file:name = 'x']",
        "[ipv4-addr:value = '203.0.113.1' AND domain-name:value = 'evil.example']",
        "[ipv4-addr:value = '203.0.113.1'] AND [domain-name:value = 'evil.example']",
        "[ipv4-addr:value = '203.0.113.1'] FOLLOWEDBY [domain-name:value = 'evil.example']",
        "[domain-name:value LIKE '%.example']",
        "[domain-name:value != 'evil.example']",
        "[ipv4-addr:value NOT = '203.0.113.1']",
        "[process:command_line = 'x']",
        "[file:hashes.'SHA-1' = 'x']",
        "[",
        "",
        "ipv4-addr:value =",
    ],
)
def test_patterns_that_mean_more_are_not_widened(pattern: str) -> None:
    with pytest.raises(UnreadableError):
        stix.pattern_iocs(pattern)


def test_a_bundle_is_read_with_expiry_and_confidence() -> None:
    indicator = {
        "type": "indicator",
        "id": "indicator--1",
        "name": "Bad name",
        "pattern": "[domain-name:value = 'evil.example']",
        "pattern_type": "stix",
        "modified": "2026-01-02T03:04:05Z",
        "valid_from": "2026-06-01T00:00:00Z",
        "valid_until": "2027-01-01T00:00:00.000Z",
        "confidence": 85,
    }
    bundle = {
        "type": "bundle",
        "id": "bundle--1",
        "objects": [
            {"type": "malware", "id": "malware--1"},
            indicator,
            indicator | {"id": "indicator--2", "revoked": True},
            indicator | {"id": "indicator--3", "pattern": "[x:y = 1]"},
        ],
    }
    name, reports, broken = read(json.dumps(bundle))
    assert name == "stix"
    assert [(one.id, len(one.iocs), one.score) for one in reports] == [
        ("indicator--1", 1, 85),
        ("indicator--2", 0, 85),
    ]
    assert reports[0].iocs[0].confidence == 0.85
    assert reports[0].iocs[0].expires_us == 1_798_761_600_000_000
    assert reports[0].valid_from_us == 1_780_272_000_000_000
    assert broken[0].report_id == "indicator--3"


# --- MISP --------------------------------------------------------------------------------------


def attribute(kind: str, value: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "value": value, "to_ids": True, "uuid": f"u-{kind}"} | more


def test_events_of_misp_are_reports() -> None:
    event = {
        "uuid": "5c1b",
        "info": "Campaign",
        "timestamp": "1700000000",
        "threat_level_id": "1",
        "Tag": [{"name": "tlp:white"}],
        "Attribute": [
            attribute("ip-dst|port", "203.0.113.1|443"),
            attribute("domain|ip", "evil.example|2001:db8::1"),
            attribute("filename|sha256", f"x.exe|{SHA256}"),
            attribute("domain", "seen.example", to_ids=False),
            attribute("email-src", "a@b.example"),
        ],
        "Object": [{"Attribute": [attribute("md5", MD5)]}],
    }
    for document in ({"Event": event}, {"response": [{"Event": event}]}, [{"Event": event}]):
        name, reports, broken = read(json.dumps(document))
        assert name == "misp"
        assert values(reports[0]) == [
            ("ipv4", "203.0.113.1"),
            ("dns", "evil.example"),
            ("ipv6", "2001:db8::1"),
            ("sha256", SHA256),
            ("md5", MD5),
        ]
        assert (reports[0].score, reports[0].tags) == (90, ("tlp:white",))
        assert "email-src" in broken[0].problem


def searched(kind: str, value: str, event: int, **more: Any) -> dict[str, Any]:
    """An attribute as `/attributes/restSearch` lists it."""
    about = {"id": str(event), "uuid": f"e-{event}", "info": f"Event {event}"}
    about["threat_level_id"] = "2"
    found = attribute(kind, value, event_id=str(event), timestamp="1700000000", Event=about)
    return {**found, **more}


def test_attributes_of_misp_are_a_report_for_each_event_in_any_order() -> None:
    listed = [
        searched("sha256", SHA256, 7),
        searched("domain", "evil.example", 8),
        searched("domain", "late.example", 7, timestamp="1700000009"),
        searched("domain", "seen.example", 7, to_ids=False),
        searched("domain", "gone.example", 7, deleted=True),
        searched("email-src", "a@b.example", 8),
        searched("md5", MD5, 9, to_ids="1", deleted="0"),
    ]
    for document in ({"response": {"Attribute": listed}}, {"Attribute": listed}):
        name, reports, broken = read(json.dumps(document))
        assert name == "misp"
        assert {one.id: values(one) for one in reports} == {
            "e-7": [("sha256", SHA256), ("dns", "late.example")],
            "e-8": [("dns", "evil.example")],
            "e-9": [("md5", MD5)],
        }
        assert [(one.title, one.score, one.time_us // 1_000_000) for one in reports] == [
            ("Event 7", 60, 1_700_000_009),
            ("Event 8", 60, 1_700_000_000),
            ("Event 9", 60, 1_700_000_000),
        ]
        assert ["email-src" in one.problem for one in broken] == [True]


def test_objects_of_misp_are_reports_of_their_events() -> None:
    event = {"id": "7", "uuid": "e-7", "info": "Campaign"}
    inside = [attribute("md5", MD5), attribute("filename", "a.exe", to_ids=False)]
    listed = [{"Object": {"name": "file", "event_id": "7", "Event": event, "Attribute": inside}}]
    _, reports, broken = read(json.dumps({"response": listed}))
    assert [(one.id, one.title, values(one)) for one in reports] == [
        ("e-7", "Campaign", [("md5", MD5)])
    ]
    assert broken == []


def test_an_attribute_of_misp_names_its_event_somehow() -> None:
    numbered = searched("md5", MD5, 7)
    del numbered["Event"]
    nameless = searched("md5", MD5, 8)
    del nameless["Event"], nameless["event_id"]
    late = searched("md5", MD5, 9, timestamp="tomorrow")
    document = {"response": {"Attribute": [numbered, nameless, late, "text", []]}}
    _, reports, broken = read(json.dumps(document))
    assert [(one.id, one.title) for one in reports] == [("misp-event-7", "MISP event 7")]
    problems = sorted(one.problem for one in broken)
    assert [one.partition(":")[0] for one in problems] == [
        "an attribute does not name its event",
        "is not an object",
        "is not an object",
        "timestamp",
    ]
    assert all("at byte" in one.place for one in broken)


@pytest.mark.parametrize("name", ["MISP_ATTRIBUTES_MAX", "MISP_ATTRIBUTES_CHARS_MAX"])
def test_attributes_of_misp_take_bounded_memory(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = [searched("md5", f"{number:032x}", number) for number in range(3)]
    document = json.dumps({"response": {"Attribute": listed}})
    monkeypatch.setattr(misp, name, 2)
    with pytest.raises(BrokenDocumentError, match="export events"):
        read(document)
    monkeypatch.setattr(misp, name, 1_000)
    assert len(read(document)[1]) == 3


# --- documents without indicators --------------------------------------------------------------

NOTHING = {
    "cbfeeds": {"feedinfo": {"name": "x"}, "reports": []},
    "cbfeeds without reports": {"feedinfo": {"name": "x"}},
    "cbfeeds of another shape": {"feedinfo": {"name": "x"}, "reports": {"a": 1}},
    "cbfeeds without iocs": {
        "reports": [{"id": "a", "title": "t", "timestamp": 1, "score": 1, "iocs": {}}]
    },
    "stix": {"type": "bundle", "objects": [{"type": "malware", "id": "malware--1"}]},
    "stix without objects": {"type": "bundle", "spec_version": "2.1"},
    "misp": {"response": []},
    "misp without attributes": {"response": {"Attribute": []}},
    "misp of another shape": {"response": {"Attribute": {"type": "md5", "value": MD5}}},
    "misp without to_ids": {"Event": {"uuid": "a", "Attribute": [attribute("md5", MD5, to_ids=0)]}},
    "misp attributes without to_ids": {
        "response": {"Attribute": [searched("md5", MD5, 7, to_ids=0)]}
    },
}


@pytest.mark.parametrize("document", NOTHING.values(), ids=NOTHING)
def test_a_document_that_is_read_and_has_no_indicator_is_a_problem(document: Any) -> None:
    name, reports, broken = read(json.dumps(document))
    assert sum(len(one.iocs) for one in reports) == 0
    assert [one.place for one in broken] == ["document"]
    assert f"read as {name}" in broken[0].problem
    assert "no indicators" in broken[0].problem


def test_a_list_without_an_indicator_is_a_problem() -> None:
    found = list(or_problem("list", value_list.items([b"# nothing\n\n"])))
    assert [one.place for one in found if isinstance(one, BrokenPart)] == ["document"]


# --- lists -------------------------------------------------------------------------------------


def test_a_list_has_an_indicator_a_line() -> None:
    text = f"# a list\n203.0.113.1\n\nEVIL[.]example # c2\nhttp://evil.example/x\n{MD5}\r\n"
    name, reports, broken = read(text)
    assert name == "list"
    assert [values(one)[0] for one in reports] == [
        ("ipv4", "203.0.113.1"),
        ("dns", "evil.example"),
        ("md5", MD5),
    ]
    assert [one.place for one in broken] == ["line 5"]


def test_columns_of_csv_are_found_by_their_names() -> None:
    text = (
        "first_seen,ja3_md5,score,confidence,Listingreason\n"
        f'2026-01-01,{MD5},80,90,"Dridex, v4"\n2026-01-01,short,1,1,x\n'
    )
    name, reports, broken = read("# banner\n203.0.113.9,x\n")
    assert (name, len(reports)) == ("list", 1)
    _, reports, broken = read(f"203.0.113.0/24,\n{text.splitlines()[1].split(',')[1]}\n")
    assert len(reports) == 2
    found = list(value_list.items(pieces(text)))
    assert isinstance(found[0], Report)
    assert values(found[0]) == [("ja3", MD5)]
    assert (found[0].score, found[0].iocs[0].confidence) == (80, 0.9)
    assert found[0].description == "Dridex, v4"
    assert isinstance(found[1], BrokenPart)
    assert broken == []


@pytest.mark.parametrize(
    "text", ["<html><body>hello</body></html>", "\0\1\2", "just words\n", "{}"]
)
def test_what_is_no_feed_is_refused(text: str) -> None:
    with pytest.raises(BrokenDocumentError, match="no format"):
        read(text)
