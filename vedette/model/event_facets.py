"""Facet fields: properties by which the events of one process are counted and filtered
(docs/process-analysis-facets.md#facet-fields).

A facet yields at most one value per event. An event has no value if its kind lacks the field or if
the field is unknown. Filters name the `id` of a value. For numeric ids, `names` holds words, which
filters accept too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal

from vedette.errors import BadRequestError
from vedette.limits import Limit
from vedette.model.address import address_text, pack_address
from vedette.model.columns import EVENT_KINDS, EventKind

CRITERIA_VALUES_MAX: Limit[int] = 1_000
"""Maximum values of all facet fields in the criteria of one stream."""


Reading = Literal["kind", "text", "directory", "number", "ipv4", "ipv6", "hive"]
"""Method that derives the value of a facet from a column. `kind`: name of the event kind.
`directory`: path up to and including the last separator. `hive`: first two components of a registry
key, in lower case. `number`: decimal; 0 means unknown."""

STREAMED: Final[tuple[EventKind, ...]] = tuple(kind for kind in EVENT_KINDS if kind.counted)
"""Kinds that process analysis shows. Events with the same time are sorted in this order."""

EVENT_TYPE: Final = "event_type"


@dataclass(frozen=True, slots=True)
class EventFacet:
    """A facet field. `columns` maps each event kind that has the field to its column."""

    name: str
    reading: Reading
    columns: Mapping[str, str]
    names: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


def _facet(
    name: str, reading: Reading, *columns: str, names: Mapping[int, str] | None = None
) -> EventFacet:
    by_kind = {column.partition("_")[0]: column for column in columns}
    words = {str(number): word for number, word in (names or {}).items()}
    return EventFacet(name, reading, MappingProxyType(by_kind), MappingProxyType(words))


_FILE_ACTIONS: Final = {1: "created", 2: "first_write", 4: "deleted", 8: "last_write"}
_REGISTRY_ACTIONS: Final = {
    1: "created_key",
    2: "first_write",
    4: "deleted_key",
    8: "deleted_value",
}
FILE_TYPES: Final[Mapping[int, str]] = MappingProxyType(
    {
        **{1: "PE", 2: "Elf", 3: "UniversalBin", 8: "EICAR", 16: "OfficeLegacy"},
        **{17: "OfficeOpenXml", 48: "Pdf", 64: "ArchivePkzip", 65: "ArchiveLzh"},
        **{66: "ArchiveLzw", 67: "ArchiveRar", 68: "ArchiveTar", 69: "Archive7zip"},
    }
)
"""File types by number (docs/api-objects.md#process-events)."""

EVENT_FACETS: Final[Mapping[str, EventFacet]] = MappingProxyType(
    {
        facet.name: facet
        for facet in (
            EventFacet(EVENT_TYPE, "kind", MappingProxyType({kind.name: "" for kind in STREAMED})),
            _facet(
                "directory",
                "directory",
                "filemod_path",
                "childproc_path",
                "processblock_path",
                "crossproc_path",
                "modload_path",
            ),
            _facet("filemod_action", "number", "filemod_operation", names=_FILE_ACTIONS),
            _facet("filemod_filetype", "number", "filemod_file_type", names=FILE_TYPES),
            _facet("childproc_filepath", "text", "childproc_path"),
            _facet("childproc_md5", "text", "childproc_md5"),
            _facet("childproc_sha256", "text", "childproc_sha256"),
            _facet("ipv4_address", "ipv4", "netconn_remote_ip"),
            _facet("ipv6_address", "ipv6", "netconn_remote_ip"),
            _facet("domain", "text", "netconn_domain"),
            _facet("ja3_fingerprint", "text", "netconn_ja3"),
            _facet("ja3s_fingerprint", "text", "netconn_ja3s"),
            _facet("regmod_action", "number", "regmod_operation", names=_REGISTRY_ACTIONS),
            _facet("regmod_hive", "hive", "regmod_path"),
        )
    }
)
"""All facet fields by name, in the order of responses."""

Criteria = tuple[tuple[str, tuple[str, ...]], ...]
"""Pairs of (facet field, accepted ids), ordered by field."""


@dataclass(frozen=True, slots=True)
class EventFilter:
    """A filter for events. An event matches if it has one of the ids for every field of `criteria`
    and is not later than `until_us` (epoch microseconds)."""

    criteria: Criteria = ()
    until_us: int | None = None

    @property
    def kinds(self) -> tuple[EventKind, ...]:
        """Event kinds that can match."""
        return tuple(
            kind for kind in STREAMED if all(_may_be(kind.name, *c) for c in self.criteria)
        )

    @property
    def asks_only_for_kinds(self) -> bool:
        """Whether every event of `kinds` matches, so that events need no individual check."""
        return self.until_us is None and all(name == EVENT_TYPE for name, _ in self.criteria)


def criteria_of(asked: Mapping[str, Sequence[str]]) -> Criteria:
    """Returns validated criteria. Ignores fields without values.

    Raises BadRequestError, which names the field, for an unknown field or kind of event.
    """
    if sum(map(len, asked.values())) > CRITERIA_VALUES_MAX:
        raise BadRequestError(f"criteria: more than {CRITERIA_VALUES_MAX} values")
    return tuple(
        (name, tuple(sorted({_id(_known(name), value) for value in asked[name]})))
        for name in sorted(asked)
        if _known(name) and asked[name]
    )


def _known(name: str) -> EventFacet:
    facet = EVENT_FACETS.get(name)
    if facet is None:
        raise BadRequestError(f"criteria: unknown facet {name[:60]!r}")
    return facet


def _id(facet: EventFacet, value: str) -> str:
    match facet.reading:
        case "kind":
            if value not in facet.columns:
                raise BadRequestError(f"criteria: {facet.name}: unknown kind {value[:40]!r}")
            return value
        case "number":
            by_word = {word.lower(): number for number, word in facet.names.items()}
            return by_word.get(value.lower(), value)
        case "ipv4" | "ipv6":
            return address_text(pack_address(value)) or value
        case "hive":
            return value.lower()
    return value


def _may_be(kind: str, name: str, ids: Sequence[str]) -> bool:
    return kind in ids if name == EVENT_TYPE else kind in EVENT_FACETS[name].columns
