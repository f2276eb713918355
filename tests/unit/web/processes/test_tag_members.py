"""Members of processes and binaries that show their tags."""

from typing import Any

from vedette.model.findings.tag import TAGS, Tag, newest
from vedette.web.processes.tags_json import tag_members

SECOND = 1_000_000


def reported(**said: Any) -> Tag:
    known = {"family": "alliance", "name": "srs", "time_us": SECOND, "report": "r1", "ioc": "x"}
    return Tag(document="aa", **{**known, **said})


def watched(name: str, time_us: int = SECOND) -> Tag:
    return Tag(document="aa", family="watchlist", name=name, time_us=time_us)


def test_watchlists_stand_in_the_order_of_their_numbers() -> None:
    members = tag_members({TAGS: [watched("10"), watched("9")]})
    assert [one["wid"] for one in members["watchlists"]] == ["9", "10"]
    assert members["watchlists"][0]["value"] == "1970-01-01T00:00:01.000000Z"


def test_a_feed_has_its_greatest_score_with_that_link_and_all_reports() -> None:
    tags = [
        reported(score=-5, link="https://a/", time_us=3 * SECOND),
        reported(score=90, link="https://b/", report="r2", time_us=2 * SECOND),
        reported(score=90, report="r2", ioc="y"),
        reported(name="other", score=0),
    ]
    members = tag_members({TAGS: tags})
    assert members == {
        "watchlists": [],
        "alliance_score_srs": 90,
        "alliance_data_srs": ["r1", "r2"],
        "alliance_link_srs": "https://b/",
        "alliance_updated_srs": "1970-01-01T00:00:03.000000Z",
        "alliance_score_other": 0,
        "alliance_data_other": ["r1"],
        "alliance_link_other": "",
        "alliance_updated_other": "1970-01-01T00:00:01.000000Z",
    }


def test_a_document_without_tags_has_no_members() -> None:
    assert tag_members({}) == tag_members({TAGS: []}) == {}


def test_of_tags_that_say_the_same_anew_the_newest_counts() -> None:
    older, newer = reported(score=90), reported(score=5, time_us=2 * SECOND)
    assert newest([newer, older, newer]) == [newer]
    assert len(newest([newer, reported(ioc="y"), watched("4")])) == 3
