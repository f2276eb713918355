"""Loads rules from Sigma files. A bad rule is reported with its position and the reason; the rest
is loaded.

pySigma builds its tree directly from YAML, so aliases are rejected, and size, documents and the
number of nodes are limited, before pySigma runs.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any, Final
from uuid import NAMESPACE_URL, UUID, uuid5

import yaml
from sigma.exceptions import SigmaError, SigmaRegularExpressionError
from sigma.rule import SigmaRule
from sigma.rule.attributes import SigmaRelatedType

from vedette import limits
from vedette.detect.correlation import Correlation
from vedette.detect.nodes import Node, fields_of, size_of
from vedette.detect.rule import SEVERITY, Level, Problem, Rule
from vedette.detect.rule_filter import RuleFilter
from vedette.detect.sigma.condition import any_of, node_of
from vedette.detect.sigma.correlation import correlation_of
from vedette.detect.sigma.encodings import with_encodings
from vedette.detect.sigma.errors import UnsupportedError
from vedette.detect.sigma.filter import filter_of
from vedette.detect.sigma.global_document import GlobalDocument
from vedette.detect.sigma.placeholders import NO_VALUES, Placeholders, resolved
from vedette.detect.views.sources import sources_of
from vedette.limits import Limit

SIGMA_RULE_TESTS_MAX: Limit[int] = 20_000
"""Maximum tests in the condition of a rule. The largest public rule has about 1,500."""

SIGMA_TITLE_CHARS_MAX: Limit[int] = 500
"""Maximum characters of a title; pySigma allows rules 256."""


_NOT_YAML: Final = (yaml.YAMLError, RecursionError, ValueError)
_LEVEL_DEFAULT: Final[Level] = "medium"


@dataclass(frozen=True, slots=True)
class Loaded:
    """Content of a text: rules that can be evaluated, and the problems of the others."""

    rules: tuple[Rule, ...]
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """A document of a text: a rule, or the problem that prevents its evaluation."""

    place: str
    """File name, and number of the document in it, starting at 1."""
    text: str
    """The text as written, after the text of its global document if there is one; "" if the text is
    not YAML."""
    id: str
    title: str
    level: Level
    rule: Rule | Correlation | RuleFilter | None = None
    problem: Problem | None = None


def load_rules(text: str, name: str, placeholders: Placeholders = NO_VALUES) -> Loaded:
    """Returns the single-event rules of a file. `name` is the file name for problems."""
    rules: list[Rule] = []
    problems: list[Problem] = []
    for document in load_documents(text, name, placeholders):
        if isinstance(document.rule, Rule):
            rules.append(document.rule)
        elif document.rule is not None:
            message = "correlations and filters are not evaluated here"
            problem = Problem(document.place, document.title, "unsupported_document", message)
            problems.append(problem)
        if document.problem is not None:
            problems.append(document.problem)
    return Loaded(tuple(rules), tuple(problems))


def load_documents(
    text: str, name: str, placeholders: Placeholders = NO_VALUES
) -> Iterator[Document]:
    """Yields the documents of a file in order, with `placeholders` replaced. A document without an
    id gets an id derived from its text, so that the same text always has the same id. A document
    with `action: global` is merged into the rules after it and is not yielded itself."""
    if len(text) > limits.SIGMA_FILE_CHARS_MAX:
        message = f"longer than {limits.SIGMA_FILE_CHARS_MAX} characters"
        yield _refused(name, "", Problem(name, "", "too_large", message))
        return
    merging = GlobalDocument()
    for number, (source, read) in enumerate(_documents(text), 1):
        place = f"{name}#{number}"
        try:
            merged = merging.apply(source, read)
        except UnsupportedError as error:
            yield _refused(place, source, Problem(place, "", error.reason, str(error)))
            continue
        if merged is None:
            continue
        source, document = merged
        if isinstance(document, Problem):
            yield _refused(place, source, Problem(place, "", document.reason, document.message))
        elif isinstance(document, dict):
            yield _document(place, source, document, placeholders)
        elif document is not None:
            problem = Problem(place, "", "malformed", "a rule is a mapping")
            yield _refused(place, source, problem)


def _refused(
    place: str, text: str, problem: Problem, id_: str = "", level: Level = _LEVEL_DEFAULT
) -> Document:
    id_ = id_ or str(uuid5(NAMESPACE_URL, text or place))
    return Document(place, text, id_, problem.title, level, problem=problem)


def _document(
    place: str, text: str, document: dict[Any, Any], placeholders: Placeholders
) -> Document:
    title = str(document.get("title", ""))[:SIGMA_TITLE_CHARS_MAX]
    level = _level_named(document.get("level"))
    id_ = _id_of(document) or str(uuid5(NAMESPACE_URL, text))
    made: Rule | Correlation | RuleFilter
    try:
        if "correlation" in document:
            made = correlation_of(document, id_, level)
        elif "filter" in document:
            given = {"filter": with_encodings(resolved(document["filter"], placeholders))}
            made = filter_of(document | given, id_)
        else:
            detection = resolved(document.get("detection"), placeholders)
            given = {"detection": with_encodings(detection)}
            made = _rule(document | given if "detection" in document else document)
            id_ = made.id
    except UnsupportedError as error:
        problem = Problem(place, title, error.reason, _shown(error))
    except SigmaRegularExpressionError as error:
        problem = Problem(place, title, "unsupported_regex", _shown(error))
    except RecursionError:
        problem = Problem(place, title, "too_large", "nested too deeply")
    except (SigmaError, ValueError, TypeError, AttributeError, KeyError) as error:
        problem = Problem(place, title, "malformed", _shown(error))
    else:
        return Document(place, text, id_, made.title, level, rule=made)
    return _refused(place, text, problem, id_, level)


def _shown(error: Exception) -> str:
    return str(error)[: limits.SIGMA_PROBLEM_CHARS_MAX]


def _id_of(document: dict[Any, Any]) -> str:
    """Returns the id of a document that is not an event rule; "" if it has none."""
    try:
        return str(UUID(str(document.get("id", ""))))
    except ValueError:
        return ""


def _documents(text: str) -> Iterator[tuple[str, Any]]:
    """Yields the YAML documents, each with its text; a Problem where the text stops being YAML."""
    try:
        _refuse_aliases(text)
        loader = yaml.CSafeLoader(text)
        lines = text.splitlines(keepends=True)
        node = loader.get_node() if loader.check_node() else None
    except _NOT_YAML as error:
        yield "", Problem("", "", "not_yaml", _shown(error))
        return
    while node is not None:
        following, problem = None, None
        try:
            following = loader.get_node() if loader.check_node() else None
        except _NOT_YAML as error:
            problem = Problem("", "", "not_yaml", _shown(error))
        begin = node.start_mark.line
        end = following.start_mark.line if following is not None else len(lines)
        written = _without_separator("".join(lines[begin:end]))
        try:
            yield written, loader.construct_document(node)
        except _NOT_YAML as error:
            yield written, Problem("", "", "not_yaml", _shown(error))
        if problem is not None:
            yield "", problem
        node = following


def _without_separator(text: str) -> str:
    """Returns the text of a document without the separator line of the next document."""
    kept = text.rstrip()
    while kept.endswith(("\n---", "\n...")):
        kept = kept[:-4].rstrip()
    return kept + "\n"


def _refuse_aliases(text: str) -> None:
    """Raises ValueError for an alias: a few aliases can make an exponentially large tree."""
    if "*" not in text:
        return
    tokens = yaml.scan(text, Loader=yaml.CSafeLoader)
    lines = [one.start_mark.line + 1 for one in tokens if isinstance(one, yaml.AliasToken)]
    if lines:
        raise ValueError(f"line {lines[0]}: aliases are not allowed")


def _rule(document: dict[str, Any]) -> Rule:
    parsed = SigmaRule.from_dict(_with_related(document))
    source = parsed.logsource
    sources = sources_of(source.product, source.category, source.service)
    if not sources:
        named = "/".join(part or "*" for part in (source.product, source.category, source.service))
        raise UnsupportedError("unsupported_logsource", f"no telemetry of {named}")
    condition = _condition(parsed)
    if (count := size_of(condition)) > SIGMA_RULE_TESTS_MAX:
        raise UnsupportedError("too_large", f"{count} tests, more than {SIGMA_RULE_TESTS_MAX}")
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
        name=parsed.name or "",
        fields=fields_of(condition),
        obsoletes=_obsoletes(parsed),
    )


def _with_related(document: dict[str, Any]) -> dict[str, Any]:
    """Returns the document with the older spelling `obsoletes` of a relation replaced."""
    related = document.get("related")
    if not isinstance(related, list):
        return document
    items = [
        one | {"type": "obsolete"}
        if isinstance(one, dict) and one.get("type") == "obsoletes"
        else one
        for one in related
    ]
    return document | {"related": items}


def _obsoletes(parsed: SigmaRule) -> tuple[str, ...]:
    items = parsed.related.related if parsed.related is not None else ()
    return tuple(str(one.id) for one in items if one.type is SigmaRelatedType.OBSOLETE)


def _condition(parsed: SigmaRule) -> Node:
    nodes = [node_of(one.parsed) for one in parsed.detection.parsed_condition]
    return any_of(nodes)


def _level(parsed: SigmaRule) -> Level:
    return _level_named(parsed.level.name if parsed.level else "")


def _level_named(name: object) -> Level:
    text = str(name).lower()
    return next((level for level in SEVERITY if level == text), _LEVEL_DEFAULT)


def _day(value: date | None) -> str:
    return value.isoformat() if value else ""
