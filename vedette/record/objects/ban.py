"""A ban of a program, which sensors prevent from starting (docs/bans.md)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import Field, PlainSerializer, StringConstraints, WithJsonSchema

from vedette import limits
from vedette.record.answers import Answer, answer_model, many, to_json
from vedette.record.bodies import RecordBody, Request
from vedette.record.kinds import (
    MD5_PATTERN,
    Flag,
    Instant,
    KnownInstant,
    Md5,
    NullForEmpty,
    SentBack,
    null_means,
    text,
)
from vedette.record.member import Access, Member

_READ_ONLY: Final = Access.READ_ONLY


@dataclass(frozen=True, slots=True, kw_only=True)
class BanAudit:
    """One change of a ban. Times in epoch microseconds."""

    username: Annotated[str, Member("User who changed the ban", _READ_ONLY)]
    user_id: Annotated[int, Member("Id of the user", _READ_ONLY)]
    time_us: Annotated[Instant, Member("Time of the change", _READ_ONLY, "timestamp")]
    text: Annotated[str, Member("New reason", _READ_ONLY)]
    enabled: Annotated[bool, Member("Whether the change left the ban enabled", _READ_ONLY)]


def _audit_json(audit: Iterable[BanAudit]) -> list[dict[str, Any]]:
    return [to_json(one) for one in audit]


_Text = Annotated[str, text(limits.BAN_REASON_CHARS_MAX)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ban:
    """A ban. `user_id`, `username` and `time_us` belong to its latest change."""

    md5: Annotated[
        Md5,
        Member(
            "MD5 of the program; required unless `md5hashes` is set", Access.AT_CREATION, "md5hash"
        ),
    ] = ""
    sha256: Annotated[
        NullForEmpty, Member("SHA-256 of a verified copy of the file", _READ_ONLY, "sha256hash")
    ] = ""
    text: Annotated[_Text, null_means("", _Text), Member("Reason of the ban")] = ""
    enabled: Annotated[Flag, Member("Whether the ban is in force")] = True
    username: Annotated[str, Member("User of the last change", _READ_ONLY)] = ""
    user_id: Annotated[int, Member("Id of the user", _READ_ONLY)] = 0
    time_us: Annotated[Instant, Member("Time of the last change", _READ_ONLY, "timestamp")] = 0
    expires_us: Annotated[
        KnownInstant,
        Member("Expiry time; null: never", Access.AT_CREATION, "expires"),
    ] = 0
    block_count: Annotated[int, Member("Number of blocked starts", _READ_ONLY, unseen=0)] = 0
    last_block_sensor_id: Annotated[
        int,
        WithJsonSchema({"type": ["integer", "null"]}, mode="serialization"),
        Member("Sensor of the last block; null if the caller does not see it", _READ_ONLY),
    ] = 0
    last_block_us: Annotated[
        KnownInstant, Member("Time of the last block", _READ_ONLY, "last_block_time")
    ] = 0
    last_block_hostname: Annotated[
        str,
        WithJsonSchema({"type": ["string", "null"]}, mode="serialization"),
        Member("Host name of the last block; null if not visible", _READ_ONLY),
    ] = ""
    version: Annotated[
        int, Member("List version at the last change of `enabled`", Access.HIDDEN)
    ] = 0
    audit: Annotated[
        tuple[BanAudit, ...],
        PlainSerializer(_audit_json, return_type=many(answer_model(BanAudit))),
        Member("Changes of the ban, oldest first", _READ_ONLY, stored=False),
    ] = ()


class BanRequest(Request):
    """Further members of a body: read-only members that clients send back."""

    ban_count: SentBack = None
    claimed_sha256: SentBack = None
    last_ban_host: SentBack = None
    last_ban_time: SentBack = None
    result: SentBack = None
    running: SentBack = None


class NewBanRequest(BanRequest):
    """Further members of a body that creates bans."""

    md5hashes: Annotated[
        list[
            Annotated[
                str,
                StringConstraints(
                    strict=True, strip_whitespace=True, pattern=MD5_PATTERN, to_lower=True
                ),
            ]
        ],
        Field(
            min_length=1,
            max_length=limits.BAN_LIST_MAX,
            description="MD5s of several programs; the response has an outcome for each",
        ),
    ] = []
    dry_run: Annotated[
        Flag,
        null_means(False, Flag),
        Field(description="Bans nothing; the response lists where the programs run"),
    ] = False
    even_protected: Annotated[
        Flag,
        null_means(False, Flag),
        Field(description="Also bans programs that hosts need to run"),
    ] = False


class RunsOnAnswer(Answer):
    """A host on which a banned program runs."""

    sensor_id: int
    hostname: str
    process_count: int
    last_seen: str
    process_ids: list[str]


BAN: Final = answer_model(Ban)
BAN_WITH_CLAIMS: Final = answer_model(Ban, "BanWithClaims", claimed_sha256=list[str])
CHANGED_BAN: Final = answer_model(Ban, "ChangedBan", result=Literal["success"])
MADE_BAN: Final = answer_model(
    Ban,
    "MadeBan",
    result=Literal["success"],
    running=list[RunsOnAnswer],
    claimed_sha256=list[str],
)
NEW_BAN: Final = RecordBody("NewBan", Ban, NewBanRequest, creates=True)
BAN_CHANGE: Final = RecordBody("BanChange", Ban, BanRequest, creates=False)
