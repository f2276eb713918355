"""Compiles a typed tree to a condition on documents that are single rows: threat reports."""

from dataclasses import dataclass
from typing import Any

from vedette.query.compile.binder import Binder
from vedette.query.compile.document import Document
from vedette.query.compile.segments_sql import SegmentCompiler
from vedette.query.typed import Checked


@dataclass(frozen=True, slots=True)
class RowCondition:
    """A boolean expression over the columns of a row, with its bound values."""

    sql: str
    params: dict[str, Any]


def compile_rows(tree: Checked, document: Document, *, prefix: str = "q") -> RowCondition:
    """Returns the condition for rows that match."""
    compiler = SegmentCompiler(document, Binder(prefix))
    sql = compiler.node(tree)
    return RowCondition(sql, compiler.bind.params)
