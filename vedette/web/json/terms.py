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
"""A number as a string."""
OBJECT: Final[Schema] = {"type": "object", "additionalProperties": True}


def record(members: Schemas, optional: Collection[str] = ()) -> Schema:
    """Returns the schema of an object; all members are required except those in `optional`."""
    schema: Schema = {"type": "object", "properties": dict(members)}
    required = [name for name in members if name not in optional]
    return schema | {"required": required} if required else schema


def listing(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def mapping(values: Schema) -> Schema:
    """Returns the schema of an object with arbitrary member names."""
    return {"type": "object", "additionalProperties": values}


def nullable(schema: Schema) -> Schema:
    """Returns a schema that also accepts null."""
    if isinstance(schema.get("type"), str):
        return schema | {"type": [schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def reference(name: str) -> Schema:
    """Returns a reference to the schema of a component."""
    return {"$ref": f"#/components/schemas/{name}"}


def alike(names: Collection[str], schema: Schema) -> dict[str, Schema]:
    """Returns members that share a schema."""
    return dict.fromkeys(names, schema)
