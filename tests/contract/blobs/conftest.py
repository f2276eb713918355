"""Each blob store: a directory, and a bucket of a real object store."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.object_store import KEY, SECRET, make_bucket, object_store
from vedette.blobs.blob_store import BlobStore
from vedette.blobs.local_directory import LocalDirectory
from vedette.blobs.s3_bucket import Bucket, Credentials, S3Bucket

DEADLINE_S = 20


@pytest.fixture(scope="session")
def s3_url() -> Iterator[str]:
    with object_store() as url:
        yield url


@pytest.fixture(params=["local", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> BlobStore:
    if request.param == "local":
        return LocalDirectory(tmp_path / "blobs")
    url = request.getfixturevalue("s3_url")
    bucket = Bucket(make_bucket(url), "some/prefix", url, credentials=Credentials(KEY, SECRET))
    return S3Bucket(bucket, DEADLINE_S)
