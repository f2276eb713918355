"""A binary as the API shows it (api.md 2.11, clients.md 2.1 and 4.8).

Rows come from the store by column name (`query/compile/binary_sql.py`). The members that clients
read are always there; what a file tells of itself only where it does.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from vedette.model.binary_fields import BINARY, BINARY_LISTS
from vedette.query import Tree
from vedette.query.compile.document import Document
from vedette.query.highlight import markers
from vedette.search.bodies.process import Body
from vedette.search.bodies.wire_values import instant
from vedette.search.processes.highlights import Highlights, patterns_by_column

Row = Mapping[str, Any]

NO_MD5: Final = "0" * 32
"""Shown for a binary of which no sender told an MD5: the public client takes 32 digits or fails."""

OS_TYPES: Final = {"windows": "Windows", "linux": "Linux", "osx": "Osx"}

_KNOWN_TEXTS: Final = (
    "product_version",
    "product_name",
    "product_desc",
    "file_version",
    "company_name",
    "internal_name",
    "legal_copyright",
    "legal_trademark",
    "file_desc",
    "original_filename",
    "private_build",
    "special_build",
    "comments",
    "digsig_result_code",
    "digsig_publisher",
    "digsig_prog_name",
    "digsig_issuer",
    "digsig_subject",
    "imphash",
)
"""Columns shown under their own names when they are known."""

_FACETED: Final = (
    "product_name",
    "file_version",
    "company_name",
    "digsig_publisher",
    "observed_filename",
)
"""Members that a summary also has under the name of their facet."""

_WHOLE_ROWS: Final = Document(frozenset())
"""A page of binaries has all their lists: none has to be looked up for a mark."""


def binary_body(row: Row) -> Body:
    """The binary object of search results."""
    added = instant(row["added"])
    body: Body = {
        "md5": row["md5"].upper() or NO_MD5,
        "server_added_timestamp": added,
        "timestamp": added,
        "last_seen": instant(row["last_seen"]),
        "orig_mod_len": row["orig_mod_len"],
        "copied_mod_len": 0,
        "observed_filename": row["observed_filename"],
        "is_executable_image": bool(row["is_executable_image"]),
        "is_64bit": bool(row["is_64bit"]),
        "tampered": bool(row["tampered"]),
        "signed": row["digsig_result"],
        "digsig_result": row["digsig_result"],
        "os_type": OS_TYPES.get(row["os_type"], row["os_type"]),
        "host_count": row["host_count"],
        "endpoint": row["endpoint"],
        "group": row["group"],
        "watchlists": [],
    }
    body |= {name: row[name].upper() for name in ("sha256", "sha1") if row[name]}
    body |= {name: row[name] for name in _KNOWN_TEXTS if row[name]}
    if row["digsig_sign_time"]:
        body["digsig_sign_time"] = instant(row["digsig_sign_time"])
    return body


def summary_body(row: Row) -> Body:
    """The binary object of a summary."""
    body = binary_body(row)
    return body | {f"{name}_facet": body[name] for name in _FACETED if name in body}


def binary_highlights(tree: Tree, rows: Sequence[Row]) -> list[Body]:
    """The highlights of a page of binaries (query-language 6); [] without rows."""
    found = markers(tree, BINARY, document=_WHOLE_ROWS) if rows else []
    if not found:
        return []
    by_column = patterns_by_column(found)
    highlights = Highlights(by_column)
    for row in rows:
        identity = row["md5"].upper() or NO_MD5
        for column in by_column:
            for value in row[column] if column in BINARY_LISTS else [row[column]]:
                highlights.add(column, value, identity)
    return highlights.entries()
