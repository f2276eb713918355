"""A response policy, which isolates hosts or bans programs when a rule fires
(docs/notifications.md#response)."""

from dataclasses import dataclass
from typing import Annotated, Final, Literal, get_args

from pydantic import Field, StringConstraints

from vedette.limits import Limit
from vedette.record.answers import answer_model
from vedette.record.bodies import RecordBody, Request
from vedette.record.kinds import Flag, Instant, SentBack, number, short_name
from vedette.record.member import Access, Member

RESPONSE_HOURS_MAX: Limit[int] = 24 * 365
"""Maximum hours until a response ends: one year."""

RESPONSE_NAMES_MAX: Limit[int] = 1_000
"""Maximum rules, and maximum exempt hosts, of one policy."""

RESPONSE_NAME_CHARS_MAX: Limit[int] = 200
"""Maximum characters of the name of a policy."""

RESPONSE_ENTRY_CHARS_MAX: Limit[int] = 300
"""Maximum characters of a rule id or a host name in a policy."""

ResponseAction = Literal["isolate", "ban"]
_Level = Literal["informational", "low", "medium", "high", "critical"]

_LEVELS: Final = get_args(_Level)
_READ_ONLY: Final = Access.READ_ONLY
_Entry = Annotated[
    str, StringConstraints(strict=True, min_length=1, max_length=RESPONSE_ENTRY_CHARS_MAX)
]
_Host = Annotated[_Entry, StringConstraints(to_lower=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponsePolicy:
    """A response policy. Times are epoch microseconds."""

    id: Annotated[int, Member("Policy id", _READ_ONLY)] = 0
    name: Annotated[str, short_name(RESPONSE_NAME_CHARS_MAX), Member("Name in lists")]
    enabled: Annotated[Flag, Member("Whether the policy is enabled")] = False
    action: Annotated[ResponseAction, Member("Response to a hit")]
    level: Annotated[_Level, Member("Minimum level; ignored with `rule_ids`")] = "critical"
    rule_ids: Annotated[
        tuple[_Entry, ...],
        Field(max_length=RESPONSE_NAMES_MAX),
        Member("Ids of rules; empty: all rules of `level` and above"),
    ] = ()
    hosts_never: Annotated[
        tuple[_Host, ...],
        Field(max_length=RESPONSE_NAMES_MAX),
        Member("Names of hosts that are never isolated; wildcards * and ?"),
    ] = ()
    hour_max: Annotated[
        int, number(1, 10_000), Member("Maximum responses per hour; others are only recorded")
    ] = 5
    expires_hours: Annotated[
        int, number(0, RESPONSE_HOURS_MAX), Member("Hours until a response is undone; 0: never")
    ] = 24
    ban_hosts_max: Annotated[
        int, number(0, 1_000_000), Member("Maximum hosts with a file that may be banned")
    ] = 3
    changed_us: Annotated[Instant, Member("Time of change", _READ_ONLY, "changed")] = 0
    username: Annotated[str, Member("User of the last change", _READ_ONLY)] = ""

    def is_for(self, rule_id: str, level: str) -> bool:
        """Whether the policy responds to a rule with this id and level."""
        if self.rule_ids:
            return rule_id in self.rule_ids
        return level in _LEVELS and _LEVELS.index(level) >= _LEVELS.index(self.level)


class PolicyRequest(Request):
    """Further members of a body: read-only members that clients send back."""

    result: SentBack = None


RESPONSE_POLICY: Final = answer_model(ResponsePolicy)
CHANGED_POLICY: Final = answer_model(
    ResponsePolicy, "ChangedResponsePolicy", result=Literal["success"]
)
NEW_POLICY: Final = RecordBody("NewResponsePolicy", ResponsePolicy, PolicyRequest, creates=True)
POLICY_CHANGE: Final = RecordBody(
    "ResponsePolicyChange", ResponsePolicy, PolicyRequest, creates=False
)
