"""Pages of Sigma rules: the list with cost and hits, details of a rule, and ATT&CK coverage."""

from collections.abc import Sequence
from itertools import islice
from typing import Annotated, Any

from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import Response

from vedette import limits
from vedette.detect.rule_codec import decoded_rule
from vedette.detect.rule_query import Asking, query_of_rule
from vedette.detect.views.stored import not_stored
from vedette.limits import Limit
from vedette.model.scope import Scope
from vedette.search.bounded_engine import BoundedEngine
from vedette.state.policy import rule_list, rule_versions, rules
from vedette.state.policy.rules import Wanted
from vedette.state.policy.sigma_rule import EarlierText, SigmaRule
from vedette.web.http.access import scope_of_request
from vedette.web.http.pages import PAGE_TAG
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.search_run import run_lookup, run_search
from vedette.web.http.services import Services, services
from vedette.web.json.parameters import whole_number
from vedette.web.page.alert_outcomes import NONE, outcomes_of
from vedette.web.page.render import render
from vedette.web.page.text_changes import Line, differences
from vedette.web.page.view import view_of
from vedette.web.rules import rule_facets
from vedette.web.rules.attack_coverage import CoveredTactic, attack_coverage
from vedette.web.rules.attack_matrix import attack_matrix
from vedette.web.rules.models import RuleSituation, wanted
from vedette.web.rules.rule_condition import condition_lines

CONDITION_LINES_MAX: Limit[int] = 500
"""Lines of a rule's condition on its page; beyond them the page shows the number of tests."""


router = Router(tags=[PAGE_TAG], include_in_schema=False)

Here = Annotated[Services, Depends(services)]
Within = Annotated[Scope, Depends(scope_of_request)]


@router.get("/ui/sigma", right=Right.VIEW, summary="List Sigma rules")
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
        request,
        "rules/rules.html",
        asked=asked,
        start=start,
        view=view,
        narrowed=narrowed,
        headings=rule_facets.FACETS,
        call_params=_call_params(asked, narrowed),
        page_rows=limits.PAGE_ROWS,
        files_max=limits.SIGMA_REQUEST_FILES_MAX,
        bytes_max=limits.SIGMA_REQUEST_BYTES_MAX,
        **await run_search(request, here, work),
    )


@router.get("/ui/sigma/coverage", right=Right.VIEW, summary="Show ATT&CK coverage of rules")
async def coverage(request: Request, here: Here) -> Response:
    """Shows the number of active rules by tactic and technique."""

    def work() -> tuple[list[CoveredTactic], int, str]:
        page = rules.page(here.database, Wanted(state="in_force"), 0, limits.SIGMA_RULES_MAX)
        situation = RuleSituation.load(here.database, here.clock.now_us())
        covering = (
            (one.rule.text, one.counts.hits, situation.is_blind(one.rule)) for one in page.rules
        )
        return attack_coverage(covering), page.total, attack_matrix().version

    tactics, total, version = await to_thread.run_sync(work)
    return render(request, "rules/coverage.html", tactics=tactics, total=total, version=version)


@router.get("/ui/sigma/{rule_id}", right=Right.VIEW, summary="Show a Sigma rule")
async def one(rule_id: str, request: Request, here: Here, scope: Within) -> Response:
    """Shows the rule with its parsed condition and the fields that it needs."""

    def work(engine: BoundedEngine) -> dict[str, Any]:
        found = rules.get(here.database, rule_id)
        situation = RuleSituation.load(here.database, here.clock.now_us())
        outcomes = outcomes_of(engine, here, scope, "rule", [found.rule.id])
        return {
            "kept": found,
            "state": found.state(situation.in_force),
            "log_source": situation.log_source(found.rule),
            "now_us": situation.now_us,
            "outcome": None if outcomes is None else outcomes.get(found.rule.id, NONE),
            **_asked(found),
        }

    found = await run_lookup(request, here, work)
    return render(request, "rules/rule.html", outcome_days=limits.ALERT_OUTCOME_DAYS, **found)


def _call_params(
    asked: Wanted, narrowed: Sequence[tuple[str, str]]
) -> list[tuple[str, str]] | None:
    """Returns the API parameters for the same list; None if the API does not support the
    selection."""
    given = dict(narrowed)
    if len(given) < len(narrowed) or not given.keys() <= {"level", "state"}:
        return None
    if any(value.startswith("-") for value in given.values()):
        return None
    rest = [("q", asked.text), ("reason", asked.reason), ("origin", asked.origin)]
    return [*given.items(), *rest, ("rows", str(limits.PAGE_ROWS))]


def _asked(kept: SigmaRule) -> dict[str, Any]:
    """Returns the lines of a rule's condition, the number of omitted lines, and its fields with
    whether the store has them. Empty for documents that are not rules or cannot be evaluated."""
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
        "condition": lines[:CONDITION_LINES_MAX],
        "left_out": max(len(lines) - CONDITION_LINES_MAX, 0),
        "fields": [(name, name not in lost) for name in sorted(rule.fields)],
        "sources": rule.sources,
    }


def _lines(tests: Sequence[Asking]) -> list[str]:
    """Returns the first lines of tests as they appear in the condition."""
    lines = (line for one in tests for _, line in condition_lines(one))
    return list(islice(lines, CONDITION_LINES_MAX))


@router.get(
    "/ui/sigma/{rule_id}/versions", right=Right.VIEW, summary="Show versions of a Sigma rule"
)
async def versions(rule_id: str, request: Request, here: Here) -> Response:
    """Shows each text as changes from the previous text; the oldest stored text is shown
    completely."""

    def work() -> dict[str, Any]:
        kept = rules.get(here.database, rule_id)
        present = EarlierText(
            revision=kept.revision,
            text=kept.rule.text,
            title=kept.rule.title,
            level=kept.rule.level,
            text_us=kept.text_us,
            text_by=kept.text_by,
        )
        texts = [present, *rule_versions.earlier(here.database, rule_id)]
        return {"kept": kept, "versions": _changes(texts)}

    return render(request, "rules/versions.html", **await to_thread.run_sync(work))


def _changes(texts: Sequence[EarlierText]) -> list[tuple[EarlierText, Sequence[Line] | None]]:
    """Returns texts, newest first, with the lines in which each differs from the next; None to show
    the whole text."""
    pairs = zip(texts, [*texts[1:], None], strict=True)
    return [(one, differences(before.text, one.text) if before else None) for one, before in pairs]
