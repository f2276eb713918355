"""Applies Sigma rules to files of telemetry, without a server.

Records are read like in an import, in order of event time, and evaluated like at ingest
(`alerting/rule_trial.py`).
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from vedette import limits
from vedette.alerting.rule_trial import RuleTrial, TrialHit
from vedette.cli.rules.rule_files import paths_below
from vedette.clock import SystemClock
from vedette.detect.narrowed_rules import narrowed_rules
from vedette.detect.rule import Problem, Rule
from vedette.detect.sigma.load import load_rules
from vedette.errors import BadRequestError


@dataclass(slots=True)
class RuleFiles:
    """Contents of paths: rules that can be evaluated, and problems of the others."""

    rules: list[Rule] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    files: int = 0


def read_rules(paths: Iterable[Path]) -> RuleFiles:
    """Reads files of rules, and `.yml` files of directories. Raises BadRequestError for too many
    files.

    A rule whose id was already read is a problem, `duplicate_id`.
    """
    found, ids = RuleFiles(), set[str]()
    for path in paths:
        for file in _files(path, found.problems):
            found.files += 1
            if found.files > limits.SIGMA_FILES_MAX:
                raise BadRequestError(f"more than {limits.SIGMA_FILES_MAX} files of rules")
            try:
                text = file.read_text("utf-8")
            except (OSError, UnicodeDecodeError) as error:
                found.problems.append(Problem(str(file), "", "unreadable", str(error)))
                continue
            loaded = load_rules(text, str(file))
            found.problems += loaded.problems
            for rule in loaded.rules:
                if rule.id in ids:
                    message = f"{rule.id} appeared before"
                    found.problems.append(Problem(str(file), rule.title, "duplicate_id", message))
                else:
                    ids.add(rule.id)
                    found.rules.append(rule)
    return found


def _files(path: Path, problems: list[Problem]) -> Iterator[Path]:
    """Yields a file itself, or the rules below a folder. A folder that cannot be listed is a
    problem."""

    def unlisted(error: OSError) -> None:
        problems.append(Problem(str(error.filename), "", "unreadable", str(error.strerror)))

    if path.is_dir():
        yield from paths_below(path, unlisted)
    else:
        yield path


class RuleScan:
    """Evaluates records of many hosts with a set of rules."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        chosen = list(rules)
        self.rules = {rule.id: rule for rule in chosen}
        self._trial = RuleTrial(narrowed_rules(chosen), SystemClock().now_us())

    @property
    def events(self) -> int:
        """Number of events that any rule was evaluated on."""
        return self._trial.events

    @property
    def rejected(self) -> Counter[str]:
        """Records that cannot be evaluated, by reason."""
        return self._trial.rejected

    def judge(self, records: Iterable[bytes], source: str = "") -> list[TrialHit]:
        """Returns the hits in the records of a chunk, in order. `source` distinguishes chunks."""
        return self._trial.judge(records, identity=source.encode())
