"""Costs and hits of Sigma rules, as counted by commits."""

from collections.abc import Mapping
from typing import Final

from sqlalchemy import BigInteger, bindparam, case, update

from vedette import limits
from vedette.state.db.database import Database, insert_new
from vedette.state.db.schema_rules import SIGMA_COUNT
from vedette.state.policy.sigma_rule import RuleCounts


def add(database: Database, added: Mapping[str, RuleCounts]) -> None:
    """Adds the counts of a server's commits since its last call."""
    ids, size = sorted(added), limits.SIGMA_RULES_SWITCHED_AT_ONCE
    for some in (ids[at : at + size] for at in range(0, len(ids), size)):
        with database.writing() as connection:
            new = [{"rule_id": rule_id} for rule_id in some]
            connection.execute(insert_new(connection, SIGMA_COUNT), new)
            rows = [{"of_rule": rule_id, **_counted(added[rule_id])} for rule_id in some]
            connection.execute(_ADD_COUNTS, rows)


_C: Final = SIGMA_COUNT.c
_HIT_US: Final = bindparam("hit_us", type_=BigInteger)
_ADD_COUNTS: Final = (
    update(SIGMA_COUNT)
    .where(_C.rule_id == bindparam("of_rule"))
    .values(
        events=_C.events + bindparam("more_events", type_=BigInteger),
        hits=_C.hits + bindparam("more_hits", type_=BigInteger),
        verify_us=_C.verify_us + bindparam("more_us", type_=BigInteger),
        last_hit_us=case((_C.last_hit_us > _HIT_US, _C.last_hit_us), else_=_HIT_US),
    )
)
"""One statement, executed for many rules."""


def _counted(counts: RuleCounts) -> dict[str, int]:
    return {
        "more_events": counts.events,
        "more_hits": counts.hits,
        "more_us": counts.verify_us,
        "hit_us": counts.last_hit_us,
    }
