"""Defines managed objects, each once in `objects`; the other modules derive the rest.

A definition is a frozen dataclass whose fields have a type, limits and a `Member`. `bodies` reads
JSON into objects, `answers` serializes objects as JSON, and `columns` stores them. Pydantic
validates bodies and generates the schemas ([ADR
22](../../docs/adr/0022-one-definition-for-each-managed-object.md)).
"""
