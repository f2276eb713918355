"""Stored feeds and their secrets, on both state databases."""

import os
from pathlib import Path

import pytest

from vedette.errors import (
    BadRequestError,
    ConflictError,
    NotFoundError,
    StartError,
    UnavailableError,
)
from vedette.model.threat.feed import BrokenPart
from vedette.record.objects.feed import Feed
from vedette.state.db.database import Database
from vedette.state.db.sealing import KEY_FILE, Sealing, open_sealing
from vedette.state.policy import feeds
from vedette.state.policy.feeds import CHANGES, EVERYTHING, SyncResult
from vedette.state.start import start

NOW_US = 1_700_000_000_000_000


@pytest.fixture
def sealing(tmp_path: Path) -> Sealing:
    return open_sealing(tmp_path)


@pytest.fixture
def ready(empty: Database) -> Database:
    start(empty, NOW_US)
    return empty


def add(database: Database, sealing: Sealing, **members: object) -> Feed:
    known = {
        "name": "Intel",
        "feed_url": "https://intel.example/feed",
        "enabled": True,
        "manually_added": True,
    }
    return feeds.add(database, known | members, sealing, NOW_US)


def test_the_name_of_yara_matches_is_no_name_of_a_feed(ready: Database, sealing: Sealing) -> None:
    for name in ("yara", "YARA"):
        with pytest.raises(BadRequestError, match="YARA"):
            add(ready, sealing, name=name)
    other = add(ready, sealing, name="other")
    with pytest.raises(BadRequestError, match="YARA"):
        feeds.change(ready, other.id, {"name": "Yara"}, sealing, NOW_US)
    assert feeds.get(ready, other.id).name == "other"


def test_a_name_is_taken_in_any_case(ready: Database, sealing: Sealing) -> None:
    feed = add(ready, sealing)
    with pytest.raises(ConflictError):
        add(ready, sealing, name="INTEL")
    with pytest.raises(BadRequestError):
        add(ready, sealing, name="no good")
    assert feeds.named(ready, "intel") == feed
    feeds.remove(ready, feed.id)
    with pytest.raises(NotFoundError):
        feeds.get(ready, feed.id)
    assert add(ready, sealing).id > feed.id, "alerts hold the old id"


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://intel.example/other", True),
        ("https://intel.example:443/feed", True),
        ("https://INTEL.example/feed", True),
        ("https://intel.example:8443/feed", False),
        ("http://intel.example/feed", False),
        ("https://evil.example/feed", False),
        ("file:///feed", False),
    ],
)
def test_secrets_stay_with_their_server(
    ready: Database, sealing: Sealing, url: str, kept: bool
) -> None:
    feed = add(ready, sealing, password="hunter2", ssl_client_key="key")
    assert feeds.credentials(ready, feed.id, sealing).password == "hunter2"
    feeds.change(ready, feed.id, {"feed_url": url}, sealing, NOW_US)
    assert feeds.has_secrets(ready, feed.id) == {"password": kept, "ssl_client_key": kept}
    new = {"feed_url": "https://third.example/", "password": "new"}
    feeds.change(ready, feed.id, new, sealing, NOW_US)
    assert feeds.credentials(ready, feed.id, sealing) == feeds.Credentials("new", "")


def test_a_sealed_text_opens_for_its_purpose_and_key_only(tmp_path: Path) -> None:
    sealing = open_sealing(tmp_path)
    sealed = sealing.seal("hunter2", "feed 1 password")
    assert "hunter2" not in sealed
    assert sealed != sealing.seal("hunter2", "feed 1 password")
    assert open_sealing(tmp_path).open(sealed, "feed 1 password") == "hunter2"
    for other, purpose in ((sealing, "feed 2 password"), (Sealing(bytes(32)), "feed 1 password")):
        with pytest.raises(UnavailableError):
            other.open(sealed, purpose)
    with pytest.raises(UnavailableError):
        sealing.open("v1:nonsense", "feed 1 password")
    assert os.stat(tmp_path / KEY_FILE).st_mode & 0o777 == 0o600
    (tmp_path / KEY_FILE).write_text("damaged")
    with pytest.raises(StartError, match="damaged"):
        open_sealing(tmp_path)


def test_a_request_that_comes_while_a_feed_is_read_is_not_lost(
    ready: Database, sealing: Sealing
) -> None:
    feed = add(ready, sealing)
    assert [one.id for one in feeds.due(ready, NOW_US)] == [feed.id]
    feeds.request_sync(ready, feed.id, CHANGES, NOW_US + 1)
    begun = feeds.due(ready, NOW_US)[0]
    feeds.request_sync(ready, feed.id, EVERYTHING, NOW_US + 2)
    done = SyncResult(False, '"v1"', "cbfeeds", 1, 1, 0, 1, 1, [BrokenPart(place="p", problem="x")])
    feeds.note_synced(ready, begun, done, now_us=NOW_US + 3, next_us=NOW_US + 100)
    (again,) = feeds.due(ready, NOW_US)
    assert again.sync_wanted == EVERYTHING
    feeds.note_synced(ready, again, done, now_us=NOW_US + 4, next_us=NOW_US + 100)
    assert feeds.due(ready, NOW_US) == []
    assert feeds.errors_of(ready, feed.id)[0].problem == "x"
    feeds.note_failed(ready, again, "down", [], next_us=NOW_US + 50)
    known = feeds.get(ready, feed.id)
    assert (known.failures, known.last_error, known.etag) == (1, "down", '"v1"')
    feeds.change(ready, feed.id, {"enabled": False}, sealing, NOW_US)
    assert feeds.due(ready, NOW_US + 1000) == []
    with pytest.raises(ConflictError):
        feeds.request_sync(ready, feed.id, CHANGES, NOW_US)
