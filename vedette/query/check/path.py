"""Checks paths, registry paths and program names (docs/query-values.md#path)."""

import re
from collections.abc import Iterator
from itertools import chain

from vedette.model.field import Field
from vedette.model.tokens import fold
from vedette.query.check.glob import (
    index_words,
    is_any,
    is_wild,
    literal,
    pattern,
    present,
    suffix,
    whole,
)
from vedette.query.check.hives import hive_paths
from vedette.query.parse.escape import unescape
from vedette.query.typed import NEVER, Form, Test, Tests, TextTest

_ROOTED = re.compile(r"[a-z]:(?:\\|$)")
_RUN = re.compile(r"\\{2,}")
_CONTROL_SET = re.compile(r"\\controlset00[12]")
_CONTROL_SET_WORDS = frozenset({"currentcontrolset", "controlset001", "controlset002"})
_NUMBERED = ("controlset001", "controlset002")
_NO_SEPARATOR = r"[^\\]"


def path(field: Field, source: str) -> Tests:
    """Returns tests of a path field, for both readings of backslashes."""
    return path_in(field.sources, source, is_registry=field.type == "registry")


def path_in(columns: tuple[str, ...], source: str, *, is_registry: bool = False) -> Tests:
    """Applies the path rule to the given columns."""
    readings = dict.fromkeys((unescape(source), source))
    found = (_path_reading(columns, reading, is_registry) for reading in readings)
    return tuple(dict.fromkeys(chain.from_iterable(found)))


def _path_reading(columns: tuple[str, ...], reading: str, is_registry: bool) -> Tests:
    value = _RUN.sub(r"\\", fold(reading).replace("/", "\\"))
    is_rooted = reading.startswith("/") or _ROOTED.match(value) is not None
    if value.startswith(":\\"):
        value = value[1:]
    value = _without_leading_star(value.removeprefix("\\"))
    if not value:  # separators alone name no component
        return NEVER
    if value.endswith("\\"):
        value += "*"
    written = value
    if is_registry:
        value = _CONTROL_SET.sub(r"\\currentcontrolset", "\\" + value)[1:]
    if not value.strip("*"):
        return present(columns)
    found: list[Test] = []
    for column in columns:
        found.extend(_path_tests(column, value, is_registry))
        if is_registry:
            found.extend(chain.from_iterable(_hive_tests(column, value)))
            if _may_lie_in_control_set(value):
                found.append(_without_control_sets(suffix(column, "path", written, "\\")))
        if is_rooted and not is_registry and not is_wild(value):
            needle = f"\\{value}\\"
            found.append(TextTest(column, "path", "starts", needle, index_words(column, needle)))
    return tuple(found)


def _without_leading_star(value: str) -> str:
    r"""Drops stars before the first separator: `*\x` starts at a separator, as every value does,
    also at that of `/x`. Keeps `*\*`, which requires a folder."""
    rest = value.lstrip("*")
    is_at_separator = rest != value and rest.startswith("\\") and rest[1:2] not in ("", "*")
    return rest[1:] if is_at_separator else value


def _may_lie_in_control_set(value: str) -> bool:
    """Whether a registry value that starts or ends inside a component may match part of the name of
    a numbered control set. The form of registry paths does not contain that name."""
    parts = re.split(r"[\\*?]", value)
    return is_wild(value) and any(part and part in name for part in parts for name in _NUMBERED)


def _path_tests(column: str, value: str, is_registry: bool) -> list[TextTest]:
    form: Form = "registry" if is_registry else "path"
    if "\\" not in value and value[0] in ".?":
        found = _extension_tests(column, value, is_registry)
    else:
        found = [suffix(column, form, value, "\\")]
    if is_registry:
        return [_without_control_sets(test) for test in found]
    return found


def _hive_tests(column: str, value: str) -> Iterator[list[TextTest]]:
    for path in hive_paths(value):
        if not path.has_user:
            yield _path_tests(column, path.root + path.rest, is_registry=True)
            continue
        body = pattern(path.rest.rstrip("*"))
        end = "" if path.rest.endswith("*") else "$"
        needle = rf"(?s)^\\{literal(path.root)}\\{_NO_SEPARATOR}+{body}{end}"
        tokens = index_words(column, rf"\{path.root}\*{path.rest} ")
        yield [_without_control_sets(TextTest(column, "registry", "matches", needle, tokens))]


def _extension_tests(column: str, value: str, is_registry: bool) -> list[TextTest]:
    """Returns tests for a last component, or for its extension from any dot after the first
    character."""
    form: Form = "registry" if is_registry else "path"
    if not is_wild(value):
        return [TextTest(column, form, "ends", value, index_words(column, value + " "))]
    # A `?` in first position stands for the dot.
    body = literal(".") + pattern(value[1:], _NO_SEPARATOR + "*", _NO_SEPARATOR)
    needle = f"{_NO_SEPARATOR}{body}$"
    return [
        suffix(column, form, value, "\\"),
        TextTest(column, form, "matches", needle, index_words(column, "." + value[1:] + " ")),
    ]


def _without_control_sets(test: TextTest) -> TextTest:
    """Removes index tokens of control sets. The index contains the stored names, the test compares
    the normalized name."""
    kept = tuple(word for word in test.tokens if word not in _CONTROL_SET_WORDS)
    return TextTest(test.column, test.form, test.shape, test.needle, kept)


def name(field: Field, source: str) -> Tests:
    """Returns tests of a file name. A value that contains a separator searches the full path."""
    value = fold(unescape(source)).replace("/", "\\")
    if value.startswith(":\\"):
        value = value[1:]
    value = value.lstrip("\\")
    if "\\" in value:
        return path_in(field.paths, source)
    if not value:
        return NEVER
    if is_any(value):
        return present(field.sources or field.paths)
    if field.sources:
        return tuple(whole(column, "folded", value) for column in field.sources)
    return tuple(_last_part(column, value) for column in field.paths)


def _last_part(column: str, value: str) -> TextTest:
    tokens = index_words(column, f"\\{value} ")
    if not is_wild(value):
        return TextTest(column, "path", "ends", "\\" + value, tokens)
    body = pattern(value, _NO_SEPARATOR + "*", _NO_SEPARATOR)
    return TextTest(column, "path", "matches", rf"\\{body}$", tokens)
