"""A feed of threat intelligence (docs/feeds.md)."""

from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, StringConstraints

from vedette.limits import (
    FEED_ICON_CHARS_MAX,
    FEED_NAME_CHARS_MAX,
    FEED_TEXT_CHARS_MAX,
    Limit,
)
from vedette.record.answers import Answer, answer_model
from vedette.record.bodies import RecordBody, Request
from vedette.record.kinds import (
    DATABASE_ID_MAX,
    Flag,
    KnownInstant,
    NullForEmpty,
    SentBack,
    null_means,
    text,
    whole,
)
from vedette.record.member import Access, Member

FEED_URL_CHARS_MAX: Limit[int] = 4_096
"""Maximum characters of a feed's URL."""

FEED_SECRET_CHARS_MAX: Limit[int] = 100_000
"""Maximum characters of a feed's password, certificate chain or key."""

SCHEMES: Final = ("file://", "http://", "https://")

_PORTS: Final = {"http": 80, "https": 443}
_HIDDEN: Final = Access.HIDDEN
_READ_ONLY: Final = Access.READ_ONLY


def server_of(url: str) -> tuple[str, str, int]:
    """Returns (scheme, host, port) of a URL. The port is that of the scheme if the URL has none."""
    split = urlsplit(url)
    try:
        port = split.port
    except ValueError:
        port = None
    return split.scheme, (split.hostname or "").lower(), port or _PORTS.get(split.scheme, 0)


def _url(value: str) -> str:
    """Returns the URL with its scheme in lower case. Raises ValueError for another scheme, white
    space, credentials or a missing host."""
    if not value.lower().startswith(SCHEMES):
        raise ValueError(f"must begin with {', '.join(SCHEMES)}")
    if any(ord(char) <= ord(" ") for char in value):
        raise ValueError("contains whitespace")
    scheme, rest = value.split("://", 1)
    if "@" in rest.partition("/")[0]:
        raise ValueError("must not contain credentials; set username and password")
    url = f"{scheme.lower()}://{rest}"
    if not url.startswith("file:") and not server_of(url)[1]:
        raise ValueError("has no host")
    return url


_Name = Annotated[
    str,
    StringConstraints(strict=True, pattern="^[A-Za-z0-9]+$", max_length=FEED_NAME_CHARS_MAX),
]
_Url = Annotated[
    str,
    StringConstraints(strict=True, max_length=FEED_URL_CHARS_MAX, min_length=1),
    AfterValidator(_url),
    Field(json_schema_extra={"format": "uri"}),
]
_Title = Annotated[str, text(FEED_TEXT_CHARS_MAX)]
_Provider = Annotated[str, text(FEED_URL_CHARS_MAX)]
_Long = Annotated[str, text(FEED_TEXT_CHARS_MAX)] | None
_Icon = Annotated[str, text(FEED_ICON_CHARS_MAX)] | None
_Secret = Annotated[str, text(FEED_SECRET_CHARS_MAX)] | None
_Rating = Annotated[float, Field(strict=True, ge=-100, le=100, allow_inf_nan=False)] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """A feed. Times are epoch microseconds; 0 means never."""

    id: Annotated[int, Member("Feed id", _READ_ONLY)] = 0
    name: Annotated[_Name, Member("Name in queries; default: the name in the document")] = ""
    display_name: Annotated[_Title, null_means("", _Title), Member("Name in lists")] = ""
    feed_url: Annotated[_Url, Member("URL of the document")]
    provider_url: Annotated[
        _Provider, null_means("", _Provider), Member("URL of a page about the feed")
    ] = ""
    enabled: Annotated[
        Flag, null_means(False, Flag), Member("Whether the feed is fetched and matched")
    ] = False
    summary: Annotated[_Long, Member("Summary of the contents")] = None
    tech_data: Annotated[_Long, Member("Technical requirements")] = None
    category: Annotated[_Long, Member("Category of the feed")] = None
    icon: Annotated[_Icon, Member("Image, Base64")] = None
    icon_small: Annotated[_Icon, Member("Small image, Base64")] = None
    manually_added: Annotated[bool, Member("Always true", _READ_ONLY)] = True
    position: Annotated[
        Annotated[int, whole(0, DATABASE_ID_MAX)] | None, Member("Position in lists", name="order")
    ] = None
    use_proxy: Annotated[Flag | None, Member("Whether the proxy fetches it")] = None
    validate_server_cert: Annotated[
        Flag | None, Member("false: the server's certificate is not checked")
    ] = None
    provider_rating: Annotated[_Rating, Member("Rating by the provider")] = None
    local_rating: Annotated[_Rating, Member("Local rating; takes precedence")] = None
    requires: Annotated[_Long, Member("What the provider requires")] = None
    requires_what: Annotated[_Long, Member("What is required")] = None
    requires_who: Annotated[_Long, Member("Who requires it")] = None
    ssl_client_crt: Annotated[_Secret, Member("Client certificate, PEM")] = None
    username: Annotated[_Secret, Member("User name for the server")] = None
    format: Annotated[NullForEmpty, Member("Format of the document", _READ_ONLY)] = ""
    synced_us: Annotated[
        KnownInstant, Member("Time of the last fetch", _READ_ONLY, "last_sync")
    ] = 0
    full_synced_us: Annotated[
        KnownInstant, Member("Time of the last full fetch", _READ_ONLY, "last_full_sync")
    ] = 0
    sync_started_us: Annotated[
        KnownInstant, Member("Start of the last fetch", _READ_ONLY, "last_sync_started")
    ] = 0
    next_sync_us: Annotated[int, Member("Time of the next fetch", _HIDDEN)] = 0
    sync_wanted: Annotated[int, Member("Requested fetch: 1 changes, 2 all", _HIDDEN)] = 0
    sync_requested_us: Annotated[int, Member("Time of the request for a fetch", _HIDDEN)] = 0
    failures: Annotated[int, Member("Failures since the last success", _READ_ONLY)] = 0
    last_error: Annotated[NullForEmpty, Member("Message of the last failure", _READ_ONLY)] = ""
    etag: Annotated[str, Member("ETag of the document", _HIDDEN)] = ""
    reports_read: Annotated[int, Member("Reports in the last fetch", _HIDDEN)] = 0
    reports_changed: Annotated[int, Member("Reports changed by it", _HIDDEN)] = 0
    reports_deleted: Annotated[int, Member("Reports deleted by it", _HIDDEN)] = 0
    iocs_read: Annotated[int, Member("Indicators in the last fetch", _HIDDEN)] = 0
    errors: Annotated[
        int, Member("Parts of the document that cannot be parsed", _READ_ONLY, "error_count")
    ] = 0

    @property
    def next_sync(
        self,
    ) -> Annotated[KnownInstant, Member("Time of the next fetch; null: disabled", _READ_ONLY)]:
        """Time of the next fetch (epoch µs); 0 if the feed is disabled."""
        return self.next_sync_us if self.enabled else 0

    @property
    def sync_requested(self) -> Annotated[bool, Member("Whether a fetch is requested", _READ_ONLY)]:
        """Whether a requested synchronization has not ended."""
        return self.sync_wanted > 0

    @property
    def rating(self) -> float | None:
        """Value of the feed, 0 to 5: the local rating, or the provider's if there is none."""
        return self.provider_rating if self.local_rating is None else self.local_rating


class FeedRequest(Request):
    """Further members of a body. Null leaves a secret unchanged; "" deletes it."""

    password: Annotated[_Secret, Field(description="Password for the server; null: unchanged")] = (
        None
    )
    ssl_client_key: Annotated[_Secret, Field(description="Client key; null: unchanged")] = None
    action_type: SentBack = None
    errors_: Annotated[SentBack, Field(alias="errors")] = None
    has_password: SentBack = None
    has_ssl_client_key: SentBack = None
    ioc_count: SentBack = None
    report_count: SentBack = None
    result: SentBack = None


class FeedErrorAnswer(Answer):
    """A part of a document that could not be parsed."""

    place: str
    report_id: str | None
    problem: str


_MORE: Final[dict[str, Any]] = {
    "password": None,
    "ssl_client_key": None,
    "has_password": bool,
    "has_ssl_client_key": bool,
    "report_count": int,
    "ioc_count": int,
}
FEED: Final = answer_model(Feed, **_MORE)
FEED_WITH_ERRORS: Final = answer_model(
    Feed, "FeedWithErrors", **_MORE, errors_=(list[FeedErrorAnswer], Field(alias="errors"))
)
CHANGED_FEED: Final = answer_model(
    Feed,
    "ChangedFeed",
    **_MORE,
    errors_=(list[FeedErrorAnswer], Field(alias="errors")),
    result=Literal["success"],
)
NEW_FEED: Final = RecordBody("NewFeed", Feed, FeedRequest, creates=True)
FEED_CHANGE: Final = RecordBody("FeedChange", Feed, FeedRequest, creates=False)
