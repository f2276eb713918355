"""Catalogue of the search fields of binaries (docs/query-objects.md#binaries).

A binary document aggregates all sightings of one hash by sensors in the caller's scope
(`query/compile/binary_sql.py`). Its columns are `columns.BINARY` and the columns of sightings.
"""

from vedette.model.field import Field, FieldType, catalogue

BINARY_LISTS: frozenset[str] = frozenset({"observed_filename", "hostname", "group", "endpoint"})
"""Multi-valued columns of a binary, with a value for each sensor or path. A query value matches if
it matches any element."""

_TEXTS = (
    "original_filename",
    "internal_name",
    "product_name",
    "product_version",
    "product_desc",
    "file_desc",
    "file_version",
    "company_name",
    "legal_copyright",
    "legal_trademark",
    "private_build",
    "special_build",
    "digsig_publisher",
    "digsig_issuer",
    "digsig_subject",
    "digsig_prog_name",
)

_JOINED: tuple[Field, ...] = (
    Field("observed_filename", "path", ("observed_filename",), True),
    *(Field(name, "text", (name,), True) for name in _TEXTS),
    Field("digsig_result", "sign", ("digsig_result",), True, aliases=("signed",)),
    Field("digsig_result_code", "keyword", ("digsig_result_code",)),
    Field("digsig_sign_time", "time", ("digsig_sign_time",)),
    Field("is_executable_image", "bool", ("is_executable_image",)),
    Field("is_64bit", "bool", ("is_64bit",)),
    Field("tampered", "bool", ("tampered",)),
    Field("orig_mod_len", "count", ("orig_mod_len",)),
    Field("copied_mod_len", "count"),
    Field("imphash", "keyword", ("imphash",)),
    Field("image_format", "keyword", ("image_format",)),
    Field("build_id", "keyword", ("build_id",)),
    Field("interpreter", "path", ("interpreter",)),
    Field("digsig_countersign_time", "time", ("digsig_countersign_time",)),
    Field("host_count", "integer", ("host_count",), aliases=("prevalence",)),
    Field("first_seen", "time", ("added",)),
    Field("endpoint", "endpoint", ("endpoint", "hostname")),
)

_BINARY_ONLY: tuple[Field, ...] = (
    Field("md5", "md5", ("md5",), True),
    Field("sha256", "sha256", ("sha256",), True),
    Field("sha1", "sha1", ("sha1",)),
    Field("comments", "text", ("comments",), True),
    Field("hostname", "hostname", ("hostname",), True),
    Field("group", "keyword", ("group",), True),
    Field("os_type", "keyword", ("os_type",)),
    Field("server_added_timestamp", "time", ("added",), aliases=("timestamp",)),
    Field("last_seen", "time", ("last_seen",)),
)
"""Fields that process search does not take from binaries: processes have a field of the same name,
or the field is of no use there."""

BINARY = catalogue((*_BINARY_ONLY, *_JOINED), always=("hash", "server_added_timestamp"))
"""Fields of binary search."""

JOINED_FIELDS: tuple[tuple[str, str, FieldType], ...] = tuple(
    (name, field.name, field.type) for field in _JOINED for name in (field.name, *field.aliases)
)
"""Fields of binaries that process search can join: (name or alias, name of the binary field,
type)."""
