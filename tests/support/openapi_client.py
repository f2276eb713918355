"""A client made of `/openapi.json` alone: one function an operation, which sends what the document
allows and holds the answer against what the document says."""

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any
from urllib.parse import quote

import httpx
import jsonschema_rs


class UndocumentedError(AssertionError):
    """A call or an answer that the document does not describe."""


def closed(schema: Any) -> Any:
    """A schema whose objects have no members beside those that it names."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {name: closed(part) for name, part in schema.items()}
    if isinstance(schema.get("properties"), dict) and schema.get("type") is not None:
        parts.setdefault("additionalProperties", False)
    return parts


class Answers:
    """Checks answers against a document."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._components = closed(deepcopy(document["components"]["schemas"]))
        self._validators: dict[str, jsonschema_rs.Draft202012Validator] = {}

    def check(self, call: dict[str, Any], answer: httpx.Response) -> Any:
        """The JSON value of an answer, else its bytes. Raises UndocumentedError."""
        place = f"{call['operationId']}: {answer.status_code}"
        said = call["responses"].get(str(answer.status_code))
        if said is None:
            raise UndocumentedError(f"{place}: status")
        if "content" not in said:
            assert answer.content == b"", place
            return None
        media_type = answer.headers["content-type"].partition(";")[0]
        if media_type not in said["content"]:
            raise UndocumentedError(f"{place}: {media_type}")
        if media_type != "application/json":
            return answer.content
        self.check_value(said["content"][media_type]["schema"], answer.json(), place)
        return answer.json()

    def check_value(self, schema: dict[str, Any], value: Any, place: str) -> None:
        key = json.dumps(schema, sort_keys=True)
        if key not in self._validators:
            whole = closed(schema) | {"components": {"schemas": self._components}}
            self._validators[key] = jsonschema_rs.Draft202012Validator(whole, validate_formats=True)
        faults = [
            f"{'/'.join(map(str, fault.instance_path))}: {fault.message[:300]}"
            for fault in self._validators[key].iter_errors(value)
        ]
        if faults:
            raise UndocumentedError(f"{place}: {faults[:5]}")


class DocumentClient:
    """The functions of a document, by operation id (`client["search_api_v1_process_get"](q="x")`)
    or by method and path (`client["GET /api/v1/process"]`)."""

    def __init__(self, document: dict[str, Any], http: httpx.Client) -> None:
        self._http = http
        self._answers = Answers(document)
        self._calls: dict[str, Callable[..., Any]] = {}
        for path, item in document["paths"].items():
            for method, call in item.items():
                function = self._function(method.upper(), path, call)
                self._calls[call["operationId"]] = function
                self._calls[f"{method.upper()} {path}"] = function

    def __getitem__(self, name: str) -> Callable[..., Any]:
        return self._calls[name]

    def _function(self, method: str, path: str, call: dict[str, Any]) -> Callable[..., Any]:
        where = {one["name"]: one["in"] for one in call.get("parameters", [])}
        content = call.get("requestBody", {}).get("content", {})

        def function(body: Any = None, fails: bool = False, **given: Any) -> Any:
            if unknown := set(given) - set(where):
                raise UndocumentedError(f"{method} {path}: parameters {sorted(unknown)}")
            place, query = path, {}
            for name, value in given.items():
                if where[name] == "path":
                    place = place.replace(f"{{{name}}}", quote(str(value), safe=""))
                else:
                    query[name] = value
            sent = self._body(f"{method} {path}", content, body)
            answer = self._http.request(method, place, params=query, **sent)
            assert (answer.status_code >= 400) is fails, answer.text
            return self._answers.check(call, answer)

        return function

    def _body(self, place: str, content: dict[str, Any], body: Any) -> dict[str, Any]:
        """Keywords for httpx."""
        if (body is not None) is not bool(content):
            raise UndocumentedError(f"{place}: a body must {'' if content else 'not '}be there")
        if body is None:
            return {}
        [media_type] = {"application/json"} & content.keys() or content.keys()
        described = content[media_type]
        if media_type == "application/json":
            self._answers.check_value(described["schema"], body, f"{place} body")
            return {"json": body}
        return {"content": body, "headers": {"content-type": media_type}}
