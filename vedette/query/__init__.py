"""The query language: one text, one tree, many readers (query-language).

    parse      text          -> Tree       what it says             query/parse/lex.py,
    query/parse/parser.py check      Tree          -> Checked    what it means            check*.py,
    query/check/glob.py compile    Checked       -> Condition  SQL with bound values
    query/compile/segments_sql.py compile    Checked       -> Condition  asked of whole processes
    query/compile/processes_sql.py match      Checked       -> predicate  over one segment
    match.py print      Tree          -> text       canonical; terms         query/parse/render.py
    highlight  Tree          -> patterns   what to mark in results  highlight.py carriage
    parameters    -> Tree       q, svc.q.f, svc.fq       query/parse/query_params.py

Decisions are made in `check` alone; compile, match and print write down.
"""

from vedette.query.check.checker import check
from vedette.query.compile.condition import SETTINGS, BinaryCondition, Condition
from vedette.query.compile.segments_sql import compile_binaries, compile_segments
from vedette.query.match import Prepared, compile_match, match_segment
from vedette.query.nodes import Tree
from vedette.query.parse.parser import parse
from vedette.query.parse.query_params import carried_query, exact_leaf, parse_stored
from vedette.query.parse.render import print_query, terms
from vedette.query.typed import Checked

__all__ = [
    "SETTINGS",
    "BinaryCondition",
    "Checked",
    "Condition",
    "Prepared",
    "Tree",
    "carried_query",
    "check",
    "compile_binaries",
    "compile_match",
    "compile_segments",
    "exact_leaf",
    "match_segment",
    "parse",
    "parse_stored",
    "print_query",
    "terms",
]
