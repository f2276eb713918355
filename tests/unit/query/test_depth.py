"""The deepest query that parses can be read by every reader of trees."""

from vedette.limits import QUERY_DEPTH_MAX
from vedette.query import check, compile_segments, match_segment, parse, print_query, terms


def test_the_deepest_query_goes_through_every_stage() -> None:
    deep = QUERY_DEPTH_MAX - 1
    opening = "".join(f"domain:d{n} {'OR -' if n % 2 else 'AND '}(" for n in range(deep))
    tree = parse(f"{opening}a{')' * deep}")
    checked = check(tree, now_us=0)
    assert compile_segments(checked).sql.count("(") > deep
    assert match_segment(checked, {}) in (True, False)
    assert parse(print_query(tree)) == tree
    assert len(terms(tree)) == deep + 1
