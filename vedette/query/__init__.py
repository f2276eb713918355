"""The query language: one text, one tree, many readers (query-language).

    parse      text          -> Tree       what it says             lex.py, parse.py
    check      Tree          -> Checked    what it means            check*.py, glob.py
    compile    Checked       -> Condition  SQL with bound values    compile_sql.py
    compile    Checked       -> Condition  asked of whole processes compile_process.py
    match      Checked       -> predicate  over one segment         match.py
    print      Tree          -> text       canonical; terms         spell.py
    highlight  Tree          -> patterns   what to mark in results  highlight.py
    carriage   parameters    -> Tree       q, svc.q.f, svc.fq       carriage.py

Decisions are made in `check` alone; compile, match and print write down.
"""

from vedette.query.carriage import carried_query, exact_leaf, parse_stored
from vedette.query.check import check
from vedette.query.compile_sql import compile_binaries, compile_segments
from vedette.query.condition import SETTINGS, BinaryCondition, Condition
from vedette.query.match import Prepared, compile_match, match_segment
from vedette.query.nodes import Tree
from vedette.query.parse import parse
from vedette.query.spell import print_query, terms
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
