"""Which telemetry is not stored: ingress filters (api.md 2.19), compiled and applied.

Pure, as all of `ingest`: `compile_filters` makes what runs, `Judge` says which processes of a
commit are meant, `sift` leaves out what they did.
"""

from vedette.ingest.filter.compile import NO_FILTERS, CompiledFilters, compile_filters
from vedette.ingest.filter.judge import Judge, Meant, Subject
from vedette.ingest.filter.pattern import PatternError, check_patterns
from vedette.ingest.filter.sift import sift

__all__ = [
    "NO_FILTERS",
    "CompiledFilters",
    "Judge",
    "Meant",
    "PatternError",
    "Subject",
    "check_patterns",
    "compile_filters",
    "sift",
]
