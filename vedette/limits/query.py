"""Query language: texts of queries, and the SQL generated from them."""

QUERY_CHARS_MAX = 256 * 1024
"""Maximum characters of a query. The longest known converted rule has 45 kB."""

QUERY_DEPTH_MAX = 64
"""Maximum nesting of brackets in a query. Real queries have at most 8 levels. At 200 the engine
takes seconds to parse the condition."""

QUERY_TOKEN_SETS_MAX = 64
"""Maximum token sets in a prefilter. Beyond it, one token per set is looked up."""
