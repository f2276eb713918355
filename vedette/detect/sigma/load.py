"""Sigma files to rules. One bad rule costs itself, with its place and the reason.

pySigma builds its tree from YAML as it is, so aliases are refused and size, documents and the
number of nodes are limited before it sees anything.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

import yaml
from sigma.exceptions import SigmaError, SigmaRegularExpressionError
from sigma.rule import SigmaRule

from vedette import limits
from vedette.detect.nodes import Node, Or
from vedette.detect.rule import SEVERITY, Level, Problem, Rule
from vedette.detect.sigma.condition import UnsupportedError, fields_of, node_of
from vedette.detect.views.sources import sources_of

_LEVEL_DEFAULT: Final[Level] = "medium"


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a text holds: the rules that can be evaluated, and why others cannot."""

    rules: tuple[Rule, ...]
    problems: tuple[Problem, ...]


def load_rules(text: str, name: str) -> Loaded:
    """The rules of one file; `name` is the file's, for problems."""
    if len(text) > limits.SIGMA_FILE_CHARS_MAX:
        message = f"longer than {limits.SIGMA_FILE_CHARS_MAX} characters"
        return Loaded((), (Problem(name, "", "too_large", message),))
    rules: list[Rule] = []
    problems: list[Problem] = []
    for number, document in enumerate(_documents(text), 1):
        place = f"{name}#{number}"
        if isinstance(document, Problem):
            problems.append(Problem(place, "", document.reason, document.message))
            continue
        if document is None:
            continue
        if not isinstance(document, dict):
            problems.append(Problem(place, "", "malformed", "a rule is a mapping"))
            continue
        title = str(document.get("title", ""))[:200]
        try:
            rules.append(_rule(document))
        except UnsupportedError as error:
            problems.append(Problem(place, title, error.reason, str(error)))
        except SigmaRegularExpressionError as error:
            problems.append(Problem(place, title, "unsupported_regex", str(error)[:500]))
        except (SigmaError, ValueError, TypeError, AttributeError, KeyError) as error:
            problems.append(Problem(place, title, "malformed", str(error)[:500]))
    return Loaded(tuple(rules), tuple(problems))


def _documents(text: str) -> Iterator[Any]:
    """The YAML documents; a Problem where the text ends to be YAML."""
    try:
        _refuse_aliases(text)
        yield from yaml.load_all(text, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        yield Problem("", "", "not_yaml", str(error)[:500])


def _refuse_aliases(text: str) -> None:
    """Raises ValueError for an alias: a few of them make a tree without end."""
    if "*" not in text:
        return
    tokens = yaml.scan(text, Loader=yaml.CSafeLoader)
    lines = [one.start_mark.line + 1 for one in tokens if isinstance(one, yaml.AliasToken)]
    if lines:
        raise ValueError(f"line {lines[0]}: aliases are not allowed")


def _rule(document: dict[str, Any]) -> Rule:
    if "correlation" in document or "filter" in document:
        raise UnsupportedError("unsupported_document", "correlations and filters are no rules")
    parsed = SigmaRule.from_dict(document)
    source = parsed.logsource
    sources = sources_of(source.product, source.category, source.service)
    if not sources:
        named = "/".join(part or "*" for part in (source.product, source.category, source.service))
        raise UnsupportedError("unsupported_logsource", f"no telemetry of {named}")
    condition = _condition(parsed)
    return Rule(
        id=str(parsed.id or uuid5(NAMESPACE_URL, f"{parsed.title}\n{condition}")),
        title=parsed.title,
        level=_level(parsed),
        sources=sources,
        condition=condition,
        status=parsed.status.name.lower() if parsed.status else "",
        description=parsed.description or "",
        author=parsed.author or "",
        version=_day(parsed.modified or parsed.date),
        tags=tuple(str(tag) for tag in parsed.tags),
        false_positives=tuple(map(str, parsed.falsepositives or ())),
        references=tuple(map(str, parsed.references or ())),
        fields=fields_of(condition),
    )


def _condition(parsed: SigmaRule) -> Node:
    nodes = [node_of(one.parsed) for one in parsed.detection.parsed_condition]
    return nodes[0] if len(nodes) == 1 else Or(tuple(nodes))


def _level(parsed: SigmaRule) -> Level:
    name = parsed.level.name.lower() if parsed.level else _LEVEL_DEFAULT
    return next((level for level in SEVERITY if level == name), _LEVEL_DEFAULT)


def _day(value: date | None) -> str:
    return value.isoformat() if value else ""
