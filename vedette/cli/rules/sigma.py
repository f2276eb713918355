"""`vedette sigma`: applies rules to files of telemetry, without a server. `server_rules.py` has the
commands for the rules of a server."""

from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console

from vedette import limits
from vedette.alerting.rule_trial import TrialHit
from vedette.cli.options import JsonOption
from vedette.cli.printing import print_json, print_table, time_text
from vedette.cli.rules import past_trial, server_rules
from vedette.cli.rules.rule_scan import RuleFiles, RuleScan, read_rules
from vedette.detect.rule import SEVERITY, Rule
from vedette.importer.file_sequence import Sequence

app = typer.Typer(no_args_is_help=True)
server_rules.register(app)

EXIT_PROBLEMS: Final = 1
"""Exit code if a rule cannot be evaluated."""


@app.command("check")
def check(
    rules: Annotated[
        list[Path],
        typer.Argument(metavar="RULES...", exists=True, help="Rule files or directories."),
    ],
    as_json: JsonOption = False,
) -> None:
    """Load rules and show which cannot be evaluated, and why. Exit code 1: some cannot."""
    found = read_rules(rules)
    if as_json:
        print_json(_checked(found))
    else:
        reasons = Counter(problem.reason for problem in found.problems)
        print_table(("rules", "loaded", "problems"), [_counts(found)])
        if found.problems:
            print_table(("reason", "rules"), reasons.most_common())
            print_table(
                ("file", "rule", "reason", "message"),
                [(one.source, one.title, one.reason, one.message) for one in found.problems],
            )
    if found.problems:
        raise typer.Exit(EXIT_PROBLEMS)


def scan(
    rules: Annotated[
        Path, typer.Argument(metavar="RULES", exists=True, help="Rule file or directory.")
    ],
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            exists=True,
            help="EVTX, XML, JSON Lines, audit.log, Santa logs; archives and directories of them.",
        ),
    ],
    level: Annotated[
        str, typer.Option(help="Minimum level: low, medium, high, or critical.")
    ] = "low",
    host: Annotated[
        str,
        typer.Option(help="Host for logs without a host name; default: the file name."),
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Evaluate rules on files of telemetry, without a server, and print the hits."""
    severity = next((number for name, number in SEVERITY.items() if name == level), None)
    if severity is None:
        raise typer.BadParameter(f"{level!r} is not a level", param_hint="--level")
    found = read_rules([rules])
    scanned = RuleScan(rule for rule in found.rules if SEVERITY[rule.level] >= severity)
    hits: list[TrialHit] = []
    for path in files:
        with Sequence(path, host) as sequence:
            for chunk in sequence.chunks():
                hits += scanned.judge(chunk.records, chunk.source)
    if as_json:
        print_json([_hit(hit, scanned.rules[hit.rule_id]) for hit in hits])
        return
    print_table(
        ("time", "host", "level", "rule", "matched"),
        [_row(hit, scanned.rules[hit.rule_id]) for hit in hits],
    )
    Console(stderr=True, highlight=False).print(
        f"{len(hits):,} hits in {scanned.events:,} events; "
        f"{len(found.rules):,} rules, {len(found.problems):,} cannot be evaluated "
        "(vedette sigma check)"
    )


app.command("scan")(scan)
app.command("test")(past_trial.try_on_past)


def _counts(found: RuleFiles) -> tuple[int, int, int]:
    return len(found.rules) + len(found.problems), len(found.rules), len(found.problems)


def _checked(found: RuleFiles) -> dict[str, Any]:
    return {
        "loaded": len(found.rules),
        "problems": [
            {
                "file": one.source,
                "title": one.title,
                "reason": one.reason,
                "message": one.message,
            }
            for one in found.problems
        ],
    }


def _hit(hit: TrialHit, rule: Rule) -> dict[str, Any]:
    return {
        "time": time_text(hit.time_us),
        "host": hit.hostname,
        "rule_id": rule.id,
        "title": rule.title,
        "level": rule.level,
        "techniques": list(rule.techniques),
        "process_id": hit.process_id,
        "matched": hit.matched,
    }


def _row(hit: TrialHit, rule: Rule) -> tuple[str, str, str, str, str]:
    shown = limits.SIGMA_MATCHED_CHARS_SHOWN
    matched = ", ".join(f"{name}={value[:shown]}" for name, value in hit.matched.items())
    return time_text(hit.time_us), hit.hostname, rule.level, rule.title, matched
