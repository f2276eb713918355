"""Checks values of domain names (docs/query-values.md#domain)."""

from itertools import chain

from vedette.model.field import Field
from vedette.model.tokens import fold
from vedette.query.check.glob import index_words, is_any, is_wild, pattern, present, suffix
from vedette.query.parse.escape import unescape
from vedette.query.typed import NEVER, Form, Tests, TextTest


def domain(field: Field, source: str) -> Tests:
    """Returns tests for the labels of a domain name."""
    value = fold(unescape(source))
    core = value.strip(".")
    if not core:  # dots alone are not a label
        return NEVER
    if is_wild(core):
        return _wild_domain(field.sources, value, core)
    found = (_domain_tests(column, value, core) for column in field.sources)
    return tuple(chain.from_iterable(found))


def _wild_domain(columns: tuple[str, ...], value: str, core: str) -> Tests:
    """Returns pattern tests. Dots at the ends of the value anchor the pattern at labels."""
    begins, ends = value.startswith("."), value.endswith(".")
    if not ends:  # `.x` and `x` match a suffix of labels
        if is_any(core):
            return present(columns)
        return tuple(suffix(column, "domain", core, ".") for column in columns)
    form: Form = "labels" if begins else "domain"
    after = r"\." if begins else r"(?:\.|$)"
    body = ".+" if is_any(core) else pattern(core)
    needle = rf"(?s){'' if begins else '^'}\.{body}{after}"
    return tuple(
        TextTest(column, form, "matches", needle, index_words(column, f".{core}."))
        for column in columns
    )


def _domain_tests(column: str, value: str, core: str) -> Tests:
    tokens = index_words(column, f" {core} ")
    at_end = TextTest(column, "domain", "ends", "." + core, tokens)
    match value.startswith("."), value.endswith("."):
        case True, True:
            return (TextTest(column, "labels", "contains", f".{core}.", tokens),)
        case True, False:
            return (at_end,)
        case False, True:
            return (
                TextTest(column, "domain", "starts", f".{core}.", tokens),
                TextTest(column, "domain", "equals", "." + core, tokens),
            )
    if "." in core:
        return (at_end,)
    return (at_end, TextTest(column, "domain", "contains", f".{core}.", tokens))
