"""Converts Sigma filters for `detect/rule_filter.py`."""

from typing import Any

from sigma.filters import SigmaFilter

from vedette.detect.rule_filter import RuleFilter
from vedette.detect.sigma.condition import any_of, node_of
from vedette.detect.sigma.errors import UnsupportedError
from vedette.detect.views.sources import sources_of


def filter_of(document: dict[Any, Any], id_: str) -> RuleFilter:
    """Converts a document to a filter. Raises UnsupportedError, SigmaError, ValueError,
    TypeError."""
    parsed = SigmaFilter.from_dict(document)
    source = parsed.logsource
    sources = sources_of(source.product, source.category, source.service)
    if not sources:
        raise UnsupportedError("unsupported_logsource", "no telemetry of the filter's log source")
    named = parsed.filter.rules
    nodes = [node_of(one.parsed) for one in parsed.filter.parsed_condition]
    return RuleFilter(
        id_,
        parsed.title,
        () if isinstance(named, str) else tuple(one.reference for one in named),
        sources,
        any_of(nodes),
    )
