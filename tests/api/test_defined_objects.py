"""Every write route of a defined object refuses what `/openapi.json` refuses, and a record that is
sent back as it was read changes nothing."""

import re
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx
import jsonschema_rs
import pytest

from vedette.record.objects.object_list import DEFINED

MODELS = {body.model.__name__ for defined in DEFINED for body in defined.bodies}
EDITABLE = [defined for defined in DEFINED if len(defined.bodies) > 1]
MADE: dict[str, tuple[str, dict[str, Any]]] = {
    "Ban": ("/api/v1/banning/bannedlist", {"text": "t"}),
    "Feed": (
        "/api/v1/feed",
        {"feed_url": "http://127.0.0.1:1/feed", "name": "SentBack", "password": "p"},
    ),
    "Group": (
        "/api/v1/group",
        {
            "name": "g",
            "isolation_exclusions": [{"ip_address": "10.0.0.1:53"}],
            "event_exclusions": [{"eventsToIgnore": ["filemod"], "paths": ["/x"]}],
        },
    ),
    "IngressFilter": ("/api/v1/ingress_approvedlist", {"path_filters": ["x"], "enabled": False}),
    "ResponsePolicy": (
        "/api/v1/response_policy",
        {"name": "p", "action": "ban", "hosts_never": ["A*"], "rule_ids": ["r"]},
    ),
    "Site": ("/api/v1/site", {"name": "s"}),
    "Suppression": (
        "/api/v1/alert/suppression",
        {"query": "title:quiet", "reason": "r", "expires": "2100-01-01T00:00:00Z"},
    ),
    "Watchlist": ("/api/v1/watchlist", {"name": "w", "search_query": "q=process_name:x.exe"}),
}
"""Maps each kind that can be changed to its creation route and a body."""


@pytest.fixture(scope="module")
def document(analyst: httpx.Client) -> dict[str, Any]:
    return dict(analyst.get("/openapi.json").json())


def write_routes(document: dict[str, Any]) -> Iterator[tuple[str, str, str, bool]]:
    """Method, path, model and whether the body may be a list; one of several paths of a route."""
    seen = set()
    for path, item in document["paths"].items():
        for method, call in item.items():
            content = call.get("requestBody", {}).get("content", {}).get("application/json", {})
            schema = content.get("schema", {})
            first = schema.get("oneOf", [schema])[0]
            name = first.get("$ref", "").rpartition("/")[2]
            model = document["components"]["schemas"].get(name, {})
            is_closed = model.get("additionalProperties", True) is False
            key = method, name, "{" in path
            if path.startswith("/api/") and is_closed and key not in seen:
                seen.add(key)
                yield method.upper(), path, name, "oneOf" in schema


def faulty(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The member at fault, and a body with the fault alone."""
    properties = schema["properties"]
    body = {name: sample(properties[name]) for name in schema.get("required", ())}
    yield "no_such_member", body | {"no_such_member": 1}
    for name in schema.get("required", ()):
        yield name, {other: value for other, value in body.items() if other != name}
    for name, part in properties.items():
        if part.get("readOnly"):
            continue
        yield name, body | {name: 7 if "object" in part.get("type", "") else {"wrong": ["type"]}}
        if most := bound(part, "maxLength"):
            yield name, body | {name: "x" * (most + 1)}
        if most := bound(part, "maxItems"):
            yield name, body | {name: ["0"] * (most + 1)}


def bound(part: dict[str, Any], keyword: str) -> int:
    return max(int(one.get(keyword, 0)) for one in (part, *part.get("anyOf", ())))


def sample(part: dict[str, Any]) -> Any:
    if "enum" in part:
        return part["enum"][0]
    return 1 if part.get("type") == "integer" else "0" * 32


def test_every_definition_has_write_routes(document: dict[str, Any]) -> None:
    assert {name for _, _, name, _ in write_routes(document)} >= MODELS
    assert MADE.keys() == {defined.kind.__name__ for defined in EDITABLE}


def test_a_fault_of_a_body_is_refused_by_the_document_and_by_the_route(
    document: dict[str, Any], analyst: httpx.Client
) -> None:
    components = {"components": {"schemas": document["components"]["schemas"]}}
    drift: list[tuple[str, ...]] = []
    for method, path, name, has_list in write_routes(document):
        schema = document["components"]["schemas"][name]
        validator = jsonschema_rs.Draft202012Validator(schema | components)
        place = re.sub(r"\{\w+\}", "1", path.replace("{md5}", "0" * 32))
        for member, body in faulty(schema):
            if validator.is_valid(body):
                drift.append((method, path, member, "the document allows the body"))
            for sent in (body, [body]) if has_list else (body,):
                answer = analyst.request(method, place, json=sent)
                paths = [one["member"] for one in answer.json().get("errors", ())]
                if answer.status_code != 400 or not any(member in one for one in paths):
                    drift.append((method, path, member, answer.text[:200]))
    assert drift == []


@pytest.mark.parametrize("defined", EDITABLE, ids=lambda one: one.kind.__name__)
def test_a_record_that_is_sent_back_changes_nothing(analyst: httpx.Client, defined: Any) -> None:
    base, body = MADE[defined.kind.__name__]
    if defined.kind.__name__ == "Ban":
        body = body | {"md5hash": uuid4().hex}
    answer = analyst.post(base, json=body)
    assert answer.status_code == 200, answer.text
    made = answer.json()
    path = f"{base}/{made[0] if isinstance(made, list) else made.get('id', made.get('md5hash'))}"
    before = record(analyst.get(path))
    answer = analyst.put(path, json=before)
    assert answer.status_code == 200, answer.text
    moving = {"modify_timestamp", "changed", "search_timestamp", "last_execution_time_ms"}
    moving |= {"cost_ms", "past_pending"}
    after = record(analyst.get(path))
    assert {name: after[name] for name in after if name not in moving} == {
        name: before[name] for name in before if name not in moving
    }
    member = "text" if "text" in before else "name"
    answer = analyst.put(path, json={"was": {member: "another"}})
    assert (answer.status_code, answer.json()["reason"]) == (409, "changed_meanwhile"), answer.text


def record(answer: httpx.Response) -> dict[str, Any]:
    """Some routes answer a list of one record."""
    found = answer.json()
    return dict(found[0] if isinstance(found, list) else found)
