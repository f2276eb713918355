"""One shape for every error, and one status for every error class (docs/http-api.md)."""

import asyncio
from typing import Any

import httpx
import pytest
from fastapi import APIRouter, FastAPI, Request
from prometheus_client import CollectorRegistry

from vedette import errors
from vedette.web.http.bodies.request_bodies import json_object, raw_body
from vedette.web.http.error_responses import ELASTIC_TAG, STATUSES, install_failures
from vedette.web.http.middleware import HttpMetrics, RequestMiddleware

FAILURES: list[tuple[errors.VedetteError, int, str]] = [
    (errors.QueryError("no such field", 3, 7), 400, "query_malformed_syntax"),
    (errors.BadRequestError("rows: no"), 400, "bad_request"),
    (errors.InvalidBodyError([("name", "is missing")]), 400, "bad_request"),
    (errors.BadRequestError("bomb", reason="bad_compression"), 400, "bad_compression"),
    (errors.UnauthorizedError("who?"), 401, "unauthorized"),
    (errors.ForbiddenError("no"), 403, "forbidden"),
    (errors.NotFoundError("none"), 404, "not_found"),
    (errors.ConflictError("twice"), 409, "conflict"),
    (errors.StaleError("changed", {"name": "theirs"}), 409, "changed_meanwhile"),
    (errors.TooLargeError("big"), 413, "too_large"),
    (errors.BusyError("full"), 429, "busy"),
    (errors.UnavailableError("down"), 503, "unavailable"),
]


def app_with(raised: BaseException) -> FastAPI:
    app = FastAPI()
    router = APIRouter()

    @router.get("/plain")
    def plain() -> None:
        raise raised

    @router.get("/elastic", tags=[ELASTIC_TAG])
    def elastic() -> None:
        raise raised

    @router.get("/number/{n}")
    def number(n: int) -> dict[str, int]:
        return {"n": n}

    @router.post("/object")
    async def posted(request: Request) -> dict[str, Any]:
        return await json_object(request)

    @router.post("/small")
    async def small(request: Request) -> dict[str, int]:
        return {"size": len(await raw_body(request, 10))}

    app.include_router(router)
    install_failures(app)
    app.add_middleware(RequestMiddleware, metrics=HttpMetrics(CollectorRegistry()))
    return app


def ask(raised: BaseException, method: str, path: str, **given: Any) -> httpx.Response:
    async def run() -> httpx.Response:
        transport = httpx.ASGITransport(app_with(raised))
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return await client.request(method, path, **given)

    return asyncio.run(run())


@pytest.mark.parametrize(("raised", "status", "reason"), FAILURES)
def test_an_error_becomes_its_status_and_its_word(
    raised: errors.VedetteError, status: int, reason: str
) -> None:
    answer = ask(raised, "GET", "/plain")
    assert answer.status_code == status
    assert answer.json()["reason"] == reason
    assert answer.json()["message"] == raised.message


def test_every_class_of_error_is_in_the_table() -> None:
    public = {
        known
        for known in vars(errors).values()
        if isinstance(known, type) and issubclass(known, errors.VedetteError)
    }
    assert public - {known for known, _ in STATUSES} == {errors.StartError}


def test_a_query_error_says_where() -> None:
    body = ask(errors.QueryError("no", 3, 7), "GET", "/plain").json()
    assert (body["start"], body["end"]) == (3, 7)


@pytest.mark.parametrize("raised", [errors.BusyError("full"), errors.UnavailableError("down")])
def test_who_may_come_back_learns_when(raised: errors.VedetteError) -> None:
    assert int(ask(raised, "GET", "/plain").headers["retry-after"]) > 0


def test_elasticsearch_senders_find_the_error_where_they_look() -> None:
    answer = ask(errors.BusyError("full"), "GET", "/elastic")
    body = answer.json()
    assert body["error"]["type"] == "busy"
    assert body["error"]["root_cause"] == [{"type": "busy", "reason": "full"}]
    assert (body["status"], answer.headers["x-elastic-product"]) == (429, "Elasticsearch")


@pytest.mark.parametrize("path", ["/plain", "/elastic"])
def test_a_bug_is_a_bare_500(path: str) -> None:
    answer = ask(ZeroDivisionError("secret detail"), "GET", path)
    assert answer.status_code == 500
    assert answer.json()["reason"] == "internal_error"
    assert "secret" not in answer.text
    assert answer.headers["x-request-id"] in answer.json()["message"]


@pytest.mark.parametrize(
    ("method", "path", "status", "reason"),
    [
        ("GET", "/number/x", 400, "bad_request"),
        ("GET", "/nowhere", 404, "not_found"),
        ("DELETE", "/plain", 405, "method_not_allowed"),
    ],
)
def test_what_the_framework_refuses_has_the_same_shape(
    method: str, path: str, status: int, reason: str
) -> None:
    answer = ask(ValueError(), method, path)
    assert (answer.status_code, answer.json()["reason"]) == (status, reason)


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"", 200),
        (b"null", 200),
        (b'{"a":1}', 200),
        (b"{", 400),
        (b"[1]", 400),
        (b"NaN", 400),
        (b'"\xff"', 400),
        (b"[" * 100_000, 400),
    ],
)
def test_a_body_must_be_one_json_object(content: bytes, status: int) -> None:
    assert ask(ValueError(), "POST", "/object", content=content).status_code == status


def test_a_body_over_its_limit_is_refused_by_its_announced_length() -> None:
    answer = ask(ValueError(), "POST", "/small", content=b"x" * 11)
    assert (answer.status_code, answer.json()["reason"]) == (413, "too_large")


def test_a_body_without_a_length_is_counted() -> None:
    async def pieces() -> Any:
        for _ in range(11):
            yield b"x"

    assert ask(ValueError(), "POST", "/small", content=pieces()).status_code == 413


def test_a_request_id_of_a_proxy_is_kept_when_harmless() -> None:
    for given, kept in (("abc-1", True), ("a\tb", False), ("x" * 65, False)):
        answer = ask(ValueError(), "GET", "/number/1", headers={"X-Request-Id": given})
        assert (answer.headers["x-request-id"] == given) is kept
