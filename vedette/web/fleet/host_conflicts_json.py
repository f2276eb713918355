"""Formats host names that several sensor groups claim."""

from collections.abc import Collection
from typing import Any

from vedette.model.principal import Principal, Role
from vedette.state.policy.name_owners import NameClaim, NameConflict
from vedette.web.json.wire_values import instant


def administered(caller: Principal) -> frozenset[int]:
    """Returns ids of the sensor groups in which a user is Administrator."""
    return frozenset(number for number, role in caller.roles if role >= Role.ADMINISTRATOR)


def conflict_body(conflict: NameConflict, groups: Collection[int] | None) -> dict[str, Any]:
    """Returns a conflict for an administrator of the given groups (None for all). Of other groups
    it reveals only that one of them claims the name."""
    shown = [one for one in conflict.claims if groups is None or one.group_id in groups]
    return {
        "hostname": conflict.name,
        "claims": [_claim_body(one) for one in shown],
        "claimed_by_others": len(shown) < len(conflict.claims),
    }


def _claim_body(claim: NameClaim) -> dict[str, Any]:
    return {
        "sensor_id": claim.sensor_id,
        "hostname": claim.hostname,
        "group_id": claim.group_id,
        "group": claim.group_name,
        "enrolled": claim.is_enrolled,
        "first_seen": instant(claim.first_seen_us),
        "last_seen": instant(claim.last_seen_us),
        "decided": claim.is_decided,
        "owner": claim.owner_id,
    }
