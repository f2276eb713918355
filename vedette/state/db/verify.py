"""Whether the state database's file is whole."""

from vedette.errors import VedetteError
from vedette.state.db.database import Database


def verify_database(database: Database) -> str:
    """What is wrong, for people; "" where nothing is. SQLite reads the whole file, seconds per
    gigabyte; PostgreSQL is only asked for an answer."""
    try:
        with database.reading() as connection:
            if connection.dialect.name != "sqlite":
                connection.exec_driver_sql("SELECT 1")
                return ""
            found = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
    except VedetteError as error:
        return error.message
    return "" if found == "ok" else str(found)
