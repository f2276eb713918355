"""Console: amounts of data that pages show."""

from typing import Final

ALERT_OUTCOME_DAYS: Final = 30
"""Days of alerts from which lists of rules, watchlists and feeds compute the share of false
positives."""

PAGE_ROWS: Final = 100
"""Rows on a page of a list. A browser takes 60 ms to lay out 100 rows, 260 ms for 500."""

HOME_ROWS: Final = 8
"""Rows of a tile on the home page. Its link leads to all rows."""

FACET_VALUES_SHOWN: Final = 10
"""Values of a facet that a page shows. The rest is only counted."""

HISTOGRAM_BUCKETS: Final = 96
"""Default intervals of a histogram: a quarter of an hour for a day. A bar is at least 8 pixels
wide."""

HISTOGRAM_BUCKETS_MAX: Final = 400
"""Maximum intervals of a histogram."""

HISTOGRAM_STACKS: Final = 5
"""Values of a facet that a histogram shows separately. More colors are hard to distinguish."""
