"""The actions of a watchlist or feed for its page: their state, and who may switch each."""

from typing import Any

from vedette.model.findings.action import ACTION_NAMES
from vedette.model.principal import Principal
from vedette.notify.action_settings import action_types, switch_right
from vedette.state.policy import actions
from vedette.web.http.action_sources import ActionSource
from vedette.web.http.services import Services
from vedette.web.notify.routes import editing


def actions_of(
    kind: ActionSource, here: Services, caller: Principal, source_id: str
) -> dict[str, Any]:
    """Returns the values for the template of a source's actions. Raises NotFoundError."""
    source, by = editing(kind, here, caller, source_id)
    with here.database.reading() as connection:
        kinds = action_types(connection, source, by.user_id)
        known = actions.of_source(connection, source)
    rights = {name: switch_right(known, source, one, by) for one, name in ACTION_NAMES.items()}
    switches = {name: (deed.name, managed) for name, (deed, managed) in rights.items()}
    return {"kinds": kinds, "switches": switches}
