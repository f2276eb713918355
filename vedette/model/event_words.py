"""Names of numeric event fields in forwarded records."""

from collections.abc import Mapping
from typing import Final

SAID_IN_WORDS: Final[Mapping[tuple[str, str], Mapping[int, str]]] = {
    ("filemod", "operation"): {1: "CREATED", 2: "FIRST_WRITE", 4: "DELETED", 8: "LAST_WRITE"},
    ("regmod", "operation"): {1: "CREATED_KEY", 2: "WRITTEN", 4: "DELETED_KEY", 8: "DELETED_VALUE"},
    ("crossproc", "kind"): {1: "REMOTE_THREAD", 2: "PROCESS_OPEN"},
    ("childproc", "kind"): {0: "OTHER", 1: "FORK", 2: "EXEC", 3: "OTHER_EXEC"},
    ("pipe", "operation"): {1: "CREATED", 2: "CONNECTED"},
}
"""Maps (event kind, field) to the names of the numbers in `event.py`."""
