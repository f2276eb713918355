"""Meaning: values, dates, addresses, and the errors of each
(docs/query-values.md)."""

from datetime import UTC, datetime

import pytest

from vedette.errors import QueryError
from vedette.model.address import address_text
from vedette.model.binary_fields import BINARY
from vedette.query import check, parse
from vedette.query.check.checker import ANY_BINARY, QUERY_LEAVES_MAX, QUERY_OPERANDS_MAX
from vedette.query.nodes import And, Everything, Exact, Leaf, Text
from vedette.query.typed import (
    NUMBER_MAX,
    AddressTest,
    JoinTest,
    Match,
    NumberTest,
    PresentTest,
    TagTest,
    Test,
    TextTest,
    TimeTest,
    source_of,
)

NOW = datetime(2023, 11, 14, 12, 0, 0, tzinfo=UTC)
NOW_US = int(NOW.timestamp()) * 1_000_000


def asked_by(text: str) -> tuple[Test, ...]:
    checked = check(parse(text), now_us=NOW_US)
    assert isinstance(checked, Match)
    return checked.tests


def span(text: str) -> str:
    """The bounds of a date, as text."""
    (test,) = asked_by(text)
    assert isinstance(test, TimeTest)
    return f"{_moment(test.low_us)} {_moment(test.high_us)}"


def _moment(time_us: int) -> str:
    if time_us == 1 or time_us > 9_000_000_000_000_000:
        return "*"
    seconds, micros = divmod(time_us, 1_000_000)
    text = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return text + (f".{micros:06d}" if micros else "")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2016-12-01", "2016-12-01T00:00:00 2016-12-01T23:59:59.999999"),
        ("2016-12-01T22:15:00", "2016-12-01T22:15:00 2016-12-02T22:14:59.999999"),
        (r"2016-12-01T22\:15\:00", "2016-12-01T22:15:00 2016-12-02T22:14:59.999999"),
        ('"2016-12-01 22:15"', "2016-12-01T22:15:00 2016-12-02T22:14:59.999999"),
        ("[2016-12-01 TO 2016-12-31]", "2016-12-01T00:00:00 2016-12-31T23:59:59.999999"),
        ("[* TO 2011-12-31T22:15:00]", "* 2011-12-31T22:15:00"),
        ("[2016-12-01T10:00:00.5Z TO *]", "2016-12-01T10:00:00.500000 *"),
        ("{2016-12-01 TO 2016-12-03}", "2016-12-02T00:00:00 2016-12-02T23:59:59.999999"),
        ("[2016-12-01T10:00:00+02:00 TO *]", "2016-12-01T08:00:00 *"),
        ("-24h", "2023-11-13T12:00:00 2023-11-14T12:00:00"),
        ("-1440m", "2023-11-13T12:00:00 2023-11-14T12:00:00"),
        ("-1w", "2023-11-07T12:00:00 2023-11-14T12:00:00"),
        ("[-7d TO -1d]", "2023-11-07T12:00:00 2023-11-13T12:00:00"),
        ("[NOW-7DAYS TO NOW]", "2023-11-07T12:00:00 2023-11-14T12:00:00"),
        ("*", "* *"),
        ("[* TO *]", "* *"),
    ],
)
def test_a_date_stands_for_a_span(value: str, expected: str) -> None:
    assert span(f"start:{value}") == expected


def ranges(text: str) -> list[str]:
    return [
        f"{address_text(test.low)}-{address_text(test.high)}"
        for test in asked_by(text)
        if isinstance(test, AddressTest)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ipaddr:10.0.0.1", ["10.0.0.1-10.0.0.1"]),
        ("ipaddr:192.168.0.0/16", ["192.168.0.0-192.168.255.255"]),
        ("ipaddr:192.168.3.4/16", ["192.168.0.0-192.168.255.255"]),
        ("ip_address:[169.254.0.0 TO 169.254.1.1]", ["169.254.0.0-169.254.1.1"]),
        ("ipaddr:{10.0.0.0 TO 10.0.0.9}", ["10.0.0.1-10.0.0.8"]),
        ("ipaddr:{255.255.255.255 TO *]", []),
        ("ipaddr:[10.0.0.0 TO *]", ["10.0.0.0-255.255.255.255"]),
        ("ipaddr:10.0.*", ["10.0.0.0-10.0.255.255"]),
        ("ipaddr:10.*.*.*", ["10.0.0.0-10.255.255.255"]),
        ("ipaddr:fe80::1", ["fe80::1-fe80::1"]),
        ("ipaddr:2001:db8:*", ["2001:db8::-2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"]),
        (
            "ipaddr:fe8*",
            [
                "fe8::-fe8:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
                "fe80::-fe8f:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            ],
        ),
        ("ipv6addr:10.0.0.1", ["10.0.0.1-10.0.0.1"]),
        ("ipv6addr:fe00:b9::0/50", ["fe00:b9::-fe00:b9:0:3fff:ffff:ffff:ffff:ffff"]),
        ("ipaddr:*", ["0.0.0.0-255.255.255.255"]),
    ],
)
def test_an_address_stands_for_a_range_of_its_family(text: str, expected: list[str]) -> None:
    assert ranges(text) == expected


def test_addresses_of_both_families_leave_out_the_unknown_one() -> None:
    assert ranges("interface_ip:*") == ["::1-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"]


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("process_pid:4", 4, 4),
        ('process_pid:"4"', 4, 4),
        ("process_pid:[4 TO 9]", 4, 9),
        ("process_pid:{4 TO 9}", 5, 8),
        ("process_pid:[* TO 9]", 1, 9),
        ("filemod_count:*", 1, NUMBER_MAX),
        ("filemod_count:[* TO *]", 1, NUMBER_MAX),
        ("filemod_count:0", 0, 0),
        ("crossproc_access:0x1fffff", 0x1FFFFF, 0x1FFFFF),
        ("crossproc_type:remote_thread", 2, 2),
        ("crossproc_type:ProcessOpen", 4, 4),
        ("terminated:TRUE", 1, NUMBER_MAX),
        ('terminated:"false"', 0, 0),
        ("blocked_status:a-ProcessTerminated", 0, 0),
        ("hour_of_day:*", 0, 23),
    ],
)
def test_a_number_stands_for_a_range(text: str, low: int, high: int) -> None:
    (test,) = asked_by(text)
    assert isinstance(test, NumberTest)
    assert (test.low, test.high) == (low, high)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("start:yesterday", "start: 'yesterday' is not a date"),
        ("start:2016-13-01", "start: '2016-13-01' is not a date"),
        ("start:[NOW-7PARSECS TO *]", "start: 'NOW-7PARSECS' is not a date"),
        ("ipaddr:10.0.0.256", "ipaddr: '10.0.0.256' is not an address"),
        ("ipaddr:1*", "ipaddr: '1*': a wildcard can only replace the last parts"),
        ("ipaddr:1*.2", "ipaddr: '1*.2': a wildcard can only replace the last parts"),
        ("process_pid:x", "process_pid: 'x' is not a number"),
        ("process_pid:8*", "process_pid: '8*' is not a number"),
        ("process_pid:9999999999999999999", "too large"),
        ("terminated:maybe", "terminated: 'maybe' is not true or false"),
        ("terminated:[0 TO 1]", "true and false do not support ranges"),
        ("process_name:[a TO b]", "process_name: does not support ranges"),
        ("[1 TO 2]", "a range needs a field"),
        ("digsig_sign_time:yesterday", "digsig_sign_time: 'yesterday' is not a date"),
        ("is_64bit_modload:maybe", "is_64bit_modload: 'maybe' is not true or false"),
        ("watchlist_4:x", "watchlist_4: 'x' is not a date"),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused_at_its_leaf(text: str, message: str) -> None:
    with pytest.raises(QueryError) as caught:
        check(parse(f"a {text}"), now_us=NOW_US)
    assert message in caught.value.message
    assert (caught.value.start, caught.value.end) == (2, 2 + len(text))


@pytest.mark.parametrize("text", ["path:*.exe", "?md.exe", 'cmdline:"*x"'])
def test_a_leading_wildcard_can_be_forbidden(text: str) -> None:
    check(parse(text), now_us=0)
    with pytest.raises(QueryError, match="cannot begin with a wildcard"):
        check(parse(text), now_us=0, leading_wildcards=False)


@pytest.mark.parametrize("text", ["path:*", "path:a*", "*"])
def test_asking_for_anything_is_no_leading_wildcard(text: str) -> None:
    check(parse(text), now_us=0, leading_wildcards=False)


@pytest.mark.parametrize("text", ["cmdline:*", 'cmdline:"\\""', "path:\\", "domain:**", "domain:."])
def test_a_value_without_content_asks_for_anything(text: str) -> None:
    assert all(isinstance(test, PresentTest) for test in asked_by(text))


def test_a_hash_of_the_wrong_length_never_matches() -> None:
    assert asked_by("md5:abc") == ()
    assert asked_by(f"md5:{'z' * 32}") == ()
    assert len(asked_by(f"process_md5:{'A' * 32}")) == 1


def test_both_readings_of_a_path_are_tried() -> None:
    tests = asked_by(r'path:"c:\a \(x86\)\b.exe"')
    needles = {test.needle for test in tests if isinstance(test, TextTest)}
    assert r"\c:\a (x86)\b.exe" in needles
    assert r"\c:\a \(x86\)\b.exe" in needles


@pytest.mark.parametrize("text", ["has_emet_event:false", "emet_count:0", "*"])
def test_what_is_always_true_is_everything(text: str) -> None:
    assert check(parse(text), now_us=0) == Everything()


def test_a_unique_id_asks_for_its_segment_too() -> None:
    process = "00000001-0000-0000-0000-000000000007"
    checked = check(parse(f"unique_id:{process}-018bcfe56800"), now_us=0)
    assert isinstance(checked, And)
    _, second = checked.children
    assert isinstance(second, Match)
    assert second.tests == (NumberTest("segment_id", 0x018BCFE56800, 0x018BCFE56800),)
    assert asked_by(f"unique_id:{process}-00000001") == asked_by(f"id:{process}")


def test_an_exact_value_has_no_wildcards() -> None:
    checked = check(Leaf("path", Exact("c:\\A*")), now_us=0)
    assert isinstance(checked, Match)
    assert checked.tests == (TextTest("path", "folded", "equals", "c:\\a*"),)


def test_narrowing_words_are_whole_words_of_the_value() -> None:
    (test,) = asked_by("filemod:appdata\\local\\tem*.dat")
    assert isinstance(test, TextTest)
    assert test.tokens == ("appdata", "local", "dat")


def test_a_joined_field_asks_the_binary_of_a_hash() -> None:
    (test,) = asked_by("digsig_result_modload:unsigned")
    assert test == JoinTest(
        "modload_binary", (TextTest("digsig_result", "folded", "equals", "unsigned"),)
    )


def test_what_is_true_of_every_binary_asks_for_a_binary() -> None:
    assert asked_by("copied_mod_len_parent:0") == (JoinTest("parent_binary", (ANY_BINARY,)),)
    assert asked_by("copied_mod_len_parent:[1 TO *]") == ()


def test_an_original_name_is_that_of_the_process_or_of_its_file() -> None:
    own, joined = asked_by("original_filename:x")
    assert isinstance(own, TextTest)
    assert joined == JoinTest("process_binary", (own,))
    assert check(Leaf("original_filename", Text("x")), now_us=0, joins=False) == Match(
        (own,), Leaf("original_filename", Text("x"))
    )


def test_joins_can_be_refused() -> None:
    with pytest.raises(QueryError, match="too many binaries"):
        check(parse("process_name:x -company_name_modload:y"), now_us=0, joins=False)


def test_tags_ask_whose_they_are_and_what_they_say() -> None:
    (watched,) = asked_by("watchlist_4:[2023-11-14 TO *]")
    assert isinstance(watched, TagTest)
    assert (watched.family, watched.name) == ("watchlist", "4")
    assert isinstance(watched.test, TimeTest)
    (scored,) = asked_by("Alliance_Score_NVD:[1 TO *]")
    assert scored == TagTest("alliance", "nvd", NumberTest("score", 1, NUMBER_MAX))
    (some,) = asked_by("alliance_score_nvd:*")
    assert some == TagTest("alliance", "nvd", NumberTest("score", -NUMBER_MAX, NUMBER_MAX))
    with pytest.raises(QueryError, match="not a date"):
        asked_by("watchlist_4:soon")


@pytest.mark.parametrize(
    ("value", "column"), [("ws-1", "hostname"), ("ws-1*", "hostname"), ('"ws-1|7"', "endpoint")]
)
def test_an_endpoint_without_its_number_is_a_host(value: str, column: str) -> None:
    checked = check(parse(f"endpoint:{value}", BINARY), BINARY, now_us=0)
    assert isinstance(checked, Match)
    assert {source_of(test) for test in checked.tests} == {column}


@pytest.mark.parametrize(
    ("joint", "count", "message"),
    [
        (" OR ", QUERY_LEAVES_MAX + 1, "at most 2,000 values; this one has 2,001"),
        (" ", QUERY_OPERANDS_MAX + 1, "at most 128 conditions can be joined by AND"),
        (" -", QUERY_LEAVES_MAX + 1, "at most 2,000 values"),
    ],
)
def test_a_query_that_is_too_large_says_the_limit_and_the_place(
    joint: str, count: int, message: str
) -> None:
    words = [f"cmdline:w{number}" for number in range(count)]
    text = joint.join(words)
    with pytest.raises(QueryError, match=message) as caught:
        check(parse(text), now_us=NOW_US)
    assert text[caught.value.start : caught.value.end] == words[-1]
    check(parse(joint.join(words[:-1])), now_us=NOW_US)


def test_the_limit_of_an_and_holds_inside_brackets_and_of_them() -> None:
    inner = " ".join(f"a{number}" for number in range(QUERY_OPERANDS_MAX + 1))
    groups = " ".join(f"(a{n} OR b{n})" for n in range(QUERY_OPERANDS_MAX + 1))
    for text in (f"x OR -({inner})", groups):
        with pytest.raises(QueryError, match="joined by AND"):
            check(parse(text), now_us=NOW_US)
    pairs = " OR ".join(f"(a{n} b{n})" for n in range(QUERY_OPERANDS_MAX + 1))
    with pytest.raises(QueryError, match="at most 128 conditions can be joined by OR"):
        check(parse(pairs), now_us=NOW_US)


def test_many_exclusions_are_no_large_query() -> None:
    check(parse(" ".join(f"-path:{number}.exe" for number in range(1_500))), now_us=NOW_US)
