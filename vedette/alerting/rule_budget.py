"""Stops rules that exceed their cost budget, and raises a detection of the server about it.

A rule costs CPU time of the processes that prepare commits, so one bad rule would delay the
acknowledgement of all telemetry. A stopped rule stays stopped until a user enables it again.
"""

from vedette import limits
from vedette.alerting.detection_writer import DetectionWriter
from vedette.clock import Clock
from vedette.limits import Limit
from vedette.model.findings.detection import Detection, Source
from vedette.pipeline.rule_reload import RuleReloader
from vedette.state.db.database import Database, Transaction
from vedette.state.policy import rules
from vedette.state.policy.sigma_rule import SigmaRule

RULE_BUDGET_SHARE: Limit[float] = 0.25
"""Share of one processor that a rule may use. A rule that is compared with every event of 10,000
endpoints uses a tenth; a regular expression over long scripts can use any share."""

RULE_STOPPED_SEVERITY: Limit[int] = 60
"""Severity of the alert about a stopped rule."""


class RuleBudget:
    """Enforces the budget (see the module). `check` is a background job."""

    def __init__(
        self,
        database: Database,
        reloader: RuleReloader,
        detections: DetectionWriter,
        clock: Clock,
    ) -> None:
        self._database = database
        self._reloader = reloader
        self._detections = detections
        self._clock = clock

    def check(self) -> list[str]:
        """Stops the rules that were too expensive in the last minute and returns their ids."""
        most_ns = RULE_BUDGET_SHARE * limits.RULE_BUDGET_WINDOW_S * 1_000_000_000
        spent = self._reloader.spent_ns()
        expensive = {rule_id: ns for rule_id, ns in spent.items() if ns > most_ns}
        if not expensive:
            return []
        stopped = []
        for rule_id, known in rules.named(self._database, expensive).items():
            if known.enabled and not known.stopped_us:
                self._stop(known, expensive[rule_id])
                stopped.append(rule_id)
        if stopped:
            self._reloader.reload()
        return stopped

    def _stop(self, known: SigmaRule, spent_ns: int) -> None:
        now_us = self._clock.now_us()
        share = spent_ns / (limits.RULE_BUDGET_WINDOW_S * 1_000_000_000)
        reason = (
            f"it took {share:.0%} of a processor over {limits.RULE_BUDGET_WINDOW_S} s; "
            f"a rule may take {RULE_BUDGET_SHARE:.0%}"
        )
        rule_id = known.rule.id

        def within(transaction: Transaction) -> None:
            rules.stop(transaction, rule_id, reason, now_us)

        self._detections.write([_detection(known, reason, now_us)], within)
        self._reloader.forget_cost(rule_id)


def _detection(known: SigmaRule, reason: str, now_us: int) -> Detection:
    rule = known.rule
    return Detection(
        source=Source("server", f"rule {rule.id}"),
        source_name="Detection rules",
        alert_type="watchlist.hit.ingress.host",
        subject=f"stopped:{rule.id}:{now_us}",
        time_us=now_us,
        sensor_id=0,
        title=f"Rule stopped (too expensive): {rule.title}",
        description=f"The rule {rule.title!r} ({rule.id}) is no longer evaluated: {reason}.",
        severity=RULE_STOPPED_SEVERITY,
        rule_text=rule.text,
        matched={"rule": rule.id, "reason": reason},
    )
