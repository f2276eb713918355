"""AWS Signature Version 4 for requests with a body in memory (used by S3 and compatible stores).
Pure.

https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
"""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from urllib.parse import quote, urlsplit

_ALGORITHM = "AWS4-HMAC-SHA256"


@dataclass(frozen=True, slots=True)
class SigningKeys:
    """Keys of a user of the object store. They are not shown when printed."""

    access_key_id: str = field(repr=False)
    secret_access_key: str = field(repr=False)
    session_token: str = field(repr=False, default="")


def object_path(bucket: str, key: str) -> str:
    """Returns the path of an object, including the bucket, percent-encoded as it is signed."""
    return "/" + quote(f"{bucket}/{key}", safe="/-_.~")


def signed_headers(
    method: str,
    url: str,
    body: bytes,
    keys: SigningKeys,
    region: str,
    now_us: int,
    extra: Mapping[str, str],
) -> dict[str, str]:
    """Returns all headers of a request, including `extra`. The URL must have no query."""
    at = datetime.fromtimestamp(now_us // 1_000_000, UTC)
    moment, day = f"{at:%Y%m%dT%H%M%SZ}", f"{at:%Y%m%d}"
    parts = urlsplit(url)
    digest = sha256(body).hexdigest()
    headers = {
        **{name.lower(): " ".join(text.split()) for name, text in extra.items()},
        "host": parts.netloc,
        "x-amz-content-sha256": digest,
        "x-amz-date": moment,
    }
    if keys.session_token:
        headers["x-amz-security-token"] = keys.session_token
    names = sorted(headers)
    listed = ";".join(names)
    lines = "".join(f"{name}:{headers[name]}\n" for name in names)
    request = f"{method}\n{parts.path}\n\n{lines}\n{listed}\n{digest}"
    scope = f"{day}/{region}/s3/aws4_request"
    text = f"{_ALGORITHM}\n{moment}\n{scope}\n{sha256(request.encode()).hexdigest()}"
    key = f"AWS4{keys.secret_access_key}".encode()
    for step in (day, region, "s3", "aws4_request"):
        key = _mac(key, step)
    signature = _mac(key, text).hex()
    credential = f"{keys.access_key_id}/{scope}"
    headers["authorization"] = (
        f"{_ALGORITHM} Credential={credential}, SignedHeaders={listed}, Signature={signature}"
    )
    return headers


def _mac(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), "sha256")
