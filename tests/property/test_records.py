"""Every defined object survives the way from a body over a row to an answer and back."""

from datetime import datetime
from functools import cache
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import MetaData, Table, create_engine, insert, select

from vedette.errors import InvalidBodyError
from vedette.record.answers import answer_model, to_json
from vedette.record.bodies import BodySchema, RecordBody
from vedette.record.columns import columns, from_row, row_of
from vedette.record.kinds import NAME_FORMAT
from vedette.record.member import Access, members, unseen
from vedette.record.objects.object_list import DEFINED, Defined

EACH = pytest.mark.parametrize("defined", DEFINED, ids=lambda one: one.kind.__name__)
TEXTS_MAX = 30
_SOON = datetime(2100, 1, 1)
_SHOWN = st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=TEXTS_MAX)
_SPECIAL: dict[str, st.SearchStrategy[str]] = {
    NAME_FORMAT: _SHOWN,
    "line": st.just("") | _SHOWN,
    "path": st.sampled_from(["/usr/bin/*", "c:\\a b.exe"]),
    "address": st.ip_addresses(v=4).map(str) | st.just("[::1]:53"),
    "origin": st.sampled_from(["", "https://a.example:443"]),
    "uri": st.sampled_from(["https://a.example/feed.json", "file:///feed"]),
}
"""Strategies by `format` of a string."""


@cache
def schema_of(body: RecordBody[Any]) -> dict[str, Any]:
    return body.model.model_json_schema(schema_generator=BodySchema)


def values(schema: dict[str, Any], parts: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values that a schema of a body allows, in the part of JSON Schema that definitions use.
    `parts` are the schemas that it refers to."""
    if "$ref" in schema:
        schema = parts[schema["$ref"].rpartition("/")[2]]
        own = {name: values(part, parts) for name, part in schema["properties"].items()}
        needed = {name: own.pop(name) for name in schema.get("required", ())}
        return st.fixed_dictionaries(needed, optional=own)
    if "anyOf" in schema:
        return st.one_of([values(part, parts) for part in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return st.one_of([_of_type(kind, schema, parts) for kind in kinds])


def _of_type(kind: str, schema: dict[str, Any], parts: dict[str, Any]) -> st.SearchStrategy[Any]:
    low, high = max(1, schema.get("minimum", 0)), schema.get("maximum", 1_000)
    match kind:
        case "null":
            return st.none()
        case "boolean":
            return st.booleans()
        case "number":
            return st.floats(schema["minimum"], schema["maximum"])
        case "integer":
            return st.integers(low, high)
        case "array":
            most = min(3, schema.get("maxItems", 3))
            return st.lists(values(schema["items"], parts), max_size=most)
        case "string" if schema.get("format") == "date-time":
            return st.datetimes(min_value=_SOON).map(lambda one: one.isoformat() + "Z")
        case "string" if "[Tt]" in schema.get("pattern", ""):
            return st.sampled_from(["true", "FALSE"])
        case "string" if "[0-9a-fA-F]" in schema.get("pattern", ""):
            return st.from_regex(r"\A[0-9a-fA-F]{32}\Z")
        case "string" if "A-Za-z0-9-" in schema.get("pattern", ""):
            return st.from_regex(r"\A[A-Za-z0-9-]{1,64}\Z").filter(lambda one: one != "legacy")
        case "string" if "integer" in schema["type"]:
            return st.integers(low, high).map(str)
        case "string" if "pattern" in schema:
            return st.from_regex(schema["pattern"].replace("$", r"\Z"))
        case "string" if schema.get("format") in _SPECIAL:
            return _SPECIAL[schema["format"]]
    least, most = schema.get("minLength", 0), min(TEXTS_MAX, schema.get("maxLength", TEXTS_MAX))
    letters = st.characters(exclude_characters="\x00", exclude_categories=["Cs"])
    return st.text(letters, min_size=least, max_size=most)


def bodies(defined: Defined) -> st.SearchStrategy[dict[str, Any]]:
    """Bodies of new objects that the schema allows, with all members that only they set."""
    schema = schema_of(defined.bodies[0])
    properties = schema["properties"]
    # The server chooses these in a handler where they are missing or null.
    chosen = {
        one.name
        for one in members(defined.kind)
        if one.access is Access.AT_CREATION
        or (one.default == "" and not jsonschema_rs.is_valid(properties.get(one.name, {}), ""))
    }
    given_back = {
        name: st.just({"any": 1})
        for name, part in schema["properties"].items()
        if part.get("readOnly")
    }
    own = {
        name: values(part, schema.get("$defs", {}))
        for name, part in schema["properties"].items()
        if name in {one.name for one in members(defined.kind)} - given_back.keys()
    }
    required = {name: own[name] for name in schema.get("required", ())}
    required |= {name: own[name].filter(lambda one: one is not None) for name in chosen}
    optional = {name: own[name] for name in own if name not in required} | given_back
    return st.fixed_dictionaries(required, optional=optional)


@EACH
@given(data=st.data())
def test_what_a_body_sets_is_stored_and_read_again(defined: Defined, data: st.DataObject) -> None:
    body = data.draw(bodies(defined))
    jsonschema_rs.validate(schema_of(defined.bodies[0]), body)
    made = defined.kind(**defined.bodies[0].read(body).values)
    if not defined.has_columns:
        assert made.__class__(**row_of(made)) == made
        return
    table = Table("one", MetaData(), *(one._copy() for one in columns(defined.kind)))
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        table.create(connection)
        connection.execute(insert(table).values(row_of(made)))
        assert from_row(defined.kind, connection.execute(select(table)).mappings().one()) == made
    engine.dispose()


@EACH
@given(data=st.data())
def test_an_answer_is_a_body_that_changes_nothing(defined: Defined, data: st.DataObject) -> None:
    made = defined.kind(**defined.bodies[0].read(data.draw(bodies(defined))).values)
    answer = to_json(made)
    shown = answer_model(defined.kind).model_json_schema(mode="serialization")
    jsonschema_rs.validate(shown, answer)
    for body in defined.bodies[1:]:
        jsonschema_rs.validate(schema_of(body), answer)
        sent = body.read(answer)
        assert sent.values
        for name, value in (sent.values | sent.identity).items():
            assert getattr(made, name) == value
        body.read({"was": answer}).check_unchanged(answer)


@EACH
def test_all_faults_come_at_once_with_their_paths(defined: Defined) -> None:
    for body in defined.bodies:
        schema = schema_of(body)
        wrong = {
            name: {"not": ["this"]}
            for name, part in schema["properties"].items()
            if not part.get("readOnly") and part.get("type") != "object"
        }
        assert wrong
        with pytest.raises(InvalidBodyError) as caught:
            body.read(wrong | {"no such": 1})
        paths = {path.partition("[")[0] for path, _ in caught.value.faults}
        assert paths >= {*wrong, "no such"}
        assert not jsonschema_rs.is_valid(schema, wrong)


@EACH
def test_hidden_members_are_in_no_schema(defined: Defined) -> None:
    hidden = {one.name for one in members(defined.kind) if one.access is Access.HIDDEN}
    for body in defined.bodies:
        assert not hidden & schema_of(body)["properties"].keys()
    assert not hidden & to_json(_example(defined)).keys()


@EACH
def test_counts_have_a_value_for_readers_who_do_not_see_all_hosts(defined: Defined) -> None:
    assert unseen(defined.kind).keys() <= to_json(_example(defined)).keys()


def _example(defined: Defined) -> Any:
    """An object with every required member."""
    schema = schema_of(defined.bodies[0])
    properties = schema["properties"]
    body = {name: _sample(properties[name]) for name in schema.get("required", ())}
    return defined.kind(**defined.bodies[0].read(body).values)


def _sample(part: dict[str, Any]) -> Any:
    other = "https://a.example" if part.get("format") == "uri" else "0" * 32
    return part.get("enum", [other])[0]
