"""YARA rules over the copies of programs (docs/http-api.md#yara-rules)."""

from typing import Annotated, Any, Final

from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import Response

from vedette.api.http.access import principal_of
from vedette.api.http.request_bodies import json_object
from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.schemas.wire_values import instant
from vedette.api.services import Services, services
from vedette.binaries.yara_check import checked_rules
from vedette.errors import BadRequestError
from vedette.model.principal import Principal
from vedette.respond.binary_reading import reader_name
from vedette.state.files import stored_files, yara_rules
from vedette.state.files.yara_rules import YaraRule

router = Router(prefix="/api/v1/yara", tags=["binaries"])

Here = Annotated[Services, Depends(services)]

_STOPPED: Final = "stopped: it took too much time or memory"


@router.get("", summary="YARA rules, and how many copies they were asked of")
def listed(request: Request, here: Here) -> Response:
    """`state` is in_force, disabled or stopped; the copies that were read with the rules in force
    are `copies_read` of `copies`."""
    rules = yara_rules.all_rules(here.database)
    in_force = [one for one in rules if one.is_in_force]
    name = reader_name(here.binary_reading.trust_digest, in_force)
    copies, read = stored_files.count_read(here.database, name)
    caller = principal_of(request)
    bodies = [_body(one, caller) for one in rules]
    return json_answer({"rules": bodies, "copies": copies, "copies_read": read})


@router.get("/{name}", summary="A text of YARA rules")
def one(name: str, request: Request, here: Here) -> Response:
    rule = yara_rules.get(here.database, name)
    return json_answer(_body(rule, principal_of(request)) | {"text": rule.text})


@router.put("/{name}", summary="Add or change a text of YARA rules")
async def put(name: str, request: Request, here: Here) -> Response:
    """Body `{"text": "rule ..."}` or `{"enabled": false}` or both. A text is compiled first, and
    refused with its place. New copies are asked at once, older ones in the background."""
    body = await json_object(request)
    caller = principal_of(request)
    saved = await to_thread.run_sync(_save, here, name, body, caller.name, limiter=here.rule_checks)
    return json_answer(_body(saved, caller))


def _save(here: Services, name: str, body: dict[str, Any], username: str) -> YaraRule:
    unknown = set(body) - {"text", "enabled"}
    if unknown:
        raise BadRequestError(f"there is no member {min(unknown)[:60]!r} of YARA rules")
    text, enabled = body.get("text"), body.get("enabled")
    if not body or not isinstance(text, str | None) or not isinstance(enabled, bool | None):
        raise BadRequestError("text: rules; enabled: true or false; one of them at least")
    if text is not None:
        checked_rules(text)
    return yara_rules.save(
        here.database, name, username, here.clock.now_us(), text=text, enabled=enabled
    )


@router.delete("/{name}", summary="Delete a text of YARA rules")
def delete(name: str, here: Here) -> Response:
    """Its matches go within seconds."""
    yara_rules.remove(here.database, name)
    return json_answer({"result": "success"})


def _body(rule: YaraRule, caller: Principal) -> dict[str, Any]:
    """What stopped a text names a file, which may be another group's."""
    state = "in_force" if rule.is_in_force else "stopped" if rule.problem else "disabled"
    problem = rule.problem if caller.is_global_admin or not rule.problem else _STOPPED
    return {
        "name": rule.name,
        "enabled": rule.enabled,
        "state": state,
        "problem": problem,
        "username": rule.username,
        "changed": instant(rule.changed_us),
    }
