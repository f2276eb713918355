"""Reads a query from the parameters of a URL or of a stored query string
(docs/query-language.md#query-parameters). Parameters are already decoded. Other keys are
ignored.

    q=<query>            the query
    svc.q.<field>=<v>    AND <field>:<v>; the value may be a bracketed expression
    svc.fq=<query>       AND the query
    svc.fq.<field>=<v>   AND the field equals the value, as a facet shows it

`cb.` is accepted wherever `svc.` is.
"""

from collections.abc import Iterable
from urllib.parse import parse_qsl, unquote

from vedette.errors import QueryError
from vedette.model.field import Catalogue
from vedette.model.fields import PROCESS
from vedette.query.nodes import Exact, Leaf, Tree, all_of
from vedette.query.parse.field_names import unknown_field
from vedette.query.parse.parser import parse

_PREFIXES = ("svc.", "cb.")
_UNTOKENISED = ("_full", "_facet")
"""Suffixes of facet names that stand for whole values of a field."""


def is_part_of_query(key: str) -> bool:
    """Whether a parameter belongs to the query."""
    short = _short(key)
    return short in ("q", "fq") or short.startswith(("q.", "fq."))


def carried_query(pairs: Iterable[tuple[str, str]], catalogue: Catalogue = PROCESS) -> Tree:
    """Returns the AND of all query parameters; Everything if there are none.

    Raises QueryError. Its offsets count within the parameter, which the message names.
    """
    return all_of([_part(key, value, catalogue) for key, value in pairs if is_part_of_query(key)])


def parse_stored(text: str, catalogue: Catalogue = PROCESS) -> Tree:
    """Returns the tree of a stored query: a URL query string, or, if that has none of the keys, a
    bare query, percent-encoded or not. Raises QueryError."""
    pairs = parse_qsl(text, keep_blank_values=True)
    if any(is_part_of_query(key) for key, _ in pairs):
        return carried_query(pairs, catalogue)
    return parse(unquote(text), catalogue)


def exact_leaf(field: str, text: str, catalogue: Catalogue = PROCESS) -> Leaf:
    """Returns a leaf that compares a field with a whole value. Raises QueryError for an unknown
    field."""
    name = field.lower()
    for ending in ("", *_UNTOKENISED):
        known = name.removesuffix(ending)
        if catalogue.find(known) is not None:
            return Leaf(known, Exact(text), 0, len(text))
    raise unknown_field(field, catalogue, 0, len(text))


def _short(key: str) -> str:
    for prefix in _PREFIXES:
        if key.startswith(prefix):
            return key[len(prefix) :]
    return key if key == "q" else ""


def _part(key: str, value: str, catalogue: Catalogue) -> Tree:
    kind, _, field = _short(key).partition(".")
    try:
        if not field:
            return parse(value, catalogue)
        if kind == "fq":
            return exact_leaf(field, value, catalogue)
        return parse(f"{field}:{value}", catalogue)
    except QueryError as problem:
        if not field:
            raise
        message = f"{key}: {problem.message}"
        offset = len(field) + 1 if kind == "q" else 0
        start, end = max(0, problem.start - offset), max(0, problem.end - offset)
        raise QueryError(message, start, end) from None
