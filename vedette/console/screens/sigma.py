"""Sigma rules: the list with what they cost and found, one of them, and what of ATT&CK they see."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any, Final

from anyio import to_thread
from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from vedette import limits
from vedette.api.http.pages import PAGE_TAG
from vedette.api.schemas.parameters import whole_number
from vedette.api.schemas.sigma_rule import wanted
from vedette.api.services import Services, services
from vedette.console.render import render
from vedette.console.text_changes import Line, differences
from vedette.state.policy import rule_versions, rules
from vedette.state.policy.rules import Wanted
from vedette.state.policy.sigma_rule import EarlierText, SigmaRule

router = APIRouter(tags=[PAGE_TAG], include_in_schema=False)

Here = Annotated[Services, Depends(services)]

TACTICS: Final = (
    *("reconnaissance", "resource-development", "initial-access", "execution", "persistence"),
    *("privilege-escalation", "defense-evasion", "credential-access", "discovery"),
    *("lateral-movement", "collection", "command-and-control", "exfiltration", "impact"),
)
"""Of ATT&CK, in the order of an attack."""

STATES: Final = ("in_force", "pending", "disabled", "stopped", "unsupported")

_TACTIC: Final = re.compile(r"attack\.([a-z][a-z_-]+)", re.ASCII)
_TECHNIQUE: Final = re.compile(r"attack\.(t\d{4}(?:\.\d{3})?)", re.ASCII | re.IGNORECASE)


@router.get("/ui/sigma", summary="Sigma rules")
async def listed(request: Request, here: Here) -> Response:
    params = request.query_params
    start = whole_number(params, "start", 0)
    asked = wanted(params)

    def work() -> dict[str, Any]:
        page = rules.page(here.database, asked, start, limits.PAGE_ROWS)
        in_force = rules.in_force(here.database)
        return {
            "page": page,
            "rows": [(one, one.state(in_force.generation)) for one in page.rules],
            "reasons": rules.reasons(here.database),
        }

    return render(
        request, "screens/sigma.html", asked=asked, start=start, states=STATES,
        page_rows=limits.PAGE_ROWS, **await to_thread.run_sync(work),
    )  # fmt: skip


@router.get("/ui/sigma/coverage", summary="What of ATT&CK the rules see")
async def coverage(request: Request, here: Here) -> Response:
    """Rules in force by tactic and technique, in numbers."""

    def work() -> tuple[dict[str, list[tuple[str, int, int]]], int]:
        found = rules.page(here.database, Wanted(state="in_force"), 0, limits.SIGMA_RULES_MAX)
        return _coverage(found.rules), found.total

    tactics, total = await to_thread.run_sync(work)
    return render(request, "screens/coverage.html", tactics=tactics, total=total)


@router.get("/ui/sigma/{rule_id}", summary="A Sigma rule")
async def one(rule_id: str, request: Request, here: Here) -> Response:
    found = await to_thread.run_sync(rules.get, here.database, rule_id)
    state = found.state(rules.in_force(here.database).generation)
    return render(request, "screens/sigma_rule.html", kept=found, state=state)


@router.get("/ui/sigma/{rule_id}/versions", summary="What a Sigma rule said")
async def versions(rule_id: str, request: Request, here: Here) -> Response:
    """Each text with what it changed of the one before; the first that is kept is whole."""

    def work() -> dict[str, Any]:
        kept = rules.get(here.database, rule_id)
        present = EarlierText(
            revision=kept.revision, text=kept.rule.text, title=kept.rule.title,
            level=kept.rule.level, text_us=kept.text_us, text_by=kept.text_by,
        )  # fmt: skip
        texts = [present, *rule_versions.earlier(here.database, rule_id)]
        return {"kept": kept, "versions": _changes(texts)}

    return render(request, "screens/sigma_versions.html", **await to_thread.run_sync(work))


def _changes(texts: Sequence[EarlierText]) -> list[tuple[EarlierText, Sequence[Line] | None]]:
    """Texts, the newest first, with the lines in which each differs from the next; None: whole."""
    pairs = zip(texts, [*texts[1:], None], strict=True)
    return [(one, differences(before.text, one.text) if before else None) for one, before in pairs]


def _coverage(found: tuple[SigmaRule, ...]) -> dict[str, list[tuple[str, int, int]]]:
    """By tactic: techniques with how many rules see them, and how often these hit."""
    counted: dict[str, Counter[str]] = {tactic: Counter() for tactic in TACTICS}
    hits: Counter[tuple[str, str]] = Counter()
    for kept in found:
        text = kept.rule.text
        named = {one.replace("_", "-") for one in _TACTIC.findall(text)}
        techniques = {one.upper() for one in _TECHNIQUE.findall(text)}
        for tactic in named & set(TACTICS):
            counted[tactic].update(techniques)
            hits.update({(tactic, one): kept.counts.hits for one in techniques})
    return {
        tactic: [(one, count, hits[tactic, one]) for one, count in sorted(counts.items())]
        for tactic, counts in counted.items()
    }
