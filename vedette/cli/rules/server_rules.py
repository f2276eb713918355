"""`vedette sigma`: the Sigma rules of a server, running or not. A running server applies changes
within seconds."""

from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Final, get_args

import typer

from vedette.alerting.rule_import import Imported, foresee_import, import_rules
from vedette.cli.options import ConfigOption, DataOption, JsonOption, open_state
from vedette.cli.printing import print_json, print_table, time_text
from vedette.cli.rules.placeholders import placeholder
from vedette.cli.rules.rule_files import rule_files
from vedette.clock import SystemClock
from vedette.limits import SIGMA_RULES_MAX
from vedette.state.policy import rules
from vedette.state.policy.rules import Wanted
from vedette.state.policy.sigma_rule import RuleState, SigmaRule

_BY: Final = "command line"

IdsArgument = Annotated[list[str], typer.Argument(metavar="ID...", help="Rule ids.")]


def register(app: typer.Typer) -> None:
    """Adds the commands to `vedette sigma`."""
    app.command("import")(import_files)
    app.command("list")(list_rules)
    app.command("enable")(enable)
    app.command("disable")(disable)
    app.command("delete")(delete)
    app.command("placeholder")(placeholder)


def import_files(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...", exists=True, help="Rule files, directories, or tar archives."
        ),
    ],
    enabled: Annotated[
        bool | None,
        typer.Option(
            "--enable/--disable",
            help="Enable or disable all of them. Default: new rules are enabled unless their level "
            "is low or informational; existing rules keep their state.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Store nothing; print the result for each rule.")
    ] = False,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add Sigma rules, correlations and filters, or replace those with the same ids. What cannot be
    evaluated is kept and listed, with the reason."""
    files = [file for path in paths for file in rule_files(path)]
    with open_state(data, config) as database:
        if dry_run:
            done = foresee_import(database, files, enabled=enabled)
        else:
            done = import_rules(database, files, _BY, SystemClock().now_us(), enabled=enabled)
    problems = [one for one in done if one.rule.problem_reason]
    if as_json:
        print_json({"changes": _changes(done), "problems": [_problem(one) for one in problems]})
        return
    print_table(("change", "documents"), sorted(_changes(done).items()))
    if problems:
        reasons = Counter(one.rule.problem_reason for one in problems)
        print_table(("cannot be evaluated because", "documents"), reasons.most_common())
    if dry_run and problems:
        rows = [(f"{one.file}:{one.line}", one.rule.problem_reason) for one in problems]
        print_table(("place", "cannot be evaluated because"), rows)


def list_rules(
    text: Annotated[str, typer.Argument(help="Text in the title, id, or rule.")] = "",
    level: Annotated[str, typer.Option(help="Only rules of this level.")] = "",
    state: Annotated[
        str, typer.Option(help="in_force, pending, blocked, disabled, stopped or unsupported.")
    ] = "",
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """List rules with their cost and hits."""
    chosen = next((one for one in get_args(RuleState) if one == state), None)
    if state and chosen is None:
        raise typer.BadParameter(f"{state!r} is not a state", param_hint="--state")
    with open_state(data, config) as database:
        in_force = rules.in_force(database).generation
        wanted = Wanted(text, level, chosen or "")
        found = rules.page(database, wanted, 0, SIGMA_RULES_MAX).rules
    if as_json:
        print_json([_listed(one, in_force) for one in found])
        return
    print_table(
        ("id", "level", "state", "hits", "last hit", "title", "reason"),
        [
            (
                one.rule.id,
                one.rule.level,
                one.state(in_force),
                one.counts.hits,
                time_text(one.counts.last_hit_us),
                one.rule.title,
                one.message,
            )
            for one in found
        ],
    )


def enable(ids: IdsArgument, data: DataOption = None, config: ConfigOption = None) -> None:
    """Switch rules on, also those that were stopped because of their cost."""
    _switch(ids, data, config, enabled=True)


def disable(ids: IdsArgument, data: DataOption = None, config: ConfigOption = None) -> None:
    """Switch rules off. Alerts that they made stay."""
    _switch(ids, data, config, enabled=False)


def delete(ids: IdsArgument, data: DataOption = None, config: ConfigOption = None) -> None:
    """Delete rules. Alerts that they made stay."""
    with open_state(data, config) as database:
        rules.remove(database, ids, _BY, SystemClock().now_us())
    typer.echo(f"deleted {len(ids)}")


def _switch(ids: list[str], data: Path | None, config: Path | None, *, enabled: bool) -> None:
    with open_state(data, config) as database:
        rules.switch(database, ids, _BY, SystemClock().now_us(), enabled=enabled)
    typer.echo(f"{'enabled' if enabled else 'disabled'} {len(ids)}")


def _changes(done: list[Imported]) -> dict[str, int]:
    return dict(Counter(one.change for one in done))


def _problem(one: Imported) -> dict[str, Any]:
    return {
        "place": one.rule.origin,
        "id": one.rule.id,
        "title": one.rule.title,
        "reason": one.rule.problem_reason,
        "message": one.rule.problem_message,
    }


def _listed(one: SigmaRule, in_force: int) -> dict[str, Any]:
    return {
        "id": one.rule.id,
        "kind": one.rule.kind,
        "title": one.rule.title,
        "level": one.rule.level,
        "state": one.state(in_force),
        "origin": one.rule.origin,
        "revision": one.revision,
        "events": one.counts.events,
        "hits": one.counts.hits,
        "verify_us": one.counts.verify_us,
        "last_hit": time_text(one.counts.last_hit_us),
        "problem": one.reason,
        "message": one.message,
    }
