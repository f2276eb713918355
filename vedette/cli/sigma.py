"""`vedette sigma`: Sigma rules, checked and tried on files of telemetry."""

from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console

from vedette import limits
from vedette.cli.options import JsonOption
from vedette.cli.printing import print_json, print_table, time_text
from vedette.cli.rule_scan import RuleFiles, RuleScan, read_rules
from vedette.detect.rule import SEVERITY
from vedette.detect.rule_set import Hit
from vedette.importer.file_sequence import Sequence

app = typer.Typer(no_args_is_help=True)

EXIT_PROBLEMS: Final = 1
"""A rule cannot be evaluated."""


@app.command("check")
def check(
    rules: Annotated[
        list[Path],
        typer.Argument(metavar="RULES...", exists=True, help="Files of rules, or directories."),
    ],
    as_json: JsonOption = False,
) -> None:
    """Load rules and say which cannot be evaluated, and why; exit code 1 when there are any."""
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


@app.command("scan")
def scan(
    rules: Annotated[
        Path, typer.Argument(metavar="RULES", exists=True, help="A file or directory of rules.")
    ],
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            exists=True,
            help="EVTX, XML, JSON lines, audit.log, Santa logs; archives and directories of them.",
        ),
    ],
    level: Annotated[
        str, typer.Option(help="Rules of this level and above: low, medium, high, critical.")
    ] = "low",
    host: Annotated[
        str,
        typer.Option(help="Host of logs that do not name theirs; default: the file's name."),
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Judge files of telemetry by rules, without a server, and print what fires."""
    severity = next((number for name, number in SEVERITY.items() if name == level), None)
    if severity is None:
        raise typer.BadParameter(f"{level!r} is no level", param_hint="--level")
    found = read_rules([rules])
    scanned = RuleScan(rule for rule in found.rules if SEVERITY[rule.level] >= severity)
    hits: list[tuple[str, Hit]] = []
    for path in files:
        with Sequence(path, host) as sequence:
            for chunk in sequence.chunks():
                hits += scanned.judge(chunk)
    if as_json:
        print_json([_hit(name, hit) for name, hit in hits])
        return
    print_table(
        ("time", "host", "level", "rule", "matched"),
        [
            (time_text(hit.time_us), name, hit.rule.level, hit.rule.title, _matched(hit))
            for name, hit in hits
        ],
    )
    Console(stderr=True, highlight=False).print(
        f"{len(hits):,} hits in {scanned.events:,} events; "
        f"{len(found.rules):,} rules, {len(found.problems):,} cannot be evaluated "
        "(vedette sigma check)"
    )


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


def _hit(host: str, hit: Hit) -> dict[str, Any]:
    return {
        "time": time_text(hit.time_us),
        "host": host,
        "rule_id": hit.rule.id,
        "title": hit.rule.title,
        "level": hit.rule.level,
        "techniques": list(hit.rule.techniques),
        "process_id": hit.process_id,
        "matched": hit.matched,
    }


def _matched(hit: Hit) -> str:
    shown = limits.SIGMA_MATCHED_CHARS_SHOWN
    return ", ".join(f"{name}={value[:shown]}" for name, value in hit.matched.items())
