"""Placeholders of Sigma rules, and what rules said before (docs/detection.md#placeholders)."""

from typing import Annotated, Any, Final

from fastapi import Depends
from starlette.responses import Response

from vedette.alerting.rule_import import compile_anew
from vedette.api.http.access import principal_of
from vedette.api.http.request_bodies import json_object
from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.schemas.sigma_rule import placeholder_body, placeholder_values, versions_body
from vedette.api.services import Services, services
from vedette.detect.sigma.placeholders import placeholders_of
from vedette.model.principal import Principal
from vedette.state.policy import rule_placeholders, rule_versions, rules

router = Router(tags=["sigma rules"])

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]
Body = Annotated[dict[str, Any], Depends(json_object)]

_PLACEHOLDERS: Final = "/api/v1/sigma/placeholder"


@router.get(_PLACEHOLDERS, summary="Placeholders of Sigma rules")
def listed(here: Here) -> Response:
    """By name, with their values and the rules that name them; also those that rules name and
    nobody gave a value."""
    known = {one.name: one for one in rule_placeholders.listed(here.database)}
    named: dict[str, list[str]] = {name: [] for name in known}
    for rule_id, text in rule_placeholders.texts(here.database):
        for name in placeholders_of(text):
            named.setdefault(name, []).append(rule_id)
    return json_answer(
        [placeholder_body(name, known.get(name), ids) for name, ids in sorted(named.items())]
    )


@router.put(f"{_PLACEHOLDERS}/{{name}}", summary="Set a placeholder of Sigma rules")
def put(name: str, here: Here, caller: Caller, body: Body) -> Response:
    """Takes `values`. Rules that name it are compiled anew; `rules` counts them."""
    values = placeholder_values(name, body)
    rule_placeholders.put(here.database, name, values, caller.name, here.clock.now_us())
    return _compiled(here)


@router.delete(f"{_PLACEHOLDERS}/{{name}}", summary="Delete a placeholder of Sigma rules")
def delete(name: str, here: Here) -> Response:
    """Rules that name it are listed as `unresolved_placeholder` then."""
    rule_placeholders.remove(here.database, name)
    return _compiled(here)


@router.get("/api/v1/sigma/{rule_id}/versions", summary="Versions of a Sigma rule")
def versions(rule_id: str, here: Here) -> Response:
    """What it says and said, the newest first: revision, text, since when and by whom."""
    present = rules.get(here.database, rule_id)
    return json_answer(versions_body(present, rule_versions.earlier(here.database, rule_id)))


def _compiled(here: Services) -> Response:
    count = compile_anew(here.database)
    here.rules.reload()
    return json_answer({"result": "success", "rules": count})
