"""Blobs in a bucket of any S3-compatible object store.

Large blobs go in several parts and appear when the last one has come; they are read in ranges, each
a request with its own deadline. Errors of the library carry no credentials; only their first line
is passed on.
"""

import configparser
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from vedette.blobs.blob_store import Area, BlobInfo, BlobKey, Hashing
from vedette.errors import NotFoundError, StartError, UnavailableError
from vedette.limits import (
    BLOB_CONNECT_S,
    BLOB_CREDENTIALS_BYTES_MAX,
    BLOB_RANGE_BYTES,
    BLOB_RETRIES_MAX,
)

if TYPE_CHECKING:
    from obstore.store import S3Config


@dataclass(frozen=True, slots=True)
class Credentials:
    """Of a user of the object store; not shown when printed."""

    access_key_id: str = field(repr=False)
    secret_access_key: str = field(repr=False)
    session_token: str | None = field(repr=False, default=None)


@dataclass(frozen=True, slots=True)
class Bucket:
    """Where a bucket is."""

    name: str
    prefix: str = ""
    endpoint: str = ""
    """URL of the object store; "": Amazon's."""
    region: str = "us-east-1"
    credentials: Credentials | None = None
    """None: of the environment (`AWS_ACCESS_KEY_ID` ...), or of the machine's role."""


class S3Bucket:
    """A `BlobStore` in a bucket that exists."""

    def __init__(self, bucket: Bucket, deadline_s: float) -> None:
        """`deadline_s` is for one request with its repetitions. Connects lazily."""
        config: S3Config = {"region": bucket.region}
        if bucket.endpoint:
            config["endpoint"] = bucket.endpoint
        if bucket.credentials is not None:
            config["access_key_id"] = bucket.credentials.access_key_id
            config["secret_access_key"] = bucket.credentials.secret_access_key
            if bucket.credentials.session_token:
                config["session_token"] = bucket.credentials.session_token
        # A repetition begins before the end of the first half, and ends within the second.
        half = timedelta(seconds=deadline_s / 2)
        self._store = S3Store(
            bucket.name,
            prefix=bucket.prefix or None,
            config=config,
            client_options={
                "allow_http": bucket.endpoint.startswith("http://"),
                "connect_timeout": min(half, timedelta(seconds=BLOB_CONNECT_S)),
                "timeout": half,
            },
            retry_config={
                "max_retries": BLOB_RETRIES_MAX,
                "retry_timeout": half,
                "backoff": {"max_backoff": timedelta(seconds=1)},
            },
        )

    def put(self, key: BlobKey, pieces: Iterable[bytes]) -> int:
        hashing = Hashing(key, pieces)
        with _translated():
            try:
                obstore.put(self._store, str(key), iter(hashing), chunk_size=BLOB_RANGE_BYTES)
            except FileNotFoundError as error:
                raise UnavailableError(f"the blob store fails: {_line(error)}") from error
        return hashing.size

    def read(self, key: BlobKey, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        size = self.size(key)
        if size is None:
            raise NotFoundError(f"blob {key} is not stored")
        end = size if length is None else min(size, start + length)
        while start < end:
            wanted = min(BLOB_RANGE_BYTES, end - start)
            with _translated():
                try:
                    piece = obstore.get_range(self._store, str(key), start=start, length=wanted)
                except FileNotFoundError:
                    raise NotFoundError(f"blob {key} is not stored") from None
            yield bytes(piece)
            start += wanted

    def size(self, key: BlobKey) -> int | None:
        with _translated():
            try:
                return obstore.head(self._store, str(key))["size"]
            except FileNotFoundError:
                return None

    def delete(self, key: BlobKey) -> None:
        with _translated():
            try:
                obstore.delete(self._store, str(key))
            except FileNotFoundError:
                return

    def blobs(self, area: Area) -> Iterator[BlobInfo]:
        with _translated():
            for page in obstore.list(self._store, prefix=area):
                for found in page:
                    try:
                        key = BlobKey(area, found["path"].rpartition("/")[2])
                    except ValueError:  # none of ours
                        continue
                    stored_us = round(found["last_modified"].timestamp() * 1_000_000)
                    yield BlobInfo(key, found["size"], stored_us)


def credentials_in(path: Path, profile: str = "default") -> Credentials:
    """The credentials of a file in the form of `~/.aws/credentials`.

    Raises StartError that names the file and what is missing, and nothing that stands in it.
    """
    parser = configparser.ConfigParser(interpolation=None)
    try:
        with path.open("rb") as file:
            parser.read_string(file.read(BLOB_CREDENTIALS_BYTES_MAX).decode())
        found = parser[profile]
        return Credentials(
            found["aws_access_key_id"],
            found["aws_secret_access_key"],
            found.get("aws_session_token"),
        )
    except KeyError as error:
        raise StartError(f"blob_credentials_file: {path} has no {error.args[0]}") from None
    except OSError as error:
        raise StartError(f"blob_credentials_file: {path}: {error.strerror}") from None
    except (configparser.Error, ValueError):
        raise StartError(
            f"blob_credentials_file: {path} is not in the form of ~/.aws/credentials"
        ) from None


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (BaseError, OSError) as error:
        raise UnavailableError(f"the blob store fails: {_line(error)}") from error


def _line(error: Exception) -> str:
    """The first line: what follows is the library's own state."""
    return str(error).partition("\n")[0].strip()
