"""Ingress filters that end by themselves."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.support.served import wait_for

BASE = "/api/v1/ingress_approvedlist"


def in_s(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()


def read(analyst: httpx.Client, filter_id: str) -> dict[str, Any]:
    return dict(analyst.get(f"{BASE}/{filter_id}").json())


def test_a_filter_ends_at_its_time_and_can_be_switched_on_again(analyst: httpx.Client) -> None:
    body = {"id": "ends", "name": "Ends", "path_filters": ["*/ends"], "expires": in_s(1)}
    assert analyst.post(BASE, json=body).is_success
    assert read(analyst, "ends")["expires"].startswith(str(datetime.now(UTC).year))
    assert wait_for(lambda: read(analyst, "ends")["enabled"], False) is False
    assert read(analyst, "ends")["expires"] is None
    assert analyst.put(f"{BASE}/ends", json={"enabled": True, "expires": in_s(900)}).is_success
    kept = read(analyst, "ends")
    assert kept["enabled"]
    assert analyst.put(f"{BASE}/ends", json=kept).is_success  # a record as it was read
    assert analyst.put(f"{BASE}/ends", json={"expires": None}).is_success
    assert read(analyst, "ends")["expires"] is None
    assert analyst.delete(f"{BASE}/ends").is_success


@pytest.mark.parametrize(
    ("expires", "why"),
    [
        ("yesterday", "is not a time"),
        (5, "must be a time"),
        ("1960-01-01", "before 1970"),
        (None, "in the future"),
    ],
    ids=str,
)
def test_an_end_that_is_no_time_to_come_is_refused(
    analyst: httpx.Client, expires: Any, why: str
) -> None:
    expires = in_s(-60) if expires is None else expires
    body = {"id": "refused", "path_filters": ["*/x"], "expires": expires}
    answer = analyst.post(BASE, json=body)
    assert answer.status_code == 400
    assert why in answer.text
    assert analyst.post(BASE, json=body | {"expires": None}).is_success
    assert analyst.put(f"{BASE}/refused", json={"expires": expires}).status_code == 400
    assert analyst.delete(f"{BASE}/refused").is_success
