"""Applies suppression rules to new alerts. Pure."""

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
from vedette.record.objects.suppression import Suppression

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Suppressor:
    """The rules in force, sorted by id."""

    rules: tuple[tuple[int, Predicate], ...]

    def rule_for(self, row: AlertRow) -> int | None:
        """Returns the id of the first rule that matches the alert, or None."""
        if not self.rules:
            return None
        prepared = Prepared(row, document=ALERT_DOCUMENT)
        return next((rule_id for rule_id, ask in self.rules if ask(prepared)), None)


def predicate_of(text: str, now_us: int) -> Predicate:
    """Compiles a query over alerts, stored or bare, to a predicate. Raises QueryError."""
    tree = check(parse_stored(text, ALERT), ALERT, now_us=now_us)
    try:
        return compile_match(tree)
    except re2.error:
        raise QueryError("its patterns are too large", 0, len(text)) from None


def suppressor_of(rules: Iterable[Suppression], now_us: int) -> Suppressor:
    """Compiles the rules to predicates. Skips a query that only an older version accepted: it must
    neither hide every alert nor stop detection."""
    found = []
    for rule in rules:
        try:
            found.append((rule.id, predicate_of(rule.query, now_us)))
        except QueryError as error:
            log.warning("ignoring an invalid suppression", rule=rule.id, error=error.message)
    return Suppressor(tuple(found))
