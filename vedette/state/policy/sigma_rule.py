"""A stored Sigma document (rule, correlation or filter) with its state.

`compiled` is the output of `detect/rule_codec.py`, so that the text is parsed once.
"""

from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["rule", "correlation", "filter"]

RuleState = Literal["in_force", "pending", "blocked", "disabled", "stopped", "unsupported"]
"""Current state of a rule: `in_force`: it is evaluated; `pending`: it will be within seconds;
`disabled`: a user disabled it; `stopped`: the server stopped it because of its cost; `unsupported`:
it cannot be evaluated; `blocked`: it is a correlation or filter whose rules are not in force."""

NO_BASE_RULE: Final = "no_base_rule"
"""Reason of a document in the state `blocked`."""


@dataclass(frozen=True, slots=True)
class NewSigmaRule:
    """A document to store. `problem_reason` is set if it cannot be evaluated."""

    id: str
    kind: Kind
    text: str
    title: str
    level: str
    status: str
    version: str
    """Date of the last change according to the text, `YYYY-MM-DD`; "" if missing."""
    origin: str
    """File and document that it was read from; "starter"; or "" for the API."""
    compiled: str
    """Empty for a document that cannot be evaluated."""
    codec: int
    """`rule_codec.CODEC_VERSION` of `compiled`."""
    problem_reason: str = ""
    """A stable word, e.g. `unsupported_logsource`."""
    problem_message: str = ""


@dataclass(frozen=True, slots=True)
class EarlierText:
    """An earlier text of a rule, with its time and author."""

    revision: int
    text: str
    title: str
    level: str
    text_us: int
    text_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleCounts:
    """Statistics of a rule since it was added."""

    events: int = 0
    """Events that passed the rule's anchors and were compared with the whole rule."""
    hits: int = 0
    verify_us: int = 0
    """CPU time of the comparisons, extrapolated from one event in 64."""
    last_hit_us: int = 0


@dataclass(frozen=True, slots=True)
class SigmaRule:
    """A stored document. Times are epoch microseconds; 0 for never."""

    rule: NewSigmaRule
    enabled: bool
    revision: int
    """Starts at 1; incremented with every change of the text."""
    created_us: int
    modified_us: int
    modified_by: str
    text_us: int
    """Time of the last change of the text; `modified_us` covers any change."""
    text_by: str
    generation: int
    """Generation of the rule list at this rule's last change. The rule is in force where that
    generation is."""
    stopped_us: int
    stopped_reason: str
    counts: RuleCounts
    blocked: str = ""
    """Reason why an enabled correlation or filter has no effect."""

    @property
    def reason(self) -> str:
        """Stable code for why it cannot be evaluated or has no effect; "" otherwise."""
        return self.rule.problem_reason or (NO_BASE_RULE if self.blocked else "")

    @property
    def message(self) -> str:
        """The reason in words, or the reason why the server stopped the rule."""
        return self.rule.problem_message or self.stopped_reason or self.blocked

    def state(self, in_force: int) -> RuleState:
        """Returns the state. `in_force` is the generation that judges events."""
        return state_of(
            self.rule.problem_reason,
            is_enabled=self.enabled,
            is_stopped=self.stopped_us > 0,
            is_in_force=self.generation <= in_force,
            is_blocked=bool(self.blocked),
        )


def state_of(
    problem_reason: str,
    *,
    is_enabled: bool,
    is_stopped: bool,
    is_in_force: bool,
    is_blocked: bool,
) -> RuleState:
    """Derives the state of a rule from its stored values."""
    if problem_reason:
        return "unsupported"
    if not is_enabled:
        return "disabled"
    if is_stopped:
        return "stopped"
    if is_blocked:
        return "blocked"
    return "in_force" if is_in_force else "pending"
