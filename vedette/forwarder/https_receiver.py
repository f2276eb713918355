"""A receiver of HTTP requests: each file is a POST request with its name in a header, compressed
with gzip."""

from dataclasses import dataclass, field

from vedette.forwarder.delivery import Content
from vedette.forwarder.http_delivery import deliver_by_http
from vedette.notify.http_post import PostRules

NAME_HEADER = "X-Vedette-File"


@dataclass(frozen=True, slots=True)
class HttpsReceiver:
    """The `Destination` for HTTP receivers. A file that is sent again has the same name."""

    url: str = field(repr=False)
    authorization: str = field(repr=False)
    rules: PostRules

    def deliver(self, path: str, content: Content) -> None:
        headers = {"Content-Type": content.media_type, NAME_HEADER: path}
        if content.encoding:
            headers["Content-Encoding"] = content.encoding
        if self.authorization:
            headers["Authorization"] = self.authorization
        deliver_by_http("POST", self.url, content.body, headers, self.rules)
