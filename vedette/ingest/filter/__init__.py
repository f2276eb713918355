"""Ingress filters (docs/ingress-filters.md): compiled, and applied to the outcomes of records.

Pure, like all of `ingest`. `compile_filters` builds the filters, `FilterEvaluator` selects the
processes of a batch that they match, `apply_filters` removes outcomes of those processes.
"""

from vedette.ingest.filter.apply import apply_filters
from vedette.ingest.filter.compile import NO_FILTERS, CompiledFilters, compile_filters
from vedette.ingest.filter.evaluate import Evaluation, FilterEvaluator, Subject
from vedette.ingest.filter.event_trial import EventTrial, SampleEvent, try_event
from vedette.ingest.filter.pattern import PatternError, check_patterns

__all__ = [
    "NO_FILTERS",
    "CompiledFilters",
    "Evaluation",
    "EventTrial",
    "FilterEvaluator",
    "PatternError",
    "SampleEvent",
    "Subject",
    "apply_filters",
    "check_patterns",
    "compile_filters",
    "try_event",
]
