"""Adds Sigma documents from requests and files to the state; recompiles them after an upgrade.

An invalid document affects only itself: it is stored and listed with the reason, so that no one
mistakes it for a rule in force.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import BoundedSemaphore
from typing import Final

import structlog

from vedette import limits
from vedette.alerting.rule_loader import RuleLoader
from vedette.alerting.rule_messages import RuleFile
from vedette.detect.judged_rule import JudgedRule
from vedette.detect.rule_codec import CODEC_VERSION
from vedette.detect.sigma.global_document import own_text
from vedette.detect.sigma.placeholders import NO_VALUES, Placeholders, placeholders_of
from vedette.errors import BadRequestError, BusyError
from vedette.limits import Limit
from vedette.pipeline.rule_reload import judged_rules
from vedette.state.db.database import Database
from vedette.state.policy import rule_placeholders, rules
from vedette.state.policy.sigma_rule import NewSigmaRule

SIGMA_PARSERS_MAX: Limit[int] = 2
"""Processes that parse rules concurrently; further requests wait."""


log = structlog.get_logger(__name__)

_COMPILED_TIMES: Final = 5
"""Attempts of a recompilation when placeholders change meanwhile."""

_LINE: Final = re.compile(r"line (\d{1,9})\b", re.ASCII)
"""Line number in a YAML error message; the last match is the error's position."""

_PARSERS: Final = BoundedSemaphore(SIGMA_PARSERS_MAX)


@dataclass(frozen=True, slots=True)
class Imported:
    """Result for one document."""

    rule: NewSigmaRule
    change: rules.Change | str
    """Or `duplicate`: an earlier document of the same import has its id and takes precedence."""
    file: str = ""
    line: int = 1
    """Line where the document begins, or where its file stops being valid YAML; starts at 1."""


def import_rules(
    database: Database,
    files: Iterable[RuleFile],
    by: str,
    now_us: int,
    *,
    enabled: bool | None = None,
) -> list[Imported]:
    """Adds or replaces the documents of files. `enabled` None: new rules are enabled unless their
    level is low or informational. Raises BadRequestError, ConflictError."""
    values = rule_placeholders.load(database)
    documents = _placed(files, values.by_name)
    first = _first(documents)
    changes = rules.put(database, first, by, now_us, enabled=enabled, placeholders=values.version)
    compile_anew(database)
    return _imported(documents, first, changes)


def foresee_import(
    database: Database, files: Iterable[RuleFile], *, enabled: bool | None = None
) -> list[Imported]:
    """Returns what `import_rules` would do, without storing anything. Raises the same errors."""
    documents = _placed(files, rule_placeholders.load(database).by_name)
    first = _first(documents)
    return _imported(documents, first, rules.foreseen(database, first, enabled=enabled))


def _first(documents: Iterable["_Placed"]) -> list[NewSigmaRule]:
    """Returns the first document with each id."""
    found: dict[str, NewSigmaRule] = {}
    for one, _, _ in documents:
        found.setdefault(one.id, one)
    return list(found.values())


def _imported(
    documents: Iterable["_Placed"], first: Sequence[NewSigmaRule], changes: Sequence[rules.Change]
) -> list[Imported]:
    done = {one.id: (one, change) for one, change in zip(first, changes, strict=True)}
    return [
        Imported(one, done[one.id][1] if done[one.id][0] is one else "duplicate", file, line)
        for one, file, line in documents
    ]


def load_files(
    files: Iterable[RuleFile], placeholders: Placeholders = NO_VALUES
) -> list[NewSigmaRule]:
    """Returns the documents of files in order, compiled with the values of `placeholders`. Raises
    BadRequestError for too many documents, BusyError if other requests keep the parsers busy."""
    return [one for one, _, _ in _placed(files, placeholders)]


_Placed = tuple[NewSigmaRule, str, int]
"""(document, file, line)."""


def _placed(files: Iterable[RuleFile], placeholders: Placeholders) -> list[_Placed]:
    read: list[RuleFile] = []

    def noted() -> Iterator[RuleFile]:
        for file in _with(files, placeholders):
            read.append(file)
            yield file

    found: list[_Placed] = []
    with _turn(), RuleLoader() as loader:
        for documents in loader.load(noted()):
            file = read.pop()
            lines = lines_of(file.text, documents)
            found += [(one, file.name, line) for one, line in zip(documents, lines, strict=True)]
            if len(found) > limits.SIGMA_RULES_MAX:
                raise BadRequestError(f"more than {limits.SIGMA_RULES_MAX} documents at once")
    return found


def lines_of(text: str, documents: Sequence[NewSigmaRule]) -> list[int]:
    """Returns the line, from 1, at which each document of a text begins, or at which it stops being
    valid YAML."""
    found: list[int] = []
    at, line = 0, 1
    for one in documents:
        written = own_text(one.text).rstrip()
        place = text.find(written, at) if written else -1
        if place < 0 and written.startswith("id: "):
            # The first line is an id that a global document made necessary.
            written = written.partition("\n")[2]
            place = text.find(written, at) if written else -1
        if place >= 0:
            line += text.count("\n", at, place)
            at = place
        named = _LINE.findall(one.problem_message) if one.problem_reason == "not_yaml" else ()
        found.append(int(named[-1]) if named else line)
        if place >= 0:
            line += written.count("\n")
            at += len(written)
    return found


def trial_rules(documents: Iterable[NewSigmaRule]) -> list[JudgedRule]:
    """Returns the rules of loaded documents for a trial, with the filters among them applied."""
    return judged_rules([one for one in documents if one.compiled])


@contextmanager
def _turn() -> Iterator[None]:
    """Limits the number of concurrent parser processes."""
    if not _PARSERS.acquire(timeout=limits.SIGMA_PARSER_WAIT_S):
        raise BusyError("rules of other requests are being parsed")
    try:
        yield
    finally:
        _PARSERS.release()


def compile_anew(database: Database) -> int:
    """Recompiles documents that another version of the server compiled, or that were compiled with
    other values of placeholders. Returns their number."""
    for _ in range(_COMPILED_TIMES):
        values = rule_placeholders.load(database)
        old = rules.outdated(database, CODEC_VERSION)
        if not old:
            return 0
        made = list(_compiled(old, values.by_name))
        if rules.recompiled(database, made, values.version):
            log.info("detection rules recompiled", rules=len(made))
            return len(made)
    raise BusyError("placeholders change all the time")


def _compiled(old: Sequence[NewSigmaRule], placeholders: Placeholders) -> Iterator[NewSigmaRule]:
    files = [RuleFile(one.origin, one.text, one.origin) for one in old]
    with RuleLoader() as loader:
        try:
            loaded = loader.load(_with(files, placeholders))
            for before, documents in zip(old, loaded, strict=True):
                yield from (replace(one, id=before.id, text=before.text) for one in documents[:1])
        except BadRequestError as error:
            log.error("failed to recompile some detection rules", reason=error.message)


def _with(files: Iterable[RuleFile], placeholders: Placeholders) -> Iterator[RuleFile]:
    """Yields the files with the placeholder values that they may use."""
    for one in files:
        named = placeholders_of(one.text) & placeholders.keys()
        given = {name: tuple(placeholders[name]) for name in named}
        yield RuleFile(one.name, one.text, one.origin, given)
