"""Which new alerts a suppression rule keeps quiet. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

import re2
import structlog

from vedette.errors import QueryError
from vedette.model.alert_fields import ALERT
from vedette.model.findings.alert import AlertRow
from vedette.query import check, compile_match, parse_stored
from vedette.query.compile.document import ALERT as ALERT_DOCUMENT
from vedette.query.match import Predicate, Prepared
from vedette.state.policy.suppressions import Suppression

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Suppressor:
    """The rules in force, in the order of their ids."""

    rules: tuple[tuple[int, Predicate], ...]

    def rule_for(self, row: AlertRow) -> int | None:
        """The id of the first rule that matches the alert; None without one."""
        if not self.rules:
            return None
        prepared = Prepared(row, document=ALERT_DOCUMENT)
        return next((rule_id for rule_id, ask in self.rules if ask(prepared)), None)


def predicate_of(text: str, now_us: int) -> Predicate:
    """A query over alerts, stored or bare, as a predicate. Raises QueryError."""
    tree = check(parse_stored(text, ALERT), ALERT, now_us=now_us)
    try:
        return compile_match(tree)
    except re2.error:
        raise QueryError("its patterns are too large to be matched", 0, len(text)) from None


def suppressor_of(rules: Iterable[Suppression], now_us: int) -> Suppressor:
    """The rules as predicates. A query that an older version accepted and this one does not is
    left out: it must not hide everything, nor stop detection."""
    found = []
    for rule in rules:
        try:
            found.append((rule.id, predicate_of(rule.query, now_us)))
        except QueryError as error:
            log.warning("a suppression has no meaning", rule=rule.id, error=error.message)
    return Suppressor(tuple(found))
