"""Search fields: the name in a query, the type that decides how values are read, and the columns
that are searched. The catalogues are `fields.py` (processes), `binary_fields.py` (binaries),
`alert_fields.py` (alerts), `hit_fields.py` (rule hits), `report_fields.py` (threat reports) and
`log_fields.py` (event records)."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from vedette.model.findings.tag import TagSource, tag_source

FieldType = Literal[
    "keyword",  # whole value
    "name",  # file name of a process; a value with a separator searches the full path
    "path",  # suffixes at separators
    "registry",  # a path; numbered control sets equal the current one
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
    "address",  # IPv4 or IPv6
    "integer",
    "count",  # an integer; 0 means none
    "time",
    "bool",
    "cross_type",  # names of kinds of cross-process events
    "host_type",  # "" is read as workstation
    "block_status",  # names of results of a ban
    "sign",  # one of SIGN_RESULTS
    "endpoint",  # HOST|sensor id, or HOST
    "decimal",  # a number with up to three decimals, stored in thousandths
    "alert_id",  # an id in hexadecimal digits, stored in lower case
]

FieldKind = Literal["column", "join", "tag"]
"""Source of a field. `column` reads the document itself. `join` reads the binary with one of the
document's hashes. `tag` reads the detection tags of the document (watchlist_*, alliance_*)."""

DATA: Final = "data"
"""Column of all values of a record's data."""

DATA_PREFIX: Final = "data."
"""Beginning of the fields of single members of a record's data (`log_fields.py`)."""

QUOTE_ENDS: frozenset[FieldType] = frozenset({"path", "registry", "name"})
"""Types for which `"` always ends a phrase (docs/query-language.md#quotes-and-backslashes)."""

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
"""Results of a signature check (docs/query-ranges.md#truth-values-kinds-ids)."""


@dataclass(frozen=True, slots=True)
class Join:
    """The binaries that a joined field reads, and the field of binaries."""

    source: str
    """Key of `fields.JOINS`, which defines the hash columns of the segment."""
    field: str
    """Name of a field of binaries."""


@dataclass(frozen=True, slots=True)
class Field:
    """A searchable field. A term without a field name searches the `default` fields."""

    name: str
    type: FieldType
    sources: tuple[str, ...] = ()
    default: bool = False
    aliases: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    """For type `name`: columns with full paths. If `sources` is empty, names are the last parts of
    these paths."""
    kind: FieldKind = "column"
    join: Join | None = None
    """Set for every `join`, and for a `column` that a joined binary can answer too."""
    texts: tuple[str, ...] = ()
    """For type `integer`: columns that are searched for a value that is not a number."""
    tag: TagSource | None = None
    """Set for every `tag`. `sources` then has only the column of the tag."""


_TAG_TYPES: Final[Mapping[str, FieldType]] = MappingProxyType(
    {"time": "time", "score": "count", "report": "keyword", "link": "keyword"}
)
"""Field types of `tag.TAG_COLUMNS`."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The fields of one kind of search."""

    fields: tuple[Field, ...]
    by_name: Mapping[str, Field]
    defaults: tuple[Field, ...]
    has_tags: bool = True
    """Whether these documents have detection tags (watchlist_*, alliance_*)."""
    always: frozenset[str] = frozenset()
    """Columns that are set in every document."""
    has_data: bool = False
    """Whether `data.NAME` is a field for any NAME; names of fields may then contain dots."""

    def find(self, name: str) -> Field | None:
        """Returns the field with this name or alias in any letter case, including tag fields. None
        if unknown."""
        lowered = name.lower()
        known = self.by_name.get(lowered)
        if known is None and self.has_data and is_member(lowered):
            return Field(lowered, "text", (lowered,))
        return known or (_tag(lowered) if self.has_tags else None)


def is_member(source: str) -> bool:
    """Whether a field or its source is `data.NAME`: one member of a record's data."""
    return source.startswith(DATA_PREFIX) and len(source) > len(DATA_PREFIX)


def _tag(name: str) -> Field | None:
    found = tag_source(name)
    if found is None:
        return None
    return Field(name, _TAG_TYPES[found.column], (found.column,), kind="tag", tag=found)


def catalogue(
    fields: tuple[Field, ...],
    *,
    has_tags: bool = True,
    has_data: bool = False,
    always: tuple[str, ...] = (),
) -> Catalogue:
    """Builds a catalogue from fields."""
    by_name = {name: field for field in fields for name in (field.name, *field.aliases)}
    defaults = tuple(field for field in fields if field.default)
    return Catalogue(
        fields, MappingProxyType(by_name), defaults, has_tags, frozenset(always), has_data
    )
