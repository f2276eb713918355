"""Who starts a server on a store that is not its own, or not whole, is in the audit log."""

from pathlib import Path

import pytest

from tests.contract.store.rows import HOUR_MS
from tests.support.started_state import open_started_state
from vedette.bootstrap.store_identity import check_store
from vedette.clock import DrivenClock
from vedette.errors import StartError
from vedette.state.accounts import audit_trail
from vedette.state.accounts.audit_trail import Search
from vedette.state.db.author import Author
from vedette.state.db.database import Database
from vedette.state.store_identity import StateIdentity, load_identity, save_identity
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.integrity import identity

OPERATOR = Author("command", "grace")
CLOCK = DrivenClock(HOUR_MS * 1_000)


def accepted(database: Database) -> list[str]:
    """Returns the problems of the stores that were accepted nevertheless."""
    found = audit_trail.search(database, Search(kind="store", action="run"))[1]
    assert {(one.author_kind, one.target) for one in found} <= {("command", "accept")}
    assert {one.author for one in found} <= {OPERATOR.name}
    return [one.after["problem"] for one in found]


def test_a_store_of_another_server_that_was_accepted_is_in_the_audit_log_once(
    contract_engine: ClickHouseEngine, tmp_path: Path
) -> None:
    database = open_started_state(tmp_path, CLOCK.now_us())
    check_store(contract_engine, database, CLOCK, accepted_by=None)
    save_identity(database, StateIdentity("another", is_pending=False))
    with pytest.raises(StartError):
        check_store(contract_engine, database, CLOCK, accepted_by=None)
    assert accepted(database) == []
    check_store(contract_engine, database, CLOCK, accepted_by=OPERATOR)
    (problem,) = accepted(database)
    assert "different servers" in problem
    agreed = load_identity(database)
    assert agreed is not None
    assert agreed.store_id == identity.read_store_id(contract_engine) != "another"
    check_store(contract_engine, database, CLOCK, accepted_by=OPERATOR)  # nothing is wrong any more
    assert accepted(database) == [problem]
    assert audit_trail.verify(database).fault == ""
    database.close()
