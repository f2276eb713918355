"""The query language: parser, type checker, and evaluation of queries (docs/query-language.md).

    parse/             text         -> Tree        syntax: brackets, operators, leaves
    check/             Tree         -> Checked     meaning: tests of columns; all decisions
    compile/           Checked      -> Condition   SQL with bound values
      segments_sql                                 a search of segments
      processes_sql                                a comprehensive search: whole processes
      binaries_sql                                 a search of binaries
      narrowing_sql                                index prefilters, for the plan of a search
    match.py           Checked      -> predicate   evaluation on a document in memory
    highlight.py       Tree         -> patterns    text to mark in results
    mark.py            patterns     -> spans       positions of marks in a value, bounded
    parse/render.py    Tree         -> text        canonical spelling; terms of a response
    parse/query_params parameters   -> Tree        q, svc.q.FIELD, svc.fq

Pure: no I/O, no clock, no settings. The compiler, the matcher and the printer never decide what a
query means.
"""

from vedette.query.check.checker import check
from vedette.query.compile.binaries_sql import compile_binaries
from vedette.query.compile.condition import SETTINGS, BinaryCondition, Condition
from vedette.query.compile.segments_sql import compile_segments
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
