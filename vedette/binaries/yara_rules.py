"""YARA rules over the bytes of a file, in the reading process.

All rules run in one pass. If that takes too long, each text of rules runs separately, so that a
text that does not end is named and the others still count.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import yara_x

from vedette.binaries.yara_result import YaraMatch, YaraResult, YaraText
from vedette.limits import YARA_RULE_S, Limit

YARA_RULES_IN_TEXT_MAX: Limit[int] = 2_000
"""Rules in one text."""

YARA_RULE_NAME_CHARS_MAX: Limit[int] = 128
"""Characters of the name of a rule, which is a value of `alliance_data_yara`."""

YARA_SCAN_S: Limit[int] = 5
"""Seconds that all rules may take for one file: 25 MiB take less than one."""

YARA_APART_S: Limit[int] = 60
"""Seconds of separate scans after which the texts that took too long are reported: with many of
them, the scans would exceed the time limit of a file."""

YARA_MATCHES_MAX: Limit[int] = 100
"""Rules that one file is tagged with."""

YARA_SCORE_MAX: Limit[int] = 100
"""Score of a rule whose metadata has none, and the maximum score."""


class RuleTextError(ValueError):
    """A text of rules that does not compile; the message has the position."""


def rule_names(text: str) -> list[str]:
    """Returns the names of the rules in a text. Raises RuleTextError."""
    names = [rule.identifier for rule in _compiled([YaraText("check", text)])]
    if not names:
        raise RuleTextError("contains no rule")
    if len(names) > YARA_RULES_IN_TEXT_MAX:
        raise RuleTextError(f"{len(names)} rules; at most {YARA_RULES_IN_TEXT_MAX} in one text")
    if max(map(len, names)) > YARA_RULE_NAME_CHARS_MAX:
        raise RuleTextError(f"a name of over {YARA_RULE_NAME_CHARS_MAX} characters")
    return names


def _compiled(texts: Sequence[YaraText]) -> Any:
    compiler = yara_x.Compiler()
    compiler.enable_includes(False)  # they would open files of this machine
    try:
        for one in texts:
            compiler.new_namespace(one.name)
            compiler.add_source(one.text)
        return compiler.build()
    except yara_x.CompileError as error:
        raise RuleTextError(str(error)) from None


class YaraRules:
    """Compiled rules. A text that does not compile (with a newer version) is left out."""

    def __init__(self, texts: Sequence[YaraText]) -> None:
        self._texts = tuple(texts)
        try:
            self._all = _compiled(self._texts) if texts else None
        except RuleTextError:
            self._texts = tuple(one for one in texts if _is_good(one))
            self._all = _compiled(self._texts) if self._texts else None

    def scan(
        self, content: bytes, on_ask: Callable[[str], object], *, is_apart: bool = False
    ) -> YaraResult:
        """Returns the results of the rules for a file; never raises because of its content. Calls
        `on_ask` with the name of each text before its separate scan; `is_apart` requests separate
        scans at once."""
        if self._all is None:
            return YaraResult()
        found = None if is_apart else _scan(self._all, content, YARA_SCAN_S)
        if found is not None:
            return YaraResult(found[:YARA_MATCHES_MAX])
        return self._scan_apart(content, on_ask)

    def _scan_apart(self, content: bytes, on_ask: Callable[[str], object]) -> YaraResult:
        matches: list[YaraMatch] = []
        stopped: list[str] = []
        deadline_s = time.monotonic() + YARA_APART_S
        for one in self._texts:
            if stopped and time.monotonic() > deadline_s:
                break  # the next scan continues without the texts that are stopped now
            on_ask(one.name)
            found = _scan(_compiled([one]), content, YARA_RULE_S)
            if found is None:
                stopped.append(one.name)
            else:
                matches += found
        return YaraResult(matches[:YARA_MATCHES_MAX], stopped)


def _is_good(one: YaraText) -> bool:
    try:
        _compiled([one])
    except RuleTextError:
        return False
    return True


def _scan(rules: Any, content: bytes, seconds: int) -> list[YaraMatch] | None:
    """Returns the rules that match, sorted by name; None if it took too long."""
    scanner = yara_x.Scanner(rules)
    scanner.set_timeout(seconds)
    try:
        found = scanner.scan(content).matching_rules
    except yara_x.TimeoutError:
        return None
    matches = {(one.namespace, one.identifier): _score(one.metadata) for one in found}
    return [YaraMatch(*names, score) for names, score in sorted(matches.items())]


def _score(metadata: Sequence[tuple[str, Any]]) -> int:
    given = dict(metadata).get("score")
    if isinstance(given, bool) or not isinstance(given, int):
        return YARA_SCORE_MAX
    return min(max(given, 1), YARA_SCORE_MAX)
