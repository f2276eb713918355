"""What a search field is: a name that a query may use, how its values are read, and the columns
that answer. The catalogues are `fields.py` (processes), `binary_fields.py` (binaries),
`alert_fields.py` (alerts) and `report_fields.py` (threat reports)."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from vedette.model.findings.tag import TagSource, tag_source

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
    "decimal",  # a number with up to three decimals, stored in thousandths
    "alert_id",  # an id in hexadecimal digits, stored in lower case
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
    tag: TagSource | None = None
    """Set for every `tag`; its column is then the only source."""


_TAG_TYPES: Final[Mapping[str, FieldType]] = MappingProxyType(
    {"time": "time", "score": "count", "report": "keyword", "link": "keyword"}
)
"""Types of `tag.TAG_COLUMNS`."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The fields of one search."""

    fields: tuple[Field, ...]
    by_name: Mapping[str, Field]
    defaults: tuple[Field, ...]
    has_tags: bool = True
    """Whether detection tags these documents: watchlist_*, alliance_*."""

    def find(self, name: str) -> Field | None:
        """The field of a name in any case, with its pattern fields; None when unknown."""
        lowered = name.lower()
        known = self.by_name.get(lowered)
        return known or (_tag(lowered) if self.has_tags else None)


def _tag(name: str) -> Field | None:
    found = tag_source(name)
    if found is None:
        return None
    return Field(name, _TAG_TYPES[found.column], (found.column,), kind="tag", tag=found)


def catalogue(fields: tuple[Field, ...], *, has_tags: bool = True) -> Catalogue:
    """The catalogue of some fields."""
    by_name = {name: field for field in fields for name in (field.name, *field.aliases)}
    defaults = tuple(field for field in fields if field.default)
    return Catalogue(fields, MappingProxyType(by_name), defaults, has_tags)
