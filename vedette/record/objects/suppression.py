"""A suppression: a query over alerts; matching detections create no alert
(docs/alerts.md#suppressions)."""

from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field

from vedette.limits import ALERT_NOTES_CHARS_MAX, STATE_NAME_CHARS_MAX, Limit
from vedette.record.answers import answer_model
from vedette.record.bodies import RecordBody, Request, RequestBody
from vedette.record.kinds import (
    Flag,
    Instant,
    KnownInstant,
    SentBack,
    null_is_absent,
    null_means,
    text,
)
from vedette.record.member import Access, Member

SUPPRESSION_QUERY_CHARS_MAX: Limit[int] = 16_384
"""Maximum characters of the query of a suppression. A longer query indicates that the rule should
change instead."""

_READ_ONLY: Final = Access.READ_ONLY
_Name = Annotated[str, text(STATE_NAME_CHARS_MAX)]
_Reason = Annotated[str, text(ALERT_NOTES_CHARS_MAX)]
_Query = Annotated[str, text(SUPPRESSION_QUERY_CHARS_MAX, 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Suppression:
    """A suppression. Times are epoch microseconds. The user and `changed_us` belong to its latest
    change."""

    id: Annotated[int, Member("Suppression id", _READ_ONLY)] = 0
    name: Annotated[_Name, null_is_absent(_Name), Member("Name in lists")] = ""
    query: Annotated[_Query, Member("Query over alerts; matching detections create no alert")]
    reason: Annotated[_Reason, null_is_absent(_Reason), Member("Reason")] = ""
    enabled: Annotated[Flag, null_is_absent(Flag), Member("Whether it is enabled")] = True
    created_us: Annotated[Instant, Member("Creation time", _READ_ONLY, "created")] = 0
    changed_us: Annotated[Instant, Member("Time of the last change", _READ_ONLY, "changed")] = 0
    expires_us: Annotated[
        KnownInstant,
        Member("Expiry time; null: never; default of a new one: 30 days", name="expires"),
    ] = 0
    user_id: Annotated[int, Member("Id of the last author", _READ_ONLY)] = 0
    username: Annotated[str, Member("Name of the last author", _READ_ONLY)] = ""
    hits: Annotated[int, Member("Suppressed detections", _READ_ONLY, unseen=0)] = 0
    last_hit_us: Annotated[
        KnownInstant, Member("Time of the last hit", _READ_ONLY, "last_hit", unseen=None)
    ] = 0

    def holds(self, now_us: int) -> bool:
        """Whether the suppression is in force at `now_us`."""
        return self.enabled and not 0 < self.expires_us <= now_us


class SuppressionRequest(Request):
    """Further members of a body."""

    allow_all: Annotated[
        Flag,
        null_means(False, Flag),
        Field(description="Allows a query that matches every alert"),
    ] = False
    in_force: SentBack = None


class SuppressionQuery(Request):
    """A query to preview as a suppression."""

    query: Annotated[_Query, Field(description="Query over alerts")]


SUPPRESSION: Final = answer_model(Suppression, "AlertSuppression", in_force=bool)
NEW_SUPPRESSION: Final = RecordBody(
    "NewAlertSuppression", Suppression, SuppressionRequest, creates=True
)
SUPPRESSION_CHANGE: Final = RecordBody(
    "AlertSuppressionChange", Suppression, SuppressionRequest, creates=False
)
SUPPRESSION_QUERY: Final = RequestBody(SuppressionQuery)
