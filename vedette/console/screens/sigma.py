"""Sigma rules: the list with what they cost and found, one of them, and what of ATT&CK they see."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Annotated, Any, Final

from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import Response

from vedette import limits
from vedette.api.http.access import scope_of_request
from vedette.api.http.pages import PAGE_TAG
from vedette.api.http.router import Router
from vedette.api.routes.search.run import run_lookup, run_search
from vedette.api.schemas.parameters import whole_number
from vedette.api.schemas.sigma_rule import wanted
from vedette.api.services import Services, services
from vedette.console import rule_facets
from vedette.console.alert_outcomes import NONE, outcomes_of
from vedette.console.render import render
from vedette.console.rule_condition import condition_lines
from vedette.console.rule_facets import TACTICS
from vedette.console.text_changes import Line, differences
from vedette.console.view import view_of
from vedette.detect.rule_codec import decoded_rule
from vedette.detect.rule_query import Asking, query_of_rule
from vedette.detect.views.stored import not_stored
from vedette.model.scope import Scope
from vedette.search.bounded_engine import BoundedEngine
from vedette.state.policy import rule_list, rule_versions, rules
from vedette.state.policy.rules import Wanted
from vedette.state.policy.sigma_rule import EarlierText, SigmaRule

router = Router(tags=[PAGE_TAG], include_in_schema=False)

Here = Annotated[Services, Depends(services)]
Within = Annotated[Scope, Depends(scope_of_request)]

_TECHNIQUE: Final = re.compile(r"attack\.(t\d{4}(?:\.\d{3})?)", re.ASCII | re.IGNORECASE)


@router.get("/ui/sigma", summary="Sigma rules")
async def listed(request: Request, here: Here, scope: Within) -> Response:
    params, view = request.query_params, view_of(request, rows_default=1, rows_max=1)
    start = whole_number(params, "start", 0)
    asked = wanted({name: params.get(name, "") for name in ("q", "reason", "origin")})
    chosen = rule_facets.chosen(view.pairs)

    def work(engine: BoundedEngine) -> dict[str, Any]:
        listed = rule_facets.faceted(here.database, rule_list.listed(here.database, asked))
        ids = rule_facets.narrowed(listed, chosen)
        page = rule_list.ordered(here.database, ids[start : start + limits.PAGE_ROWS])
        in_force = rules.in_force(here.database)
        return {
            "outcomes": outcomes_of(engine, here, scope, "rule", [one.rule.id for one in page]),
            "total": len(ids),
            "rail": rule_facets.rail(listed, chosen, view.pairs),
            "rows": [(one, one.state(in_force.generation)) for one in page],
            "reasons": rules.reasons(here.database),
        }

    narrowed = [(name, value) for name, value in view.pairs if name in rule_facets.FACETS]

    return render(
        request, "screens/sigma.html", asked=asked, start=start, view=view, narrowed=narrowed,
        headings=rule_facets.FACETS, call_params=_call_params(asked, narrowed),
        page_rows=limits.PAGE_ROWS, files_max=limits.SIGMA_REQUEST_FILES_MAX,
        bytes_max=limits.SIGMA_REQUEST_BYTES_MAX, **await run_search(request, here, work),
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
async def one(rule_id: str, request: Request, here: Here, scope: Within) -> Response:
    """With what it asks as the server reads it, and which fields that needs."""

    def work(engine: BoundedEngine) -> dict[str, Any]:
        found = rules.get(here.database, rule_id)
        outcomes = outcomes_of(engine, here, scope, "rule", [found.rule.id])
        return {
            "kept": found,
            "state": found.state(rules.in_force(here.database).generation),
            "outcome": None if outcomes is None else outcomes.get(found.rule.id, NONE),
            **_asked(found),
        }

    found = await run_lookup(request, here, work)
    return render(
        request, "screens/sigma_rule.html", outcome_days=limits.ALERT_OUTCOME_DAYS, **found
    )


def _call_params(
    asked: Wanted, narrowed: Sequence[tuple[str, str]]
) -> list[tuple[str, str]] | None:
    """What asks the API for the same list; None where it has no parameters for that."""
    given = dict(narrowed)
    if len(given) < len(narrowed) or not given.keys() <= {"level", "state"}:
        return None
    if any(value.startswith("-") for value in given.values()):
        return None
    rest = [("q", asked.text), ("reason", asked.reason), ("origin", asked.origin)]
    return [*given.items(), *rest, ("rows", str(limits.PAGE_ROWS))]


def _asked(kept: SigmaRule) -> dict[str, Any]:
    """The lines of a rule's condition, how many are left out, and its fields with whether the store
    keeps them; none for what is no rule or cannot be evaluated."""
    if kept.rule.kind != "rule" or not kept.rule.compiled:
        return {"condition": [], "left_out": 0, "fields": [], "sources": (), "query": None}
    rule = decoded_rule(kept.rule.compiled.encode())
    lines = list(condition_lines(rule.condition))
    lost = not_stored(rule.sources, rule.fields)
    query = query_of_rule(rule)
    return {
        "query": query,
        "weaker": _lines(query.weaker),
        "not_asked": _lines(query.left_out),
        "condition": lines[: limits.CONDITION_LINES_MAX],
        "left_out": max(len(lines) - limits.CONDITION_LINES_MAX, 0),
        "fields": [(name, name not in lost) for name in sorted(rule.fields)],
        "sources": rule.sources,
    }


def _lines(tests: Sequence[Asking]) -> list[str]:
    """Tests as they stand in the condition, the first of them."""
    lines = (line for one in tests for _, line in condition_lines(one))
    return list(islice(lines, limits.CONDITION_LINES_MAX))


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
        techniques = {one.upper() for one in _TECHNIQUE.findall(text)}
        for tactic in rule_facets.said_by(text)[0]:
            counted[tactic].update(techniques)
            hits.update({(tactic, one): kept.counts.hits for one in techniques})
    return {
        tactic: [(one, count, hits[tactic, one]) for one, count in sorted(counts.items())]
        for tactic, counts in counted.items()
    }
