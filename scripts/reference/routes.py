"""The routes, from the routers and the table of rights."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from fastapi.routing import APIRoute

from scripts.reference.markdown import code, ended, item, paragraph, sentence, table
from vedette.web.app import ROUTERS
from vedette.web.http.rights.right import Right

_INTRODUCTION = """
What holds for all of them stands in [the HTTP API](../http-api.md): credentials, errors, answers.
A running server shows the same at `/docs` and describes it in `/openapi.json`.
"""

HEADING_CHARS_MAX = 110
"""Paths of one handler beyond this stand below the heading."""

RIGHTS = {
    Right.OPEN: "everyone, without a token",
    Right.IN_BODY: "anyone who has the secret that the body carries",
    Right.SENSOR: "an enrolled sensor, by its key",
    Right.HANDSHAKE: "as send; browsers are sent on to `/docs` without a token",
    Right.SEND: "ingest tokens, global administrators",
    Right.READ: "users, within the sensor groups they may see",
    Right.ACT: "users who are Analyst or Administrator in the sensor group",
    Right.ADMINISTER: "global administrators",
}


@dataclass(frozen=True, slots=True)
class Call:
    """One way to call a handler: several paths and methods may lead to it."""

    method: str
    path: str
    right: Right
    route: APIRoute


def calls() -> Iterator[Call]:
    """Every method of every route, in the order in which they are matched."""
    for router in ROUTERS:
        for route in router.routes:
            for method in sorted(route.methods or ()):
                yield Call(method, route.path, route.access.right, route)


def body() -> str:
    rights = table(
        ("Right", "Held by"), ((code(right.name.lower()), text) for right, text in RIGHTS.items())
    )
    parts = [paragraph(_INTRODUCTION), rights]
    groups: dict[str, list[Call]] = {}
    for call in calls():
        groups.setdefault(_title(call), []).append(call)
    for title, group in groups.items():
        parts.append(f"## {title}")
        parts += [_section(list(same)) for _, same in groupby(group, key=_handler)]
    return "\n\n".join(parts)


def _title(call: Call) -> str:
    return str(call.route.tags[0] if call.route.tags else "pages").capitalize()


def _handler(call: Call) -> tuple[Any, str]:
    """Calls next to each other that do the same."""
    is_set_up = call.route.path.startswith("/_") and call.route.path != "/_bulk"
    return call.route.endpoint, call.path if is_set_up else ""


def _section(same: list[Call]) -> str:
    first = same[0]
    spelled = _spelled(same)
    fits = len(", ".join(spelled)) <= HEADING_CHARS_MAX
    heading = "### " + (", ".join(spelled) if fits else spelled[0])
    text = f"{sentence(first.route.summary or '')} {first.route.description or ''}"
    facts = [f"Right: {code(first.right.name.lower())}"]
    facts += [] if fits else [f"The same: {one}" for one in spelled[1:]]
    facts += [f"{code(name)}: {ended(about)}" for name, about in _parameters(first.route)]
    return f"{heading}\n\n{paragraph(text)}\n\n" + "\n".join(map(item, facts))


def _spelled(same: list[Call]) -> list[str]:
    """Methods together, a path each: as in `GET|HEAD /`."""
    methods: dict[str, list[str]] = {}
    for call in same:
        methods.setdefault(call.path, []).append(call.method)
    return [f"{'|'.join(some)} {path}" for path, some in methods.items()]


def _parameters(route: APIRoute) -> list[tuple[str, str]]:
    """Names and texts of what a path or URL may carry, where there is a text."""
    declared = (route.openapi_extra or {}).get("parameters", ())
    in_path = [
        (param.alias, param.field_info.description)
        for param in route.dependant.path_params
        if param.field_info.description
    ]
    return in_path + [(param["name"], param["description"]) for param in declared]
