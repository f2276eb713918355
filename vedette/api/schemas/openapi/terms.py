"""Building blocks of JSON schemas (draft 2020-12, the dialect of OpenAPI 3.1)."""

from collections.abc import Collection, Mapping
from typing import Any, Final

Schema = dict[str, Any]
Schemas = Mapping[str, Schema]

TEXT: Final[Schema] = {"type": "string"}
FLAG: Final[Schema] = {"type": "boolean"}
INTEGER: Final[Schema] = {"type": "integer"}
NUMBER: Final[Schema] = {"type": "number"}
SECONDS: Final[Schema] = {"type": "number", "minimum": 0, "description": "Seconds"}
TIME: Final[Schema] = {"type": "string", "format": "date-time"}
DIGITS: Final[Schema] = {"type": "string", "pattern": "^-?[0-9]+$"}
"""A number as text."""
OBJECT: Final[Schema] = {"type": "object", "additionalProperties": True}


def record(members: Schemas, optional: Collection[str] = ()) -> Schema:
    """An object whose members are always there, but for the optional ones."""
    schema: Schema = {"type": "object", "properties": dict(members)}
    required = [name for name in members if name not in optional]
    return schema | {"required": required} if required else schema


def listing(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def mapping(values: Schema) -> Schema:
    """An object whose member names are data."""
    return {"type": "object", "additionalProperties": values}


def nullable(schema: Schema) -> Schema:
    """The schema, or null."""
    if isinstance(schema.get("type"), str):
        return schema | {"type": [schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def reference(name: str) -> Schema:
    """The schema of a component."""
    return {"$ref": f"#/components/schemas/{name}"}


def alike(names: Collection[str], schema: Schema) -> dict[str, Schema]:
    """Members of the same type."""
    return dict.fromkeys(names, schema)


def by_default(values: Mapping[str, Any]) -> dict[str, Schema]:
    """Members whose types are those of their default values; only scalars."""
    return {
        name: _SCALARS[type(value)] for name, value in values.items() if type(value) in _SCALARS
    }


_SCALARS: Final[Mapping[type, Schema]] = {bool: FLAG, int: INTEGER, str: TEXT}
