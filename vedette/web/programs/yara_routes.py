"""YARA rules for copies of programs (docs/api-yara.md)."""

from typing import Annotated, Any, Final

from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import Response

from vedette.binaries.yara_check import checked_rules
from vedette.errors import BadRequestError
from vedette.model.principal import Principal
from vedette.model.rights.authorization import Deed
from vedette.respond.binary_reading import reader_name
from vedette.state.files import stored_files, yara_rules
from vedette.state.files.yara_rules import YaraRule
from vedette.web.http.access import principal_of
from vedette.web.http.bodies.request_bodies import json_object
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.json.body_members import flag_of
from vedette.web.json.wire_values import instant

router = Router(prefix="/api/v1/yara", tags=["binaries"])

Here = Annotated[Services, Depends(services)]

_STOPPED: Final = "stopped: it took too much time or memory"


@router.get("", right=Right.VIEW, summary="List YARA rules")
def listed(request: Request, here: Here) -> Response:
    """Returns rule texts with `state` in_force, disabled or stopped. `copies_read` of `copies` have
    been scanned with the rules in force."""
    rules = yara_rules.all_rules(here.database)
    in_force = [one for one in rules if one.is_in_force]
    name = reader_name(here.binary_reading.trust_digest, in_force)
    copies, read = stored_files.count_read(here.database, name)
    caller = principal_of(request)
    bodies = [_body(one, caller) for one in rules]
    return json_answer({"rules": bodies, "copies": copies, "copies_read": read})


@router.get("/{name}", right=Right.VIEW, summary="Get a text of YARA rules")
def one(name: str, request: Request, here: Here) -> Response:
    rule = yara_rules.get(here.database, name)
    return json_answer(_body(rule, principal_of(request)) | {"text": rule.text})


@router.put("/{name}", right=Deed.CHANGE_YARA_RULES, summary="Add or change a text of YARA rules")
async def put(name: str, request: Request, here: Here) -> Response:
    """Body: `{"text": "rule ..."}`, `{"enabled": false}`, or both. The text is compiled first;
    errors state their position. New copies are scanned immediately, older ones in the
    background."""
    body = await json_object(request)
    caller = principal_of(request)
    saved = await to_thread.run_sync(_save, here, name, body, caller.name, limiter=here.rule_checks)
    return json_answer(_body(saved, caller))


def _save(here: Services, name: str, body: dict[str, Any], username: str) -> YaraRule:
    unknown = set(body) - {"text", "enabled"}
    if unknown:
        raise BadRequestError(f"unknown field {min(unknown)[:60]!r}")
    text, enabled = body.get("text"), flag_of(body, "enabled")
    if not body or not isinstance(text, str | None):
        raise BadRequestError("text or enabled is required")
    if text is not None:
        checked_rules(text)
    return yara_rules.save(
        here.database, name, username, here.clock.now_us(), text=text, enabled=enabled
    )


@router.delete("/{name}", right=Deed.CHANGE_YARA_RULES, summary="Delete a text of YARA rules")
def delete(name: str, here: Here) -> Response:
    """Deletes the rules. Their matches disappear within seconds."""
    yara_rules.remove(here.database, name)
    return json_answer({"result": "success"})


def _body(rule: YaraRule, caller: Principal) -> dict[str, Any]:
    """Returns rules as JSON. Only global administrators see the exact problem of a stopped text,
    because it names a file that may belong to another group."""
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
