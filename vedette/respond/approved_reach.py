"""Whom the list of approved addresses would lock out, by where tokens were last used."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from ipaddress import ip_network

from vedette.errors import BadRequestError
from vedette.limits import APPROVING_SEEN_US, SESSION_IDLE_S
from vedette.state.accounts.tokens import Token, all_tokens
from vedette.state.db.database import Database
from vedette.state.policy.approved_addresses import entries, is_in


@dataclass(frozen=True, slots=True)
class ApprovingReach:
    """What approving would do, with a list of addresses."""

    lets_caller_in: bool
    locked_out: Sequence[Token]
    """Good ones, of people and programs, that were last used from elsewhere; the latest first."""


def approving_reach(
    database: Database, caller_address: str, without: int, now_us: int, own_tokens: Collection[str]
) -> ApprovingReach:
    """With the list as it is, or but for the entry with the id `without`; 0: none. `own_tokens`
    need no approved address. Raises BadRequestError for an entry that does not exist."""
    listed = entries(database)
    if without and without not in {one.id for one in listed}:
        raise BadRequestError(f"without: there is no approved address {without}")
    networks = [ip_network(one.network) for one in listed if one.id != without]
    found = [
        one
        for one in all_tokens(database)
        if one.id not in own_tokens
        and _is_used(one, now_us)
        and not is_in(one.last_address, networks)
    ]
    return ApprovingReach(
        is_in(caller_address, networks), sorted(found, key=lambda one: -one.last_used_us)
    )


def _is_used(one: Token, now_us: int) -> bool:
    """Whether a token is good, calls the API, and is known to have done so lately."""
    if one.kind not in ("api", "session") or not one.last_address or not one.is_good(now_us):
        return False
    since_us = SESSION_IDLE_S * 1_000_000 if one.kind == "session" else APPROVING_SEEN_US
    return now_us - one.last_used_us < since_us
