"""Source ranks of process metadata: the rule that picks one of several claims about a process.

Columns that belong together form a group (`GROUPS`). A claim is the content of one record for one
group. The winning claim replaces the whole group, so that path, name and hashes never come from
different sources. Claims are ordered by anchor (the group's main column is set), rank of the
source, event time (earlier wins), then values. This is a total order, so the winner does not depend
on the order of arrival. The first three are packed into one number, the group's `rank_column`.

The store keeps every column of a group as one value that begins with the rank, and merges partial
rows by the greatest value, so the winner is the same in every order of merges. The lowest bits of
the rank are a revision: the writer raises the rank whenever the stored group changes without a
better claim (equal claims, backfilled columns), so that the rank alone decides between two claims.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

from vedette.model.ids import names_process


class Rank(IntEnum):
    """Trust in the source of a claim, ascending."""

    GUESSED = 1
    """Derived without a record, such as an unknown parent."""
    OTHERS = 2
    """Records of another process that refer to this process as parent, target or source."""
    OWN = 3
    """Records of events of the process itself."""
    OTHER_CREATION = 4
    """The creation as reported by another log (Security 4688)."""
    CREATION = 5
    """The process's own creation record (Sysmon 1, an exec record)."""


TOKENS_OF: Final[Mapping[str, str]] = {
    "cmdline": "cmdline_tokens",
    "parent_cmdline": "parent_cmdline_tokens",
}
"""Columns derived from a grouped one (`model/tokens.py`)."""


@dataclass(frozen=True, slots=True)
class Group:
    """Columns that always come from the same source. `backfilled` columns are completed from
    records of the process that the anchor names, and are kept while the anchor is unchanged."""

    name: str
    anchor: str
    """Main column. A claim without it loses to any claim that has it. "" if all columns count
    alike."""
    members: tuple[str, ...]
    backfilled: tuple[str, ...] = ()

    @property
    def rank_column(self) -> str:
        return f"{self.name}_rank"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the claim without its rank, derived ones included."""
        members = (*self.members, *self.backfilled)
        return (*members, *(TOKENS_OF[name] for name in members if name in TOKENS_OF))


GROUPS: Final[tuple[Group, ...]] = (
    Group(
        "identity",
        "path",
        (
            "path",
            "process_name",
            "process_md5",
            "process_sha256",
            "process_sha1",
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

GROUP_OF: Final[Mapping[str, str]] = {
    name: group.name for group in GROUPS for name in (group.rank_column, *group.columns)
}
"""Maps each column whose value may become smaller or empty to its group."""

RANK_COLUMN_OF: Final[Mapping[str, str]] = {
    name: group.rank_column for group in GROUPS for name in group.columns
}
"""Maps each column of a group to its rank column."""

_RANKS: Final = frozenset(RANK_COLUMNS)
_NUMBERS: Final = frozenset(("start", "parent_pid", *RANK_COLUMNS))

_REVISION_BITS: Final = 8
_TIME_BITS: Final = 52
_TIME_MAX: Final = (1 << _TIME_BITS) - 1
_RANK_SHIFT: Final = _TIME_BITS + _REVISION_BITS
_ANCHORED: Final = 1 << (_RANK_SHIFT + 3)

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

_BY_NAME: Final = {group.name: group for group in GROUPS}

Values = Mapping[str, Any]


def claim_key(rank: int, time_us: int, *, is_anchored: bool = True) -> int:
    """Returns the sort key of a claim within its group; the greatest wins. `time_us` 0 means
    unknown and sorts as later than all other times."""
    late = _TIME_MAX - time_us if 0 < time_us < _TIME_MAX else 0
    return (_ANCHORED if is_anchored else 0) | rank << _RANK_SHIFT | late << _REVISION_BITS


def ranked(values: Values, rank: int, time_us: int) -> dict[str, Any]:
    """Returns the metadata of one record plus the rank columns of all groups that it contributes
    to."""
    claims = dict(values)
    for group, rank_column, anchor, names, _ in _BY_GROUP:
        if anchor in values:
            known = anchor != "parent_id" or names_process(values[anchor])
            claims[rank_column] = claim_key(rank if known else Rank.GUESSED, time_us)
        elif not names.isdisjoint(values):
            claims[rank_column] = claim_key(rank, time_us, is_anchored=not group.anchor)
    return claims


def merge_ranked(known: dict[str, Any], claims: Values) -> dict[str, Any]:
    """Merges claims (the result of `ranked`, or of an earlier merge) into `known`.

    Returns the changed columns with their new values. The value is "" or 0 for a column that is
    withdrawn because the group's new source lacks it. Columns without a group take the greater
    value, and so do columns of a group that has no rank on either side.
    """
    if not known:  # fast path: most drafts have one claim
        known.update({column: value for column, value in claims.items() if value})
        return dict(known)
    changed: dict[str, Any] = {}
    for column, value in claims.items():
        rank_column = RANK_COLUMN_OF.get(column, "")
        if not value or column in _RANKS or rank_column in claims:
            continue
        is_ranked = known.get(rank_column, 0) >> _REVISION_BITS > 0
        if column not in known or (value > known[column] and not is_ranked):
            known[column] = changed[column] = value
    for group, rank_column, _, _, names in _BY_GROUP:
        key = claims.get(rank_column)
        if key is not None:
            _merge_group(known, claims, group, key, names, changed)
    return changed


def _merge_group(
    known: dict[str, Any],
    claims: Values,
    group: Group,
    key: int,
    names: tuple[str, ...],
    changed: dict[str, Any],
) -> None:
    before = known.get(group.rank_column)
    kept: Mapping[str, Any] = {}
    if before is not None:
        order, known_order = key >> _REVISION_BITS, before >> _REVISION_BITS
        if order < known_order:
            return
        if order == known_order:
            if not _is_greater(claims, known, group.members):
                _complete(known, claims, group, changed)
                return
            key = max(key, before)
        if group.backfilled and known.get(group.anchor) == claims.get(group.anchor):
            kept = {name: known[name] for name in group.backfilled if name in known}
    for name in names:
        value = claims.get(name) or kept.get(name)
        if value:
            if known.get(name) != value:
                known[name] = changed[name] = value
        elif name in known:
            del known[name]
            changed[name] = withdrawn(name)
    if key != before:
        known[group.rank_column] = changed[group.rank_column] = key


def _complete(known: dict[str, Any], claims: Values, group: Group, changed: dict[str, Any]) -> None:
    """Takes backfilled columns of a claim that is equal otherwise."""
    if _is_greater(known, claims, group.members):
        return
    for name in group.backfilled:
        if claims.get(name, "") > known.get(name, ""):
            known[name] = changed[name] = claims[name]


def _is_greater(claims: Values, known: Values, members: tuple[str, ...]) -> bool:
    for name in members:
        empty = withdrawn(name)
        ours, theirs = known.get(name, empty), claims.get(name, empty)
        if ours != theirs:
            return bool(theirs > ours)
    return False


def withdrawn(column: str) -> str | int:
    """Returns the empty value of a grouped column."""
    return 0 if column in _NUMBERS else ""


def raise_ranks(known: dict[str, Any], changed: Iterable[str], before: Values) -> list[Group]:
    """Raises the rank of every group that has a changed column above its rank `before` the change.
    `known` has the new values and gets the ranks. Returns the groups."""
    names = dict.fromkeys(GROUP_OF[column] for column in changed if column in GROUP_OF)
    groups = [_BY_NAME[name] for name in names]
    for group in groups:
        lowest = before.get(group.rank_column, 0) + 1
        known[group.rank_column] = max(known.get(group.rank_column, 0), lowest)
    return groups


def whole_claims(known: dict[str, Any], changed: Values, before: Values) -> dict[str, Any]:
    """The columns to store after a change: those of `changed` outside of groups, and all columns
    of every group that changed, with a rank above the stored one.

    `known` has the new values and gets the raised ranks; `before` has the ranks that are stored.
    """
    stored = {column: value for column, value in changed.items() if column not in GROUP_OF}
    for group in raise_ranks(known, changed, before):
        for column in (group.rank_column, *group.columns):
            if value := known.get(column):
                stored[column] = value
    return stored
