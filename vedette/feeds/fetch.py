"""Fetches feed documents from `file://`, `http://` and `https://` URLs, streamed within limits.

A broken transfer resumes where it stopped if the server sends a strong ETag and supports ranges;
otherwise the synchronization fails and starts over. Credentials and client certificates are sent
only to the origin of the feed's URL, not to redirect targets.
"""

import base64
import os
import ssl
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import httpcore
import httpx

from vedette import __version__
from vedette.feeds.egress import FeedUnreachableError, GuardedBackend, check_behind_proxy
from vedette.feeds.local_files import read_file
from vedette.limits import FEED_ERROR_CHARS_MAX, FEED_PIECE_BYTES, FEED_URL_SHOWN_CHARS, Limit
from vedette.model.threat.feed import shown_url
from vedette.notify.egress import EgressError, EgressPolicy

FEED_CONNECT_S: Limit[float] = 15.0
"""Timeout (s) for connecting to the server of a feed, and for TLS."""

FEED_READ_S: Limit[float] = 60.0
"""Time (s) for which the server of a feed may stay silent within a document."""

FEED_REDIRECTS_MAX: Limit[int] = 5
"""Redirects followed from a feed's URL."""

FEED_RESUMES_MAX: Limit[int] = 3
"""Resumptions of a broken transfer."""


ACCEPT: Final = "application/taxii+json;version=2.1, application/json, text/plain, */*;q=0.5"

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_TIMEOUT: Final = {
    "connect": FEED_CONNECT_S,
    "read": FEED_READ_S,
    "write": FEED_READ_S,
    "pool": FEED_CONNECT_S,
}
_UNCHANGED: Final = 304
_PARTIAL: Final = 206
_BROKEN: Final = (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError)
_PORTS: Final = {"http": 80, "https": 443}
_GZIP: Final = 31
"""zlib's window bits for gzip."""


@dataclass(frozen=True, slots=True)
class Source:
    """URL and credentials of a document."""

    url: str
    is_checked: bool = True
    """Whether the server's certificate is verified."""
    by_proxy: bool = False
    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    certificate: str = field(default="", repr=False)
    key: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class FetchRules:
    """Limits and permissions from the settings."""

    files: Path
    egress: EgressPolicy = field(default_factory=EgressPolicy)
    proxy: str = ""
    ca_file: Path | None = None
    bytes_max: int = 2 * 2**30
    seconds_max: float = 1800.0


@dataclass(slots=True)
class Document:
    """An open document of a feed, read in chunks."""

    chunks: Iterator[bytes]
    """Decompressed chunks; iteration raises FeedUnreachableError if the transfer fails."""
    content_type: str = ""
    etag: str = ""
    is_unchanged: bool = False


class Fetcher:
    """Opens documents. Safe to share between threads."""

    def __init__(self, rules: FetchRules) -> None:
        self.rules = rules

    @contextmanager
    def open(
        self, source: Source, *, etag: str = "", seconds_max: float | None = None
    ) -> Iterator[Document]:
        """Opens the document of a source. With the `etag` of an earlier document, the result may be
        unchanged.

        Raises FeedUnreachableError, also while chunks are read: for a forbidden address, a missing
        or error response, and a document that exceeds the limits on bytes or time.
        """
        rules = self.rules
        until_s = time.monotonic() + (seconds_max or rules.seconds_max)
        if source.url.lower().startswith("file://"):
            yield Document(_bounded(read_file(source.url, rules.files), rules.bytes_max, until_s))
            return
        transfer = _Transfer(source, rules, until_s)
        try:
            document = transfer.begin(etag)
            document.chunks = _bounded(document.chunks, rules.bytes_max, until_s)
            yield document
        except (*_BROKEN, httpcore.ProxyError, EgressError) as error:
            raise _failed(source.url, error) from None
        finally:
            transfer.close()


class _Transfer:
    """A request with its redirects and resumptions."""

    def __init__(self, source: Source, rules: FetchRules, until_s: float) -> None:
        self._source = source
        self._rules = rules
        self._until_s = until_s
        self._url = _checked_url(source.url)
        self._pool: httpcore.ConnectionPool | None = None
        self._response: httpcore.Response | None = None

    def begin(self, etag: str) -> Document:
        response = self._follow({"If-None-Match": etag} if etag else {})
        if response.status == _UNCHANGED:
            return Document(iter(()), etag=etag, is_unchanged=True)
        _check_status(self._url, response)
        headers = _headers(response)
        chunks = self._resumed(headers.get("etag", ""))
        encoding = headers.get("content-encoding", "identity").lower()
        if encoding == "gzip":
            chunks = _inflated(chunks)
        elif encoding != "identity":
            raise FeedUnreachableError(f"{_shown(self._url)}: unknown encoding {encoding[:40]!r}")
        return Document(chunks, headers.get("content-type", ""), headers.get("etag", ""))

    def close(self) -> None:
        if self._response is not None:
            self._response.close()
        if self._pool is not None:
            self._pool.close()
        self._response, self._pool = None, None

    def _follow(self, extra: Mapping[str, str]) -> httpcore.Response:
        """Returns the response after all redirects; each target is checked like the first URL."""
        for _ in range(FEED_REDIRECTS_MAX + 1):
            response = self._request(extra)
            if response.status not in _REDIRECTS:
                return response
            target = _headers(response).get("location", "")
            self.close()
            self._redirect(target)
        raise FeedUnreachableError(f"{_shown(self._url)}: more than {FEED_REDIRECTS_MAX} redirects")

    def _redirect(self, target: str) -> None:
        url = followed_url(str(self._url), target)
        if _origin(url) != _origin(self._url):
            self._source = replace(self._source, username="", password="", certificate="", key="")
        self._url = url

    def _request(self, extra: Mapping[str, str]) -> httpcore.Response:
        self._pool = self._new_pool()
        url = httpcore.URL(
            scheme=self._url.raw_scheme,
            host=self._url.raw_host,
            port=self._url.port,
            target=self._url.raw_path,
        )
        headers = {
            "Host": self._url.netloc.decode("ascii"),
            "Accept": ACCEPT,
            "Accept-Encoding": "gzip",
            "User-Agent": f"vedette/{__version__}",
            **_authorization(self._source),
            **extra,
        }
        pairs = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
        request = httpcore.Request("GET", url, headers=pairs, extensions={"timeout": _TIMEOUT})
        self._response = self._pool.handle_request(request)
        return self._response

    def _new_pool(self) -> httpcore.ConnectionPool:
        source, rules = self._source, self._rules
        context, proxy = _tls(source, rules), None
        if source.by_proxy and rules.proxy:
            check_behind_proxy(self._url.host, _port(self._url), rules.egress)
            url = httpx.URL(rules.proxy)
            auth = (url.username.encode(), url.password.encode()) if url.userinfo else None
            proxy = httpcore.Proxy(str(url.copy_with(userinfo=b"")), auth=auth)
        return httpcore.ConnectionPool(
            ssl_context=context,
            proxy=proxy,
            max_connections=1,
            network_backend=GuardedBackend(None if proxy else rules.egress, self._until_s),
        )

    def _resumed(self, etag: str) -> Iterator[bytes]:
        """Yields the bytes as sent, across broken connections."""
        got = 0
        for attempt in range(FEED_RESUMES_MAX + 1):
            try:
                assert self._response is not None
                for chunk in self._response.iter_stream():
                    got += len(chunk)
                    yield chunk
                return
            except _BROKEN:
                is_strong = bool(etag) and not etag.startswith("W/")
                if attempt == FEED_RESUMES_MAX or not is_strong:
                    raise
            self.close()
            self._continue(got, etag)

    def _continue(self, got: int, etag: str) -> None:
        response = self._request({"Range": f"bytes={got}-", "If-Range": etag})
        begins = _headers(response).get("content-range", "").startswith(f"bytes {got}-")
        if response.status != _PARTIAL or not begins:
            raise FeedUnreachableError(f"{_shown(self._url)}: changed while it was read")


def _tls(source: Source, rules: FetchRules) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=rules.ca_file)
    if rules.ca_file is not None:
        context.load_default_certs()
    if not source.is_checked:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if source.certificate:
        _load_certificate(context, source)
    return context


def _load_certificate(context: ssl.SSLContext, source: Source) -> None:
    """Loads the client certificate from an anonymous in-memory file, since the library only reads
    files."""
    descriptor = os.memfd_create("feed", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, f"{source.certificate}\n{source.key}\n".encode())
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    except (ssl.SSLError, OSError) as error:
        raise FeedUnreachableError(f"ssl_client_crt, ssl_client_key: {error}") from None
    finally:
        os.close(descriptor)


def _checked_url(text: str) -> httpx.URL:
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL as error:
        raise FeedUnreachableError(f"{_shown(text)!r} is not a URL: {error}") from None
    if url.scheme not in ("http", "https") or not url.host:
        raise FeedUnreachableError(f"{_shown(text)!r} is not an http:// or https:// URL")
    return url


def followed_url(base: str, target: str) -> httpx.URL:
    """Resolves `target`, absolute or relative, against the URL of a document or redirect.

    Only http:// and https:// URLs are followed, and never from TLS to a URL without TLS. Raises
    FeedUnreachableError.
    """
    try:
        begun = httpx.URL(base)
        url = _checked_url(str(begun.join(target)))
    except (httpx.InvalidURL, ValueError):
        raise FeedUnreachableError(f"{_shown(base)} leads to no URL") from None
    if begun.scheme == "https" and url.scheme != "https":
        raise FeedUnreachableError(f"{_shown(base)} leads to a URL without TLS")
    return url


def _origin(url: httpx.URL) -> tuple[str, str, int]:
    return url.scheme, url.host, _port(url)


def _port(url: httpx.URL) -> int:
    return url.port or _PORTS[url.scheme]


def _authorization(source: Source) -> dict[str, str]:
    if not source.username and not source.password:
        return {}
    pair = f"{source.username}:{source.password}".encode()
    return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}


def _headers(response: httpcore.Response) -> dict[str, str]:
    return {
        name.decode("latin-1").lower(): text.decode("latin-1") for name, text in response.headers
    }


def _check_status(url: httpx.URL, response: httpcore.Response) -> None:
    if response.status != 200:
        raise FeedUnreachableError(f"{_shown(url)} answers with status {response.status}")


def _inflated(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Decompresses gzip in pieces of bounded size, whatever the compression ratio."""
    inflater = zlib.decompressobj(_GZIP)
    try:
        for chunk in chunks:
            while chunk:
                yield inflater.decompress(chunk, FEED_PIECE_BYTES)
                chunk = inflater.unconsumed_tail
        yield inflater.flush()
    except zlib.error as error:
        raise FeedUnreachableError(f"damaged compression: {error}") from None
    if not inflater.eof:
        raise FeedUnreachableError("the compressed document ends too early")


def _bounded(chunks: Iterator[bytes], bytes_max: int, until_s: float) -> Iterator[bytes]:
    total = 0
    for chunk in chunks:
        total += len(chunk)
        if total > bytes_max:
            raise FeedUnreachableError(
                f"the document is larger than {bytes_max:,} bytes (setting feed_bytes_max)"
            )
        if time.monotonic() > until_s:
            raise FeedUnreachableError("the document takes too long (setting feed_timeout_s)")
        if chunk:
            yield chunk


def _failed(url: str, error: Exception) -> FeedUnreachableError:
    what = str(error)[:FEED_ERROR_CHARS_MAX] or type(error).__name__
    return FeedUnreachableError(f"{_shown(url)}: {what}")


def _shown(url: httpx.URL | str) -> str:
    return shown_url(str(url))[:FEED_URL_SHOWN_CHARS]
