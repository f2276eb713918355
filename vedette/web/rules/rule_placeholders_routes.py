"""Placeholders of Sigma rules, and earlier texts of rules
(docs/detection-conditions.md#placeholders)."""

from typing import Annotated, Any, Final

from fastapi import Depends
from starlette.responses import Response

from vedette.alerting.rule_import import compile_anew
from vedette.detect.sigma.placeholders import placeholders_of
from vedette.model.principal import Principal
from vedette.model.rights.authorization import Deed
from vedette.state.policy import rule_placeholders, rule_versions, rules
from vedette.web.http.access import principal_of
from vedette.web.http.bodies.request_bodies import json_object
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.rules.models import placeholder_body, placeholder_values, versions_body

router = Router(tags=["sigma rules"])

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]
Body = Annotated[dict[str, Any], Depends(json_object)]

_PLACEHOLDERS: Final = "/api/v1/sigma/placeholder"


@router.get(_PLACEHOLDERS, right=Right.VIEW, summary="List placeholders of Sigma rules")
def listed(here: Here) -> Response:
    """Returns placeholders by name, with their values and the rules that use them. Includes
    placeholders without values that rules use."""
    known = {one.name: one for one in rule_placeholders.listed(here.database)}
    named: dict[str, list[str]] = {name: [] for name in known}
    for rule_id, text in rule_placeholders.texts(here.database):
        for name in placeholders_of(text):
            named.setdefault(name, []).append(rule_id)
    return json_answer(
        [placeholder_body(name, known.get(name), ids) for name, ids in sorted(named.items())]
    )


@router.put(
    f"{_PLACEHOLDERS}/{{name}}",
    right=Deed.CHANGE_PLACEHOLDERS,
    summary="Set a placeholder of Sigma rules",
)
def put(name: str, here: Here, caller: Caller, body: Body) -> Response:
    """Body: `values`. Recompiles the rules that use the placeholder; `rules` is their number."""
    values = placeholder_values(name, body)
    rule_placeholders.put(here.database, name, values, caller.name, here.clock.now_us())
    return _compiled(here)


@router.delete(
    f"{_PLACEHOLDERS}/{{name}}",
    right=Deed.CHANGE_PLACEHOLDERS,
    summary="Delete a placeholder of Sigma rules",
)
def delete(name: str, here: Here) -> Response:
    """Rules that use it are then listed as `unresolved_placeholder`."""
    rule_placeholders.remove(here.database, name)
    return _compiled(here)


@router.get(
    "/api/v1/sigma/{rule_id}/versions", right=Right.VIEW, summary="List versions of a Sigma rule"
)
def versions(rule_id: str, here: Here) -> Response:
    """Returns the current and earlier texts, newest first, each with revision, time and author."""
    present = rules.get(here.database, rule_id)
    return json_answer(versions_body(present, rule_versions.earlier(here.database, rule_id)))


def _compiled(here: Services) -> Response:
    count = compile_anew(here.database)
    here.rules.reload()
    return json_answer({"result": "success", "rules": count})
