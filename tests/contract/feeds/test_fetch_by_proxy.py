"""Feeds behind a proxy, with a real proxy and real TLS."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.feed_proxy import feed_proxy
from tests.support.feed_server import FeedServer, feed_server
from vedette.feeds.egress import FeedUnreachableError
from vedette.feeds.fetch import Fetcher, FetchRules, Source
from vedette.notify.egress import EgressPolicy

BODY = b'{"reports": []}'
LOOPBACK = EgressPolicy.of(["127.0.0.1"])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FeedServer]:
    with feed_server(tmp_path_factory.mktemp("feed-server")) as running:
        running.publish("/plain", BODY)
        yield running


def fetched(source: Source, server: FeedServer, **changes: Any) -> bytes:
    members: dict[str, Any] = {
        "files": Path("/nonexistent"),
        "egress": LOOPBACK,
        "ca_file": server.certificate,
        "seconds_max": 20.0,
    }
    with Fetcher(FetchRules(**members | changes)).open(source) as document:
        return b"".join(document.chunks)


def test_a_feed_is_fetched_through_a_proxy_with_its_certificate_checked(
    server: FeedServer,
) -> None:
    url = f"{server.url}/plain"
    with feed_proxy() as proxy:
        source = Source(url, by_proxy=True)
        assert fetched(source, server, proxy=f"http://{proxy.address}") == BODY
        target = server.url.removeprefix("https://")
        assert proxy.asked == [f"CONNECT {target}"]
        with pytest.raises(FeedUnreachableError, match="certificate verify failed"):
            fetched(source, server, proxy=f"http://{proxy.address}", ca_file=None)
        assert fetched(Source(url), server, proxy=f"http://{proxy.address}") == BODY
        assert len(proxy.asked) == 2


def test_a_feed_without_tls_is_fetched_through_a_proxy(tmp_path: Path) -> None:
    with feed_server(tmp_path, tls=False) as plain, feed_proxy() as proxy:
        url = plain.publish("/plain", BODY)
        found = fetched(Source(url, by_proxy=True), plain, proxy=f"http://{proxy.address}")
        assert (found, proxy.asked) == (BODY, [f"GET {url}"])


def test_a_proxy_that_asks_for_a_password_gets_it(server: FeedServer) -> None:
    source = Source(f"{server.url}/plain", by_proxy=True)
    with feed_proxy("feeds", "p4ss") as proxy:
        assert fetched(source, server, proxy=f"http://feeds:p4ss@{proxy.address}") == BODY
        with pytest.raises(FeedUnreachableError) as refused:
            fetched(source, server, proxy=f"http://feeds:wrong@{proxy.address}")
    assert "wrong" not in str(refused.value)


def test_what_points_inside_is_refused_behind_a_proxy_too(server: FeedServer) -> None:
    with feed_proxy() as proxy:
        for target in ("http://169.254.169.254/", server.url):
            with pytest.raises(FeedUnreachableError, match="egress_allow"):
                fetched(
                    Source(target, by_proxy=True),
                    server,
                    egress=EgressPolicy(),
                    proxy=f"http://{proxy.address}",
                )
        assert proxy.asked == []
