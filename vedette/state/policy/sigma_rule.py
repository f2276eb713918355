"""A Sigma document as the server keeps it: a rule, a correlation or a filter, with what came of it.

`compiled` is what `detect/rule_codec.py` made of the text, so that the text is parsed once.
"""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["rule", "correlation", "filter"]

RuleState = Literal["in_force", "pending", "disabled", "stopped", "unsupported"]
"""What a rule does at the moment: it is evaluated; it will be within seconds; somebody switched it
off; the server stopped it because of its cost; it says what cannot be evaluated."""


@dataclass(frozen=True, slots=True)
class NewSigmaRule:
    """A document to keep. A `problem_reason` says that it cannot be evaluated, and why."""

    id: str
    kind: Kind
    text: str
    title: str
    level: str
    status: str
    version: str
    """The date that the text gives for its last change, `YYYY-MM-DD`, or ""."""
    origin: str
    """The file and document it was read from, "starter", or "" for the API."""
    compiled: str
    """"" for what cannot be evaluated."""
    codec: int
    """`rule_codec.CODEC_VERSION` of `compiled`."""
    problem_reason: str = ""
    """A stable word, e.g. `unsupported_logsource`."""
    problem_message: str = ""


@dataclass(frozen=True, slots=True)
class EarlierText:
    """What a rule said, and since when and by whom."""

    revision: int
    text: str
    title: str
    level: str
    text_us: int
    text_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleCounts:
    """What a rule cost and found since it was added."""

    events: int = 0
    """Events that it was a candidate for, i.e. that were compared with all of it."""
    hits: int = 0
    verify_us: int = 0
    """CPU time of comparing, estimated from one event in 64."""
    last_hit_us: int = 0


@dataclass(frozen=True, slots=True)
class SigmaRule:
    """A kept document. Times are epoch microseconds, 0 for never."""

    rule: NewSigmaRule
    enabled: bool
    revision: int
    """From 1, rises with every change of the text."""
    created_us: int
    modified_us: int
    modified_by: str
    text_us: int
    """When the text became this one; `modified_us` is that of any change."""
    text_by: str
    generation: int
    """Of the list of rules when this one changed: in force where that generation is."""
    stopped_us: int
    stopped_reason: str
    counts: RuleCounts

    def state(self, in_force: int) -> RuleState:
        """`in_force` is the generation that events are judged by."""
        return state_of(
            self.rule.problem_reason,
            is_enabled=self.enabled,
            is_stopped=self.stopped_us > 0,
            is_in_force=self.generation <= in_force,
        )


def state_of(
    problem_reason: str, *, is_enabled: bool, is_stopped: bool, is_in_force: bool
) -> RuleState:
    """What a rule does, by what is kept of it."""
    if problem_reason:
        return "unsupported"
    if not is_enabled:
        return "disabled"
    if is_stopped:
        return "stopped"
    return "in_force" if is_in_force else "pending"
