"""`<Event>` XML as it really comes: badly escaped, cut off, hostile."""

import pytest

from vedette.ingest.decode.eventxml import parse_data, parse_event
from vedette.ingest.record import RecordError

_SYSTEM = (
    '<System><Provider Name="Linux-Sysmon"/><EventID>5</EventID>'
    '<TimeCreated SystemTime="2024-01-02T03:04:05.900Z"/><EventRecordID>9</EventRecordID>'
    "<Channel>Linux-Sysmon/Operational</Channel><Computer>Box</Computer></System>"
)


def _event(data: str, end: str = "</EventData></Event>") -> str:
    return f"<Event>{_SYSTEM}<EventData>{data}{end}"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ('<Data Name="Image">/bin/a</Data>', {"Image": "/bin/a"}),
        ('<Data Name="Image"></Data>', {"Image": ""}),
        ("<Data>one</Data><Data>two</Data>", {"param1": "one", "param2": "two"}),
        ('<Data Name="C">a &amp;&lt; b</Data>', {"C": "a &< b"}),
        ('<Data Name="C">a && b</Data>', {"C": "a && b"}),
        ('<Data Name="C">&lt unknown process&gt </Data>', {"C": "< unknown process> "}),
        ('<Data Name="C">a\x01b&#x2;</Data>', {"C": "a\ufffdb\ufffd"}),
        ('<Data Name="C">a&#10;b</Data>', {"C": "a\nb"}),
    ],
)
def test_event_data_are_read_however_they_are_escaped(data: str, expected: dict[str, str]) -> None:
    assert parse_event(_event(data)).data == expected


def test_an_event_that_syslog_cut_off_gives_what_is_there() -> None:
    record = parse_event(_event('<Data Name="A">1</Data><Data Name="C">java -Dx=', end=""))
    assert record.data == {"A": "1", "C": "java -Dx="}
    assert (record.host, record.record_id) == ("box", 9)


def test_an_event_cut_off_inside_its_system_part_is_refused() -> None:
    with pytest.raises(RecordError) as refused:
        parse_event(_event("")[:120])
    assert refused.value.reason == "bad_xml"


def test_a_command_line_cannot_replace_a_field_before_it() -> None:
    data = '<Data Name="Image">/bin/a</Data><Data Name="C">& <Data Name="Image">/bin/b</Data>'
    assert parse_event(_event(data)).data["Image"] == "/bin/a"


@pytest.mark.parametrize(
    "declaration",
    ['<!DOCTYPE Event [<!ENTITY a "aaaa">]>', "<!doctype x>", '<!ENTITY % p SYSTEM "file:///a">'],
)
def test_declarations_are_refused_wherever_they_stand(declaration: str) -> None:
    for text in (f"<Event>{declaration}{_SYSTEM}</Event>", _event(declaration)):
        with pytest.raises(RecordError) as refused:
            parse_event(text)
        assert refused.value.reason == "bad_xml"
    with pytest.raises(RecordError):
        parse_data(f"{declaration}<Data>x</Data>")


def test_user_data_are_read_from_below_their_first_element() -> None:
    user_data = '<UserData><Cleared xmlns="u"><Name>ann</Name></Cleared></UserData>'
    assert parse_event(f"<Event>{_SYSTEM}{user_data}</Event>").data == {"Name": "ann"}
