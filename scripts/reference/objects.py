"""The members of every managed object, from its definition in `vedette/record/objects`."""

from typing import Any

from scripts.reference.markdown import code, paragraph, table
from vedette.record.bodies import BodySchema
from vedette.record.member import Access, MemberOf, members
from vedette.record.objects.object_list import DEFINED, Defined


def body() -> str:
    intro = paragraph(
        "What clients may send and what answers have. Clients may send records back as they read "
        "them: read-only members are accepted and change nothing. Every other name is refused. "
        "`/openapi.json` has the same as schemas."
    )
    return "\n\n".join([intro, *map(_object, DEFINED)])


def _object(one: Defined) -> str:
    schema = one.bodies[0].model.model_json_schema(schema_generator=BodySchema)
    rows = [
        (code(member.name), _access(member, schema), _limits(schema, member.name), _meaning(member))
        for member in members(one.kind)
        if member.access is not Access.HIDDEN
    ]
    about = paragraph(f"{(one.kind.__doc__ or '').strip().splitlines()[0]} See")
    link = f"[{one.page.removesuffix('.md')}](../{one.page})."
    heading = f"## {one.kind.__name__}"
    return "\n\n".join(
        [heading, f"{about} {link}", table(("member", "access", "value", "meaning"), rows)]
    )


def _access(one: MemberOf, schema: dict[str, Any]) -> str:
    is_required = one.name in schema.get("required", ())
    return f"{one.access.value}, required" if is_required else one.access.value


def _limits(schema: dict[str, Any], name: str) -> str:
    """The type of a value that clients may send, with its limits."""
    part = schema["properties"].get(name, {})
    return "" if part.get("readOnly") else _value(part)


def _value(part: dict[str, Any]) -> str:
    if "anyOf" in part:
        return " or ".join(map(_value, part["anyOf"]))
    if "enum" in part:
        return ", ".join(code(str(one)) for one in part["enum"])
    if "items" in part:
        return f"list, up to {part['maxItems']:,}"
    kinds = part.get("type", "any")
    text = kinds if isinstance(kinds, str) else " or ".join(kinds)
    if "maxLength" in part and "integer" not in text:
        text += f", up to {part['maxLength']:,}"
    if "maximum" in part and "string" not in text:
        text += f", {part['minimum']:,} to {part['maximum']:,}"
    return text


def _meaning(one: MemberOf) -> str:
    return one.member.meaning
