"""Source rank of process metadata: which of several claims about a process is shown.

Columns that belong together form a group (`GROUPS`). A claim is what one record says of one
group; the winner replaces the group as a whole, so that path, name and hashes never come from
different sources. Claims are ordered by anchor (the group's main column is given), rank of the
source, event time (earlier wins), then values: a total order, so the winner does not depend on
the order of arrival. The first three are packed into one number, stored in the group's
`rank_column`; rows written before ranks were stored have 0 there and lose to every claim.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

from vedette.model.ids import names_process


class Rank(IntEnum):
    """How far the source of a claim is to be believed."""

    GUESSED = 1
    """Derived without a record that says so: an unknown parent."""
    OTHERS = 2
    """Records about another process that name this one: as their parent, target or source."""
    OWN = 3
    """Records of events of the process itself."""
    OTHER_CREATION = 4
    """The creation as another log reports it (Security 4688)."""
    CREATION = 5
    """The process's own creation record (Sysmon 1, an exec record)."""


@dataclass(frozen=True, slots=True)
class Group:
    """Columns that come from one source. `backfilled` are completed from records of the process
    that the anchor names, and are kept as long as the anchor stays the same."""

    name: str
    anchor: str
    """Column without which a claim loses to any that has it; "" when all count alike."""
    members: tuple[str, ...]
    backfilled: tuple[str, ...] = ()

    @property
    def rank_column(self) -> str:
        return f"{self.name}_rank"


GROUPS: Final[tuple[Group, ...]] = (
    Group(
        "identity",
        "path",
        (
            *("path", "process_name", "process_md5", "process_sha256", "process_sha1"),
            "original_filename",
        ),
    ),
    Group("account", "username", ("username", "uid")),
    Group("command", "cmdline", ("cmdline",)),
    Group("session", "", ("integrity_level", "logon_id", "terminal_session_id")),
    Group("creation", "start", ("start",)),
    Group(
        "parent",
        "parent_id",
        ("parent_id", "parent_pid", "parent_path", "parent_name", "parent_cmdline"),
        ("parent_md5", "parent_sha256", "parent_username"),
    ),
)

RANK_COLUMNS: Final = tuple(group.rank_column for group in GROUPS)

TOKENS_OF: Final[Mapping[str, str]] = {
    "cmdline": "cmdline_tokens",
    "parent_cmdline": "parent_cmdline_tokens",
}
"""Columns derived from a grouped one (`model/tokens.py`)."""

RANK_COLUMN_OF: Final[Mapping[str, str]] = {
    name: group.rank_column
    for group in GROUPS
    for member in (*group.members, *group.backfilled)
    for name in (member, TOKENS_OF.get(member, member))
}
"""The rank column of every column whose value can change to a smaller or an empty one."""

_RANKS: Final = frozenset(RANK_COLUMNS)
_NUMBERS: Final = frozenset(("start", "parent_pid", *RANK_COLUMNS))

_TIME_BITS: Final = 56
_TIME_MAX: Final = (1 << _TIME_BITS) - 1
_ANCHORED: Final = 1 << (_TIME_BITS + 3)

_BY_GROUP: Final = tuple(
    (
        group,
        group.rank_column,
        group.anchor,
        frozenset((*group.members, *group.backfilled)),
        (*group.members, *group.backfilled),
    )
    for group in GROUPS
)

Values = Mapping[str, Any]


def claim_key(rank: int, time_us: int, *, is_anchored: bool = True) -> int:
    """The order of a claim among others of its group. `time_us` 0: a time that is not known, which
    is later than all others."""
    late = _TIME_MAX - time_us if 0 < time_us < _TIME_MAX else 0
    return (_ANCHORED if is_anchored else 0) | rank << _TIME_BITS | late


def ranked(values: Values, rank: int, time_us: int) -> dict[str, Any]:
    """Metadata of one record with the rank columns of all groups that it speaks of."""
    claims = dict(values)
    for group, rank_column, anchor, names, _ in _BY_GROUP:
        if anchor in values:
            known = anchor != "parent_id" or names_process(values[anchor])
            claims[rank_column] = claim_key(rank if known else Rank.GUESSED, time_us)
        elif not names.isdisjoint(values):
            claims[rank_column] = claim_key(rank, time_us, is_anchored=not group.anchor)
    return claims


def merge_ranked(known: dict[str, Any], claims: Values) -> dict[str, Any]:
    """Merges claims (of `ranked`, or merged before) into `known`.

    Returns what changed: new values by column, "" or 0 for a column whose value is withdrawn
    because the group's new source does not give it. Columns without a group take the greater
    value, and so do columns of a group that has no rank on either side.
    """
    if not known:  # most drafts have one claim
        known.update({column: value for column, value in claims.items() if value})
        return dict(known)
    news: dict[str, Any] = {}
    for column, value in claims.items():
        rank_column = RANK_COLUMN_OF.get(column, "")
        if not value or column in _RANKS or rank_column in claims:
            continue
        if column not in known or (value > known[column] and rank_column not in known):
            known[column] = news[column] = value
    for group, rank_column, _, _, names in _BY_GROUP:
        key = claims.get(rank_column)
        if key is not None:
            _merge_group(known, claims, group, key, names, news)
    return news


def _merge_group(
    known: dict[str, Any],
    claims: Values,
    group: Group,
    key: int,
    names: tuple[str, ...],
    news: dict[str, Any],
) -> None:
    before = known.get(group.rank_column)
    kept: Mapping[str, Any] = {}
    if before is not None:
        if key < before:
            return
        if key == before and not _is_greater(claims, known, group.members):
            return
        if group.backfilled and known.get(group.anchor) == claims.get(group.anchor):
            kept = {name: known[name] for name in group.backfilled if name in known}
    for name in names:
        value = claims.get(name) or kept.get(name)
        if value:
            if known.get(name) != value:
                known[name] = news[name] = value
        elif name in known:
            del known[name]
            news[name] = withdrawn(name)
    if key != before:
        known[group.rank_column] = news[group.rank_column] = key


def _is_greater(claims: Values, known: Values, members: tuple[str, ...]) -> bool:
    for name in members:
        empty = withdrawn(name)
        ours, theirs = known.get(name, empty), claims.get(name, empty)
        if ours != theirs:
            return bool(theirs > ours)
    return False


def withdrawn(column: str) -> str | int:
    """The empty value of a grouped column."""
    return 0 if column in _NUMBERS else ""
