"""The public client `cbapi`: actions of watchlists (docs/clients.md#requests)."""

from typing import Any

import pytest

from tests.flow.conftest import ONE_SERVER

# cbapi 2.0 was written for older urllib3, attrdict and Python: what it warns of is its own.
pytestmark = [ONE_SERVER, pytest.mark.filterwarnings("ignore")]


def test_an_action_of_a_watchlist_is_added_found_changed_and_deleted(cb: Any) -> None:
    from cbapi.response import Watchlist
    from cbapi.response.models import WatchlistAction

    watchlist = cb.create(Watchlist)
    watchlist.name = "with actions"
    watchlist.search_query = "cb.urlver=1&q=process_name%3Anotepad.exe"
    watchlist.index_type = "events"
    watchlist.save()
    path = f"/api/v1/watchlist/{watchlist.id}/action"
    assert cb.post_object(path, {"action_type": 3, "action_data": ""}).json()["action_id"] > 0
    (action,) = list(cb.select(WatchlistAction).where(f"watchlist_id:{watchlist.id}"))
    assert (action.type, int(action.group_id)) == ("alert", int(watchlist.id))
    enabled = {one["action_type"]: one["enabled"] for one in cb.get_object(f"{path}_type")}
    assert enabled == {"email": False, "syslog": False, "http": False, "alert": True}
    cb.delete_object(f"{path}/{action.id}")
    assert list(cb.get_object(path)) == []
