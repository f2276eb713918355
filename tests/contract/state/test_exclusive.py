"""Work that reads, changes and writes back elsewhere is done by one server at a time."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from vedette.state.db.database import Database

ROUNDS = 20


def test_threads_and_servers_take_turns(
    another: Callable[[], Database], database: Database, engine_name: str
) -> None:
    # Servers share PostgreSQL; SQLite has one server.
    servers = [database, another() if engine_name == "postgresql" else database]
    held = {"value": 0}

    def add(number: int) -> None:
        with servers[number % 2].exclusive("counter"):
            before = held["value"]
            with servers[number % 2].reading():
                held["value"] = before + 1

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(add, range(ROUNDS)))
    assert held["value"] == ROUNDS


def test_other_names_do_not_wait_and_an_error_lets_go(database: Database) -> None:
    with database.exclusive("one"), database.exclusive("two"), database.writing():
        pass
    try:
        with database.exclusive("one"):
            raise ValueError
    except ValueError:
        pass
    with database.exclusive("one"):
        pass
