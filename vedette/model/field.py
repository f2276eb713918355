"""What a search field is: a name that a query may use, how its values are read, and the columns
that answer. The catalogues are `fields.py` (processes) and `binary_fields.py` (binaries)."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

FieldType = Literal[
    "keyword",  # whole value
    "name",  # file name of a process; a value with a separator asks the full path
    "path",  # suffixes at separators
    "registry",  # a path with control sets made equal
    "cmdline",  # pieces in order
    "text",  # words in order
    "domain",  # labels
    "hostname",  # whole name, or its first label
    "account",  # DOMAIN\user or user
    "md5",
    "sha1",
    "sha256",
    "process_id",  # 36 characters, or the unique id with its segment
    "ipv4",
    "ipv6",
    "address",  # either family
    "integer",
    "count",  # an integer of which 0 means: none
    "time",
    "bool",
    "cross_type",  # names of kinds of cross-process events
    "host_type",  # "" reads workstation
    "block_status",  # names of results of a ban
    "sign",  # one of SIGN_RESULTS
    "endpoint",  # HOST|sensor id, or HOST
]

FieldKind = Literal["column", "join", "tag"]
"""`column` is answered by the document; `join` by the binary of one of its hashes (5); `tag` by
what detection said of the document (watchlist_*, alliance_*)."""

QUOTE_ENDS: frozenset[FieldType] = frozenset({"path", "registry", "name"})
"""Types in whose phrases `"` always ends the phrase
(docs/query-language.md#quotes-and-backslashes)."""

SIGN_RESULTS: tuple[str, ...] = (
    "Signed",
    "Unsigned",
    "Bad Signature",
    "Invalid Signature",
    "Expired",
    "Invalid Chain",
    "Untrusted Root",
    "Explicit Distrust",
)
"""What a signature is worth (docs/query-language.md#truth-values-kinds-ids)."""


@dataclass(frozen=True, slots=True)
class Join:
    """The binaries that a joined field asks, and what it asks of them."""

    source: str
    """Of `fields.JOINS`: which hashes of a segment are looked up."""
    field: str
    """Name of a field of binaries."""


@dataclass(frozen=True, slots=True)
class Field:
    """A searchable name. `default` fields are asked by a term without a field."""

    name: str
    type: FieldType
    sources: tuple[str, ...] = ()
    default: bool = False
    aliases: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    """Of a `name`: the columns of full paths. Without sources, names are their last parts."""
    kind: FieldKind = "column"
    join: Join | None = None
    """Set for every `join`, and for a `column` that a joined binary may answer as well."""


_TAGS: tuple[tuple[str, FieldType], ...] = (
    ("alliance_score_", "count"),
    ("alliance_data_", "keyword"),
    ("alliance_link_", "keyword"),
    ("alliance_updated_", "time"),
)
"""Families of fields, one for every feed."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The fields of one search."""

    fields: tuple[Field, ...]
    by_name: Mapping[str, Field]
    defaults: tuple[Field, ...]

    def find(self, name: str) -> Field | None:
        """The field of a name in any case, with its pattern fields; None when unknown."""
        lowered = name.lower()
        return self.by_name.get(lowered) or _tag(lowered)


def _tag(name: str) -> Field | None:
    prefix, _, number = name.partition("_")
    if prefix == "watchlist" and number.isdecimal():
        return Field(name, "time", kind="tag")
    for family, kind in _TAGS:
        if name.startswith(family) and len(name) > len(family):
            return Field(name, kind, kind="tag")
    return None


def catalogue(fields: tuple[Field, ...]) -> Catalogue:
    """The catalogue of some fields."""
    by_name = {name: field for field in fields for name in (field.name, *field.aliases)}
    defaults = tuple(field for field in fields if field.default)
    return Catalogue(fields, MappingProxyType(by_name), defaults)
