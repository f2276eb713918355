"""Plans of the store as conditions that tests search with."""

from vedette.model.scope import Scope
from vedette.query.compile.condition import Condition
from vedette.store.engine.client import Engine
from vedette.store.plan.choose import choose_few_segments
from vedette.store.plan.plan import NOWHERE
from vedette.store.plan.search_bounds import Reach


def gathering(engine: Engine, where: Condition, scope: Scope, reach: Reach) -> Condition | None:
    """The condition of `FewSegments`; None where it is not chosen, `NOWHERE` for `NoMatch`."""
    access = choose_few_segments(engine, where, scope, reach)
    if access is None:
        return None
    return access.condition or NOWHERE
