"""Streams over HTTP: positions, moves, statuses, criteria
(docs/process-analysis.md#streams)."""

from tests.api.analysis.conftest import Analysed

ORDER = [
    "modload",
    "filemod",
    "netconn",
    "regmod",
    "childproc",
    "filemod",
    "processblock",
    "crossproc",
]


def test_a_new_stream_stands_at_the_first_event_and_shows_none(analysed: Analysed) -> None:
    body = analysed.stream().body
    first = analysed.segments[0]
    assert body.pop("stream_id")
    assert body == {
        "status_fw": "ready",
        "status_bw": "complete",
        "ref_segment_id": first,
        "cur_segment_id": first,
        "head_as_ref_segment_offset": 0,
        "head_as_cur_segment_offset": 0,
        "events": [],
    }


def test_a_stream_may_begin_at_any_segment(analysed: Analysed) -> None:
    for segment in (analysed.segments[1], str(analysed.segments[1])):
        stream = analysed.stream(segment)
        assert stream.status == ("ready", "ready")
        assert stream.body["cur_segment_id"] == stream.body["ref_segment_id"] == int(segment)
        assert stream.read(rows=1)["events"][0]["type"] == "netconn"
    for earliest in (0, 1, "1"):
        assert analysed.stream(earliest).body["cur_segment_id"] == analysed.segments[0]


def test_events_come_in_the_order_of_segments_and_time(analysed: Analysed) -> None:
    stream = analysed.stream()
    events = stream.read(rows=100)["events"]
    assert stream.types == ORDER
    assert len({event["segment_id"] for event in events}) == 3
    assert [event["time"] for event in events] == sorted(event["time"] for event in events)


def test_ten_rows_are_the_default(analysed: Analysed) -> None:
    assert len(analysed.stream().read()["events"]) == len(ORDER)


def test_rows_alone_do_not_move(analysed: Analysed) -> None:
    stream = analysed.stream()
    assert stream.read(rows=2) == stream.read(rows=2)
    assert stream.status == ("ready", "complete")


def test_forward_statuses_go_from_ready_to_current_to_void(analysed: Analysed) -> None:
    stream = analysed.stream()
    stream.read(rows=3)
    assert stream.status == ("ready", "complete")
    stream.read(rows=3, seek="", by=3)
    assert (stream.types, stream.status) == (ORDER[3:6], ("ready", "ready"))
    stream.read(rows=3, seek="", by=3)
    assert (stream.types, stream.status) == (ORDER[6:], ("current", "ready"))
    stream.read(rows=3, seek="", by=2)
    assert (stream.types, stream.status) == ([], ("current", "ready"))
    stream.read(rows=3, seek="", by=1)
    assert (stream.types, stream.status) == ([], ("void", "ready"))
    assert stream.body["head_as_cur_segment_offset"] == 3
    stream.read(rows=3)
    assert stream.status == ("current", "ready")


def test_backward_statuses_go_from_ready_to_complete_to_void(analysed: Analysed) -> None:
    stream = analysed.stream(analysed.segments[2])
    stream.read(rows=2, seek="true", by=-3)
    assert (stream.types, stream.status) == (ORDER[2:4], ("ready", "ready"))
    stream.read(rows=2, seek="true", by=-2)
    assert (stream.types, stream.status) == (ORDER[:2], ("ready", "complete"))
    stream.read(rows=2, seek="true", by=-1)
    assert (stream.types, stream.status) == (ORDER[:2], ("ready", "void"))
    stream.read(rows=2)
    assert stream.status == ("ready", "complete")


def test_the_head_is_counted_from_its_segment_and_from_the_reference(analysed: Analysed) -> None:
    stream = analysed.stream(analysed.segments[1])
    body = stream.read(rows=1, seek="", by=4)
    assert body["ref_segment_id"] == analysed.segments[1]
    assert (body["cur_segment_id"], body["head_as_cur_segment_offset"]) == (analysed.segments[2], 1)
    assert body["head_as_ref_segment_offset"] == 4
    body = stream.read(rows=1, seek="", by=-6)
    assert body["head_as_ref_segment_offset"] == -2


def test_a_jump_goes_to_the_first_event_of_a_segment(analysed: Analysed) -> None:
    one, two, three = analysed.segments
    stream = analysed.stream()
    body = stream.read(rows=1, jump="", by=1)
    assert (stream.types, body["ref_segment_id"], body["cur_segment_id"]) == (["netconn"], two, two)
    stream.read(rows=0, seek="", by=1)
    body = stream.read(rows=1, jump="", by=1)
    assert (stream.types, body["cur_segment_id"]) == (["filemod"], three)
    body = stream.read(rows=1, jump="", by=-2)
    assert (body["cur_segment_id"], stream.status) == (one, ("ready", "complete"))
    body = stream.read(rows=1, jump="", to=three)
    assert (body["cur_segment_id"], body["head_as_ref_segment_offset"]) == (three, 0)
    assert stream.read(rows=1, jump="", to=1)["cur_segment_id"] == one


def test_a_jump_too_far_is_void(analysed: Analysed) -> None:
    stream = analysed.stream(analysed.segments[1])
    stream.read(rows=5, jump="", by=2)
    assert (stream.types, stream.status) == ([], ("void", "ready"))
    stream.read(rows=1, jump="", by=-3)
    assert (stream.types, stream.status) == (["modload"], ("ready", "void"))


def test_end_time_leaves_out_later_events(analysed: Analysed) -> None:
    stream = analysed.stream()
    events = stream.read(rows=10)["events"]
    end = events[4]["time"][:-4] + "Z"
    assert len(stream.read(rows=10, end_time=end)["events"]) == 5
    assert stream.status == ("current", "complete")
    stream.read(rows=10, seek="", by=6, end_time=end)
    assert (stream.types, stream.status) == ([], ("void", "ready"))
    assert len(stream.read(rows=10)["events"]) == 3
    assert stream.filter({}, rows=10, end_time=end)["events"] == []


def test_criteria_are_or_within_a_field_and_and_between_fields(analysed: Analysed) -> None:
    stream = analysed.stream()
    assert stream.filter({"event_type": ["filemod"]}, rows=9)["status_fw"] == "current"
    assert stream.types == ["filemod", "filemod"]
    stream.filter({"event_type": ["filemod", "netconn"]}, rows=9)
    assert stream.types == ["filemod", "netconn", "filemod"]
    stream.filter({"event_type": ["filemod", "netconn"], "filemod_action": ["8"]}, rows=9)
    assert stream.types == ["filemod"]
    stream.filter({"directory": ["C:\\Temp\\"]}, rows=9)
    assert stream.types == ["filemod", "filemod", "processblock"]
    stream.filter({"directory": []}, rows=9)
    assert stream.types == ORDER


def test_every_facet_that_bulk_counts_filters_to_as_many_events(analysed: Analysed) -> None:
    stream = analysed.stream()
    terms = analysed.get("1/bulk").json()["facets"]["terms"]
    assert {term["field"] for term in terms} > {"event_type", "directory", "domain", "regmod_hive"}
    for term in terms:
        for value in term["values"]:
            for word in {value["id"], value["name"]}:
                stream.filter({term["field"]: [word]}, rows=100)
                assert len(stream.types) == value["total"], (term, value)


def test_criteria_stay_with_the_stream(analysed: Analysed) -> None:
    stream = analysed.stream()
    stream.filter({"event_type": ["childproc"]}, rows=0)
    stream.read(rows=9)
    assert stream.types == ["childproc"]
    assert stream.body["cur_segment_id"] == analysed.segments[1]


def test_new_criteria_keep_the_place(analysed: Analysed) -> None:
    stream = analysed.stream()
    stream.read(rows=1, seek="", by=3)
    assert stream.types == ["regmod"]
    stream.filter({"event_type": ["netconn", "childproc"]}, rows=9)
    assert stream.types == ["childproc"]
    assert stream.body["ref_segment_id"] == analysed.segments[1]
    assert stream.body["head_as_cur_segment_offset"] == 1
    stream.filter({}, rows=1)
    assert stream.types == ["childproc"]


def test_a_deleted_stream_is_gone(analysed: Analysed) -> None:
    for persistent in (True, False):
        stream = analysed.stream(persistent=persistent)
        answer = analysed.client.post(stream.path)
        assert (answer.status_code, answer.json()) == (200, {"result": "success"})
        for gone in (analysed.client.get(stream.path), analysed.client.post(stream.path)):
            assert gone.status_code == 404
            assert stream.body["stream_id"] in gone.json()["message"]


def test_new_events_come_to_an_open_stream_until_the_process_ends(own: Analysed) -> None:
    stream = own.stream(persistent=True)
    assert stream.read(rows=100)["status_fw"] == "current"
    place = stream.read(rows=1, seek="", by=len(ORDER))
    assert (place["events"], place["status_fw"]) == ([], "current")
    written = own.host.of(own.process, 11, 90, TargetFilename="C:\\Temp\\late.txt")
    own.send(written)
    assert stream.read(rows=5)["events"][0]["data"]["path"] == "C:\\Temp\\late.txt"
    own.client.post("/api/v1/storage/events/new_partition")
    own.send(own.host.of(own.process, 5, 100))
    assert stream.read(rows=5)["status_fw"] == "complete"
    assert stream.read(rows=0)["status_fw"] == "ready"
    assert stream.read(rows=0, seek="", by=1)["status_fw"] == "complete"
    assert stream.read(rows=0, seek="", by=1)["status_fw"] == "void"
