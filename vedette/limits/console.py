"""Limits of the console: what pages show, and how long browsers keep its files."""

from typing import Final

SHOWN_HEAD_CHARS: Final = 40
"""Characters of the head of a long value in a list."""

SHOWN_TAIL_CHARS: Final = 60
"""Characters of its tail: the end of a path is its file name."""

SHOWN_VALUE_CHARS_MAX: Final = 4_096
"""Characters of a value that a page shows at once; the rest is behind a button."""

LANGUAGES_ASKED_MAX: Final = 10
"""Languages of a browser's wish that are looked at, in entries: real ones name a handful."""

STATIC_FILE_S: Final = 365 * 24 * 3600
"""Seconds that browsers keep a file; its address changes with its content."""

ALERT_OUTCOME_DAYS: Final = 30
"""Days of alerts of which lists of rules, watchlists and feeds say how many were false."""

ALERT_OUTCOME_S: Final = 3
"""Seconds that such a list counts alerts; then it stands without them."""

CONDITION_LINES_MAX: Final = 500
"""Lines of the condition of a rule on its page; beyond them it says how many tests there are."""

CONSOLE_USAGE_S: Final = 3.0
"""Seconds that the page of a program counts how it is run; then the page stands without it."""

PAGE_ROWS: Final = 100
"""Rows of a page of a list: 100 take a browser 60 ms to lay out, 500 take 260."""

PAGE_ROWS_MAX: Final = 200
"""Most rows of a page that a reader may ask for."""

NEXT_CHARS_MAX: Final = 2_048
"""Characters of the path that a sign-in leads to: the length of an address that tools pass on."""

HOME_BARS_MAX = 60
"""Bars of a chart of the home page: more are narrower than the gaps between them on a phone."""

HOME_ROWS: Final = 8
"""Rows of a tile of the home page; its link leads to all."""

AUDIT_FACET_ENTRIES: Final = 100_000
"""Newest entries of the audit log that its facets count: a tenth of a second in SQLite."""

RULE_FACET_VALUES_MAX: Final = 30
"""Values of one facet of Sigma rules; the public set has about 60 log sources, most of one rule."""

FACET_VALUES_SHOWN: Final = 10
"""Values of a facet that a page shows; the rest is counted."""

HISTOGRAM_BUCKETS: Final = 96
"""Intervals of a histogram: a quarter of an hour of a day; a bar is at least 8 pixels wide."""

HISTOGRAM_BUCKETS_LEAST: Final = 24
"""Intervals that a histogram shows at least: one moment is a bar, not a wall."""

HISTOGRAM_BUCKETS_MAX: Final = 400
"""Most intervals that a histogram has."""

HISTOGRAM_STACKS: Final = 5
"""Values of a facet that a histogram counts apart: more colours look alike."""

ALERTS_PAGE: Final = 100
"""Alerts that one page of the queue has; groups say how many more there are. A page has at most
2,500 elements, which a browser shows within a tenth of a second."""

ALERTS_NESTED_PAGE: Final = 50
"""The same of a page with groups within groups."""

VISIT_GAP_S: Final = 1_800
"""Seconds without the queue after which somebody who opens it comes back to it."""

DIFF_LINES_MAX: Final = 2_000
"""Lines of two texts together that a page compares: texts made for it take a second then."""

ALERT_SECTIONS: Final = 45
"""Groups that one page of the queue has, the gravest."""

ALERT_INNER_SECTIONS: Final = 45
"""Groups within groups that one page of the queue has, the gravest."""

ALERT_SECTIONS_OF_THREE_LEVELS: Final = 28
"""Groups of each level where there are three."""

ANALYSIS_EVENTS: Final = 20_000
"""Events of a process that its analysis reads at once, the first: 10 MB, a few seconds. Of a longer
process the timeline has counts, and the events of a part that is looked at closely."""

LINEAGE_DEPTH: Final = 3
"""Generations up and down that an alert shows of its process; the analysis has all."""

LINEAGE_NODES: Final = 40
"""Processes that an alert shows."""

COSTLY_SHOWN: Final = 10
"""Rules and watchlists that cost most, of which the page of data and health has a list each."""
