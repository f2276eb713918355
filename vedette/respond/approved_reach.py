"""Preview of the approved list: tokens that it would lock out, by their last address."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from ipaddress import ip_network

from vedette.errors import BadRequestError
from vedette.limits import SESSION_IDLE_S, Limit
from vedette.state.accounts.tokens import Token, all_tokens
from vedette.state.db.database import Database
from vedette.state.policy.approved_addresses import entries, is_in

APPROVING_SEEN_US: Limit[int] = 30 * 24 * 3600 * 1_000_000
"""Time (us) without use after which a token is not listed among those that approval would lock
out."""


@dataclass(frozen=True, slots=True)
class ApprovingReach:
    """Effect of switching approval on, with a list of addresses."""

    lets_caller_in: bool
    locked_out: Sequence[Token]
    """Valid tokens of people and programs that were last used from other addresses, most recent
    first."""


def approving_reach(
    database: Database, caller_address: str, without: int, now_us: int, own_tokens: Collection[str]
) -> ApprovingReach:
    """Computes the effect with the current list, optionally without the entry with the id
    `without`; 0 for none. `own_tokens` need no approved address. Raises BadRequestError for an
    entry that does not exist."""
    listed = entries(database)
    if without and without not in {one.id for one in listed}:
        raise BadRequestError(f"without: approved address {without} not found")
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
    """Whether a token is valid, calls the API, and has a recent use with a known address."""
    if one.kind not in ("api", "session") or not one.last_address or not one.is_good(now_us):
        return False
    since_us = SESSION_IDLE_S * 1_000_000 if one.kind == "session" else APPROVING_SEEN_US
    return now_us - one.last_used_us < since_us
