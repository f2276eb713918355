"""Request bodies that handlers declare as parameters: read within limits, validated, and described
in `/openapi.json`."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeVar

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BaseModel

from vedette.errors import BadRequestError, InvalidBodyError
from vedette.limits import FAULTS_SHOWN_MAX, REQUEST_BODY_BYTES_MAX
from vedette.web.http.bodies.request_bodies import decoded_body, json_or_none

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

COMPONENTS: Final = "#/components/schemas/"


class Reader(Protocol[T_co]):
    """Validates a JSON object (`vedette/record/bodies.py`)."""

    @property
    def model(self) -> type[BaseModel]: ...

    def read(self, body: Mapping[str, Any]) -> T_co: ...


@dataclass(frozen=True, slots=True, eq=False)
class JsonBody(Generic[T]):
    """A handler dependency that returns the validated body of a request."""

    model: type[BaseModel]
    """Model of the body's object, or of the objects in the body's list."""
    has_list: bool
    check: Callable[[Any], T]
    """Validates the JSON value, which is None for an empty body. Raises BadRequestError."""

    async def __call__(self, request: Request) -> T:
        """Reads and validates the body, in a thread if it is large. Raises BadRequestError,
        TooLargeError and BusyError."""
        bytes_max = REQUEST_BODY_BYTES_MAX
        return await decoded_body(
            request, bytes_max, bytes_max, lambda raw: self.check(json_or_none(raw))
        )

    def schema(self) -> dict[str, Any]:
        one = {"$ref": COMPONENTS + self.model.__name__}
        if not self.has_list:
            return one
        return {"oneOf": [one, {"type": "array", "items": one, "minItems": 1}]}


def json_body(reader: Reader[T]) -> JsonBody[T]:
    """Returns a dependency for a JSON object. An empty body and `null` count as `{}`, because cbapi
    sends them."""

    def check(value: Any) -> T:
        if value is not None and not isinstance(value, dict):
            raise BadRequestError("the body must be a JSON object")
        return reader.read(value or {})

    return JsonBody(reader.model, False, check)


def json_bodies(reader: Reader[T], what: str) -> JsonBody[list[T]]:
    """A list of objects, or one object; `what` names an object, as in `an ingress filter`."""

    def check(value: Any) -> list[T]:
        objects = value if isinstance(value, list) else [value]
        if not objects or not all(isinstance(one, dict) for one in objects):
            raise BadRequestError(f"the body must be {what} or a list")
        found: list[T] = []
        faults: list[tuple[str, str]] = []
        for number, one in enumerate(objects):
            try:
                found.append(reader.read(one))
            except InvalidBodyError as error:
                place = f"[{number}]." if isinstance(value, list) else ""
                faults += ((place + path, text) for path, text in error.faults)
        if faults:
            raise InvalidBodyError(faults[:FAULTS_SHOWN_MAX])
        return found

    return JsonBody(reader.model, True, check)


def declared_body(route: APIRoute) -> JsonBody[Any] | None:
    """Returns the body that a route's handler declares as a parameter, None without one."""
    return next(_bodies(route.dependant), None)


def _bodies(dependant: Dependant) -> Iterator[JsonBody[Any]]:
    if isinstance(dependant.call, JsonBody):
        yield dependant.call
    for part in dependant.dependencies:
        yield from _bodies(part)
