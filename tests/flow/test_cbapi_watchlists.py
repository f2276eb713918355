"""Watchlists with the public client `cbapi`, as its watchlist scripts use it: add, list, export,
import, change, search, delete (docs/clients.md#requests)."""

import json
from typing import Any
from urllib.parse import parse_qsl, quote

import pytest

from tests.flow.conftest import ONE_SERVER
from tests.support.served import Server, wait_for
from tests.support.sysmon import Story, story

# cbapi 2.0 was written for older urllib3, attrdict and Python: what it warns of is its own.
pytestmark = [ONE_SERVER, pytest.mark.filterwarnings("ignore")]

TIMEOUT_S = 40.0


@pytest.fixture(scope="module")
def sent_story(server: Server) -> Story:
    tale = story("cbapi-watch.corp.example")
    with server.sender() as client:
        answer = client.post("/api/v1/ingest", json=tale.records)
    assert answer.status_code == 200, answer.text
    return tale


def add(cb: Any, name: str, query: str, index_type: str = "events") -> Any:
    """Adds a watchlist like `watchlist_operations.py add`."""
    from cbapi.response import Watchlist

    made = cb.create(Watchlist, data={"name": name})
    made.search_query = f"cb.urlver=1&q={quote(query)}"
    made.index_type = index_type
    made.save()
    return made


def test_a_watchlist_is_added_searched_changed_and_deleted(cb: Any, sent_story: Story) -> None:
    from cbapi.errors import ObjectNotFoundError
    from cbapi.response import Process, Watchlist

    host = sent_story.host.name
    made = add(cb, "powershell here", f"process_name:powershell.exe hostname:{host}")
    assert isinstance(made.id, str)  # the script prints it as text
    assert made.query == f"process_name:powershell.exe hostname:{host}"
    wait_for(lambda: len(cb.select(Process).where(f"watchlist_{made.id}:*")), 1, TIMEOUT_S)
    found = cb.select(Process).where(f"watchlist_{made.id}:*").first()
    assert found.process_md5 == sent_story.powershell.md5
    again = cb.select(Watchlist, made.id, force_init=True)
    assert again.total_tags == 1
    assert again.enabled
    again.query = f"process_name:cmd.exe hostname:{host}"
    again.save()
    changed = cb.select(Watchlist, made.id, force_init=True)
    assert dict(parse_qsl(changed.search_query))["q"] == f"process_name:cmd.exe hostname:{host}"
    assert changed.original_document["id"] != made.id
    changed.enabled = False
    changed.save()
    assert cb.select(Watchlist, made.id, force_init=True).enabled is False
    changed.delete()
    with pytest.raises(ObjectNotFoundError):
        cb.get_object(f"/api/v1/watchlist/{made.id}")


def test_watchlists_are_exported_and_imported(cb: Any) -> None:
    """Like `watchlist_exporter.py` and `watchlist_importer.py`."""
    from cbapi.response import Watchlist

    query = f"hostname:nobody{id(cb)}.example"
    first = add(cb, "exported", query, "modules")
    names = ("name", "search_query", "description", "index_type")
    (known,) = [one for one in cb.select(Watchlist) if one.id == first.id]
    # The client cannot set a member to nothing.
    exported = json.dumps({name: getattr(known, name) or "" for name in names})
    first.delete()
    taken = cb.create(Watchlist, data=json.loads(exported))
    taken.save()
    back = cb.select(Watchlist, taken.id, force_init=True)
    assert {name: getattr(back, name) or "" for name in names} == json.loads(exported)
    back.delete()


def test_a_broken_query_is_refused_with_its_reason(cb: Any) -> None:
    from cbapi.errors import QuerySyntaxError

    with pytest.raises(QuerySyntaxError, match="nofield"):
        add(cb, "broken", "nofield:x")
