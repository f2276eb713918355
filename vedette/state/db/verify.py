"""Integrity check of the state database."""

from vedette.errors import VedetteError
from vedette.state.db.database import Database


def verify_database(database: Database) -> str:
    """Returns a description of the damage, for people; "" if there is none. SQLite reads the whole
    file (seconds per gigabyte); PostgreSQL only has to answer a query."""
    try:
        with database.reading() as connection:
            if connection.dialect.name != "sqlite":
                connection.exec_driver_sql("SELECT 1")
                return ""
            found = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
    except VedetteError as error:
        return error.message
    return "" if found == "ok" else str(found)
