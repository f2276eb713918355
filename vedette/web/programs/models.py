"""Formats binary objects (docs/api-objects.md#binary, docs/clients.md#requests).

Members that clients read are always present; version and signature texts only if known.
"""

from collections.abc import Mapping
from typing import Final

import orjson

from vedette.model.findings.tag import TAGS
from vedette.search.binaries.binary_search import copy_name, identity
from vedette.search.document_search import Row
from vedette.store.read.binaries import Frequency
from vedette.web.json.wire_values import instant, known_instant
from vedette.web.processes.models import Body
from vedette.web.processes.tags_json import alliance_members, watchlist_members

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
    "image_format",
    "build_id",
    "interpreter",
)
"""Columns that appear under their own names if known."""

_KNOWN_TIMES: Final = ("digsig_sign_time", "digsig_countersign_time")

_FACETED: Final = (
    "product_name",
    "file_version",
    "company_name",
    "digsig_publisher",
    "observed_filename",
)
"""Members that a summary repeats under the name of their facet."""


Copied = Mapping[str, int]
"""Bytes available to the caller for download, by name of the copy."""


def binary_body(row: Row, copied: Copied) -> Body:
    """Returns the binary object of search results."""
    added = known_instant(row["added"])
    body: Body = {
        "md5": identity(row),
        "server_added_timestamp": added,
        "timestamp": added,
        "last_seen": known_instant(row["last_seen"]),
        "orig_mod_len": row["orig_mod_len"],
        "copied_mod_len": copied.get(copy_name(row), 0),
        "observed_filename": row["observed_filename"],
        "is_executable_image": bool(row["is_executable_image"]),
        "is_64bit": bool(row["is_64bit"]) if row["is_64bit"] or row["is_read"] else None,
        "tampered": bool(row["tampered"]),
        "signed": row["digsig_result"],
        "digsig_result": row["digsig_result"],
        "os_type": OS_TYPES.get(row["os_type"], row["os_type"]),
        "host_count": row["host_count"],
        "endpoint": row["endpoint"],
        "group": row["group"],
        "watchlists": watchlist_members(row.get(TAGS, ())),
    } | alliance_members(row.get(TAGS, ()))
    body |= {name: row[name].upper() for name in ("sha256", "sha1") if row[name]}
    body |= {name: row[name] for name in _KNOWN_TEXTS if row[name]}
    body |= {name: instant(row[name]) for name in _KNOWN_TIMES if row[name]}
    return body


def binary_summary_body(row: Row, copied: Copied) -> Body:
    """Returns the binary object of a summary."""
    body = binary_body(row, copied)
    if row["section_entropy"]:
        pairs = orjson.loads(row["section_entropy"])
        body["section_entropy"] = [{"name": name, "entropy": bits} for name, bits in pairs]
    if row["is_read"]:
        body["read_problems"] = row["read_problems"].splitlines()
    return body | {f"{name}_facet": body[name] for name in _FACETED if name in body}


def frequency_body(found: Frequency) -> Body:
    """Returns the prevalence of a program (docs/clients.md#requests)."""
    return {
        "hostCount": found.hosts,
        "globalCount": found.executions,
        "numDocs": found.segments,
    }
