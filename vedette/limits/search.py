"""Search: pages of results, timelines, streams."""

ROWS_DEFAULT = 10
"""Rows on a page of search results by default."""

ROWS_MAX = 10_000
"""Maximum rows on a page of search results."""

FEW_ROWS_MAX = 200_000
"""Maximum segments whose rows a search reads with a single query. Beyond it, the search first
counts them."""

TIMELINE_INTERVAL_S_MAX = 24 * 3600
"""Longest interval of a timeline."""

STREAM_ROWS_DEFAULT = 10
"""Events in a read of a stream if `rows` is not given."""

EXPLAIN_TERMS_MAX = 64
"""Terms counted one by one in the explanation of a query; each count is a search."""
