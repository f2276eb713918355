"""Maximum bytes that a browser loads for the console, compressed with gzip.

Each budget was about 15 percent above the size when it was set. A budget stops unnoticed growth,
such as a library, or a page that repeats a value in every row. It is no reason to write shorter
code: comments and names cost little after gzip. Raise a budget in the commit that needs more, with
the reason in its message.
"""

from typing import Final

import httpx

SCRIPTS_GZIP_BYTES_MAX: Final = 106_000
"""All scripts of one language, vendored scripts included: 93 kB in German. A browser keeps them for
good, so a reader loads them once for each version of the server, in 0.2 s at 5 Mbit/s."""

PAGE_GZIP_BYTES_MAX: Final = 33_000
"""The HTML of a page. The largest page of the demo is a search with 100 processes: 29 kB, or 273 kB
before compression."""


def sent_bytes(client: httpx.Client, path: str) -> int:
    """The bytes of an answer's body as they are sent to a browser."""
    with client.stream("GET", path, headers={"Accept-Encoding": "gzip"}) as answer:
        return sum(map(len, answer.iter_raw()))
