"""Sigma rules over files of telemetry, without a server.

Records are read as an import reads them, in order of event time, and judged as ingest judges them
(`alerting/rule_trial.py`).
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from vedette import limits
from vedette.alerting.rule_trial import RuleTrial, TrialHit
from vedette.clock import SystemClock
from vedette.detect.narrowed_rules import narrowed_rules
from vedette.detect.rule import Problem, Rule
from vedette.detect.sigma.load import load_rules
from vedette.errors import BadRequestError

_ENDINGS: Final = (".yml", ".yaml")


@dataclass(slots=True)
class RuleFiles:
    """What lies under a path: rules that can be evaluated, and why others cannot."""

    rules: list[Rule] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    files: int = 0


def read_rules(paths: Iterable[Path]) -> RuleFiles:
    """Reads files of rules, and `.yml` files of directories. Raises BadRequestError for too many.

    A rule whose id stood before is a problem, `duplicate_id`.
    """
    found, ids = RuleFiles(), set[str]()
    for path in paths:
        for file in _files(path):
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
                    message = f"{rule.id} stood before"
                    found.problems.append(Problem(str(file), rule.title, "duplicate_id", message))
                else:
                    ids.add(rule.id)
                    found.rules.append(rule)
    return found


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from sorted(one for one in path.rglob("*") if one.suffix in _ENDINGS)
    else:
        yield path


class RuleScan:
    """Judges records of many hosts by one set of rules."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        chosen = list(rules)
        self.rules = {rule.id: rule for rule in chosen}
        self._trial = RuleTrial(narrowed_rules(chosen), SystemClock().now_us())

    @property
    def events(self) -> int:
        """Events that any rule was asked of."""
        return self._trial.events

    @property
    def rejected(self) -> Counter[str]:
        """Records that cannot be judged, by reason."""
        return self._trial.rejected

    def judge(self, records: Iterable[bytes], source: str = "") -> list[TrialHit]:
        """The hits of the records of one chunk, in order. `source` distinguishes chunks."""
        return self._trial.judge(records, identity=source.encode())
