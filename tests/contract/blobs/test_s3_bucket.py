"""Blobs in a bucket: object stores that fail, are slow or damaged, and what is told of it."""

import hashlib
import os
import time
from pathlib import Path

import pytest

from tests.support.object_store import (
    KEY,
    SECRET,
    failing_store,
    make_bucket,
    overwrite,
    slow_store,
)
from vedette.blobs.blob_store import BlobKey, BlobStore, DamagedBlobError, open_verified
from vedette.blobs.s3_bucket import Bucket, Credentials, S3Bucket, credentials_in
from vedette.errors import StartError, UnavailableError

CREDENTIALS = Credentials(KEY, SECRET)
CONTENT = b"content" * 1_000
BLOB = BlobKey("binaries", hashlib.sha256(CONTENT).hexdigest())
DEADLINE_S = 2.0
OPERATIONS = ("put", "read", "size", "delete", "blobs")


def attempt(store: BlobStore, operation: str) -> None:
    if operation == "put":
        store.put(BLOB, [CONTENT])
    elif operation == "blobs":
        list(store.blobs("binaries"))
    elif operation == "read":
        list(store.read(BLOB))
    else:
        getattr(store, operation)(BLOB)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_store_that_fails_is_unavailable_and_no_secret_is_told(operation: str) -> None:
    with failing_store() as url:
        store = S3Bucket(Bucket("b", endpoint=url, credentials=CREDENTIALS), DEADLINE_S)
        with pytest.raises(UnavailableError, match="500") as caught:
            attempt(store, operation)
    reported = f"{caught.value} {caught.value.__cause__!r} {CREDENTIALS!r} {store!r}"
    assert SECRET not in reported
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_slow_store_is_given_up_at_the_deadline(operation: str) -> None:
    with slow_store() as url:
        store = S3Bucket(Bucket("b", endpoint=url, credentials=CREDENTIALS), DEADLINE_S)
        begun = time.monotonic()
        with pytest.raises(UnavailableError):
            attempt(store, operation)
        assert time.monotonic() - begun < DEADLINE_S * 1.5


def test_a_store_that_is_not_there_is_unavailable() -> None:
    store = S3Bucket(
        Bucket("b", endpoint="http://127.0.0.1:1", credentials=CREDENTIALS), DEADLINE_S
    )
    with pytest.raises(UnavailableError):
        store.size(BLOB)


def test_a_bucket_that_is_not_there_is_named(s3_url: str) -> None:
    store = S3Bucket(Bucket("nowhere", endpoint=s3_url, credentials=CREDENTIALS), DEADLINE_S)
    with pytest.raises(UnavailableError, match="nowhere"):
        store.put(BLOB, [CONTENT])


def test_a_damaged_object_is_never_handed_out(s3_url: str) -> None:
    name = make_bucket(s3_url)
    store = S3Bucket(Bucket(name, "p", s3_url, credentials=CREDENTIALS), 20)
    store.put(BLOB, [CONTENT])
    for damage in (CONTENT[:-1], b"", bytes(len(CONTENT))):
        overwrite(s3_url, name, f"p/{BLOB}", damage)
        with pytest.raises(DamagedBlobError):
            open_verified(store, BLOB)


def test_a_prefix_separates_those_who_share_a_bucket(s3_url: str) -> None:
    name = make_bucket(s3_url)
    one, other = (
        S3Bucket(Bucket(name, prefix, s3_url, credentials=CREDENTIALS), 20)
        for prefix in ("one", "other")
    )
    one.put(BLOB, [CONTENT])
    assert other.size(BLOB) is None
    assert list(other.blobs("binaries")) == []


def test_credentials_come_from_a_file_or_the_environment(
    s3_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "credentials"
    file.write_text(f"[default]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}%\n")
    found = credentials_in(file)
    assert (found.access_key_id, found.secret_access_key) == (KEY, SECRET + "%")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    for credentials in (found, None):
        store = S3Bucket(Bucket(make_bucket(s3_url), endpoint=s3_url, credentials=credentials), 20)
        store.put(BLOB, [CONTENT])
        assert store.size(BLOB) == len(CONTENT)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[other]\naws_access_key_id = k\naws_secret_access_key = hidden",
        "[default]\naws_secret_access_key = hidden",
        "hidden",
        "[default]\nhidden",
        "[default\n\xff hidden",
        None,
    ],
)
def test_a_file_without_credentials_is_refused_and_not_quoted(
    tmp_path: Path, text: str | None
) -> None:
    file = tmp_path / "credentials"
    if text is not None:
        file.write_bytes(text.encode("latin-1"))
    with pytest.raises(StartError) as caught:
        credentials_in(file)
    assert str(file) in caught.value.message
    assert "hidden" not in caught.value.message


def test_a_large_object_that_changes_while_it_is_read_is_not_handed_out(s3_url: str) -> None:
    """Ranges are requests of their own: each may meet another object."""
    name = make_bucket(s3_url)
    store = S3Bucket(Bucket(name, "", s3_url, credentials=CREDENTIALS), 20)
    content = os.urandom(17 * 1024 * 1024)
    key = BlobKey("binaries", hashlib.sha256(content).hexdigest())
    store.put(key, [content])

    class Changing:
        """The store, whose object somebody replaces after the first range."""

        def read(self, key: BlobKey) -> object:
            for number, piece in enumerate(store.read(key)):
                if not number:
                    overwrite(s3_url, name, str(key), bytes(len(content)))
                yield piece

    with pytest.raises(DamagedBlobError):
        open_verified(Changing(), key)  # type: ignore[arg-type]
