"""A bucket of any S3-compatible object store, addressed in the path.

An object is put with one request, so it is stored completely or not at all. Since users enter the
address of the bucket, requests go through the guard of outgoing connections. The library that
`blobs` uses for the operator's own store does not offer this.
"""

from base64 import b64encode
from dataclasses import dataclass
from hashlib import md5

from vedette.clock import Clock
from vedette.forwarder.delivery import Content
from vedette.forwarder.http_delivery import deliver_by_http
from vedette.forwarder.s3_signature import SigningKeys, object_path, signed_headers
from vedette.notify.http_post import PostRules


@dataclass(frozen=True, slots=True)
class Bucket:
    """The `Destination` for buckets."""

    endpoint: str
    name: str
    region: str
    keys: SigningKeys
    rules: PostRules
    clock: Clock

    def deliver(self, path: str, content: Content) -> None:
        url = self.endpoint.rstrip("/") + object_path(self.name, path)
        # Buckets with locked objects require a digest, which the store compares.
        digest = b64encode(md5(content.body, usedforsecurity=False).digest()).decode()
        extra = {"content-type": content.media_type, "content-md5": digest}
        # There is no content encoding: clients would decompress files that are named .gz.
        headers = signed_headers(
            "PUT", url, content.body, self.keys, self.region, self.clock.now_us(), extra
        )
        deliver_by_http("PUT", url, content.body, headers, self.rules)


def amazon_endpoint(region: str) -> str:
    """Returns the endpoint of Amazon's own store."""
    return f"https://s3.{region}.amazonaws.com"
