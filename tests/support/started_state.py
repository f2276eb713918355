"""The state database of a server that was started once, for tests of what comes after the first
start: migrations and the hash of the first password take a third of a second, a copy a
millisecond."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from vedette.state.db.database import Database, open_database
from vedette.state.start import FirstCredentials, start

FILE_NAME = "state.db"


@cache
def _made(now_us: int) -> tuple[bytes, FirstCredentials]:
    with TemporaryDirectory() as directory:
        database = open_database("", Path(directory))
        credentials = start(database, now_us)
        database.close()
        assert credentials is not None
        (file,) = Path(directory).iterdir()  # closed: nothing is left in a log beside it
        return file.read_bytes(), credentials


def put_started_state(directory: Path, now_us: int) -> FirstCredentials:
    """Writes what `start` leaves in a new `state.db` of the directory; the credentials it
    returns."""
    content, credentials = _made(now_us)
    with (directory / FILE_NAME).open("xb") as file:
        file.write(content)
    return credentials


def open_started_state(directory: Path, now_us: int) -> Database:
    """The same, opened. The caller closes it."""
    put_started_state(directory, now_us)
    return open_database("", directory)
