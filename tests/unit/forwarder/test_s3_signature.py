"""Signatures of S3 requests, against Amazon's own client library."""

from datetime import UTC, datetime

import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from vedette.forwarder.s3_signature import SigningKeys, object_path, signed_headers

KEY, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"


@pytest.mark.parametrize("token", ["", "a/session+token=="])
@pytest.mark.parametrize(
    ("bucket", "key"),
    [("bucket", "a/b.gz"), ("my.bucket-1", "date=2026-03-04/hour=05/x@y,z+1.jsonl.gz")],
)
@pytest.mark.parametrize("body", [b"", b"\x00\xff" * 1_000])
def test_requests_are_signed_as_by_the_library_of_amazon(
    bucket: str, key: str, body: bytes, token: str
) -> None:
    url = "https://s3.eu-central-1.amazonaws.com" + object_path(bucket, key)
    request = AWSRequest("PUT", url, {"content-type": "application/x-ndjson"}, body)
    request.context["payload_signing_enabled"] = True
    S3SigV4Auth(Credentials(KEY, SECRET, token or None), "s3", "eu-central-1").add_auth(request)
    theirs = {name.lower(): text for name, text in request.headers.items()}
    signed_at = datetime.strptime(theirs["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    mine = signed_headers(
        "PUT",
        url,
        body,
        SigningKeys(KEY, SECRET, token),
        "eu-central-1",
        int(signed_at.timestamp()) * 1_000_000,
        {"content-type": "application/x-ndjson"},
    )
    assert mine == theirs | {"host": "s3.eu-central-1.amazonaws.com"}


def test_keys_are_not_shown() -> None:
    assert SECRET not in repr(SigningKeys(KEY, SECRET, SECRET))
