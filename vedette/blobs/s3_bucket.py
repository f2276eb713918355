"""Blobs in a bucket of any S3-compatible object store.

Large blobs are uploaded in several parts and appear when the last part has arrived; they are read
in ranges, each a request with its own deadline. Errors of the library contain no credentials; only
their first line is passed on.
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

if TYPE_CHECKING:
    from obstore.store import S3Config

from vedette.limits import Limit

BLOB_RANGE_BYTES: Limit[int] = 8 * 1024 * 1024
"""Bytes of one request to an object store: each has its own deadline, so that the requests for a
file of 500 MB take no longer than those for a file of 8 MB."""

BLOB_CONNECT_S: Limit[int] = 5
"""Timeout for connecting to an object store."""

BLOB_RETRIES_MAX: Limit[int] = 3
"""Retries after an object store answers with 5xx or the connection breaks."""

BLOB_CREDENTIALS_BYTES_MAX: Limit[int] = 64 * 1024
"""Bytes of a file with credentials; real ones have 200."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """Credentials of a user of the object store; not shown in `repr`."""

    access_key_id: str = field(repr=False)
    secret_access_key: str = field(repr=False)
    session_token: str | None = field(repr=False, default=None)


@dataclass(frozen=True, slots=True)
class Bucket:
    """Location of a bucket."""

    name: str
    prefix: str = ""
    endpoint: str = ""
    """URL of the object store; "" for Amazon's."""
    region: str = "us-east-1"
    credentials: Credentials | None = None
    """None uses the environment (`AWS_ACCESS_KEY_ID` ...), or the machine's role."""


class S3Bucket:
    """A `BlobStore` in an existing bucket."""

    def __init__(self, bucket: Bucket, deadline_s: float) -> None:
        """`deadline_s` applies to one request with its retries. Connects lazily."""
        config: S3Config = {"region": bucket.region}
        if bucket.endpoint:
            config["endpoint"] = bucket.endpoint
        if bucket.credentials is not None:
            config["access_key_id"] = bucket.credentials.access_key_id
            config["secret_access_key"] = bucket.credentials.secret_access_key
            if bucket.credentials.session_token:
                config["session_token"] = bucket.credentials.session_token
        # A retry begins before the end of the first half, and ends within the second.
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
                    except ValueError:  # not a blob
                        continue
                    stored_us = round(found["last_modified"].timestamp() * 1_000_000)
                    yield BlobInfo(key, found["size"], stored_us)


def credentials_in(path: Path, profile: str = "default") -> Credentials:
    """Returns the credentials of a file in the format of `~/.aws/credentials`.

    Raises StartError that names the file and the missing key, but none of its values.
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
    """Returns the first line; the rest is the library's internal state."""
    return str(error).partition("\n")[0].strip()
