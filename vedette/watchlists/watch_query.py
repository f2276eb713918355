"""Stored queries of watchlists as checked trees."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, assert_never

from vedette.errors import BadRequestError, QueryError
from vedette.model.binary_fields import BINARY
from vedette.model.field import Catalogue
from vedette.model.fields import NOT_IN_SEGMENT, PROCESS
from vedette.query import Checked, Tree, check, parse_stored
from vedette.query.check.coverage import matches_all
from vedette.query.compile.predicate_sql import asked_columns
from vedette.query.nodes import And, Everything, Not, Or
from vedette.query.typed import JoinTest, Match, TagTest, Test, source_of

EVENTS: Final = "events"
"""`index_type` of watchlists over process segments."""
MODULES: Final = "modules"
"""`index_type` of watchlists over binaries."""

CATALOGUES: Final[dict[str, Catalogue]] = {EVENTS: PROCESS, MODULES: BINARY}
_DAY_US: Final = 24 * 3600 * 1_000_000


@dataclass(frozen=True, slots=True)
class WatchQuery:
    """The parsed and checked query of a watchlist."""

    tree: Tree
    checked: Checked
    is_relative: bool
    """Whether it depends on the time and must be checked again."""


def stored_query(search_query: str, index_type: str, now_us: int) -> WatchQuery:
    """Parses and checks the query of a watchlist.

    Raises QueryError with the position; BadRequestError for an unknown index_type, and for a query
    that matches everything.
    """
    catalogue = CATALOGUES.get(index_type)
    if catalogue is None:
        raise BadRequestError(f"index_type: must be events or modules, not {index_type[:40]!r}")
    tree = parse_stored(search_query, catalogue)
    checked = check(tree, catalogue, now_us=now_us)
    if matches_all(checked, catalogue.always):
        raise QueryError("search_query: matches everything", 0, len(search_query))
    if any(source_of(test) in NOT_IN_SEGMENT for test in tests_of(checked)):
        raise QueryError(
            "search_query: a watchlist cannot test prevalence_pair, prevalence_cmdline, rule or "
            "rule_name: use process search",
            0,
            len(search_query),
        )
    later = check(tree, catalogue, now_us=now_us + _DAY_US)
    return WatchQuery(tree, checked, is_relative=checked != later)


def tests_of(node: Checked) -> Iterator[Test]:
    """Yields all tests of a tree."""
    match node:
        case Match(tests):
            yield from tests
        case Not(child):
            yield from tests_of(child)
        case And(children) | Or(children):
            for child in children:
                yield from tests_of(child)
        case Everything():
            return
        case _:
            assert_never(node)


def columns_of(node: Checked) -> frozenset[str]:
    """Returns the columns that a query reads."""
    return frozenset(column for test in tests_of(node) for column in asked_columns(source_of(test)))


def joins_of(node: Checked) -> frozenset[str]:
    """Returns the keys of `fields.JOINS` that a query uses."""
    return frozenset(test.source for test in tests_of(node) if isinstance(test, JoinTest))


def asks_tags(node: Checked) -> bool:
    return any(isinstance(test, TagTest) for test in tests_of(node))


def asks_feeds(node: Checked) -> bool:
    """Whether a tag that a feed adds later can turn a document into a hit."""
    return any(isinstance(test, TagTest) and test.family == "alliance" for test in tests_of(node))
