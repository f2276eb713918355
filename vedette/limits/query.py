"""Query language: texts of queries, and the SQL that they become."""

QUERY_CHARS_MAX = 256 * 1024
"""Characters of a query; the longest known converted rule has 45 kB."""

QUERY_DEPTH_MAX = 64
"""Nesting of brackets of a query; real ones have at most 8. At 200 the engine takes seconds to
understand the condition, before it reads a row."""

QUERY_LEAVES_MAX = 2_000
"""Values that a query may ask for. The largest known one, a converted rule, has 1,394; the largest
that a person wrote has 76. 20,000 take the engine minutes."""

QUERY_OPERANDS_MAX = 128
"""Operands of one AND or OR that are tested one by one: of an AND all but negated values, of an OR
brackets. The engine's time grows with their square: 1,024 ANDed words of a command line took 29 s
over 20,000 segments, 512 ORed pairs 35 s. Known queries have at most 20 and 13."""

HIGHLIGHT_MARKS_MAX = 500
"""Marks in one value; what follows is not marked. Nobody reads more, and every mark is a search."""

QUERY_ALTERNATIVES_MAX = 100
"""Patterns of one alternation, so that RE2's automaton stays small."""

QUERY_ALTERNATION_CHARS_MAX = 8_000
"""Characters of one alternation beyond which another begins, for the same reason."""

QUERY_LETTERS_CHARS = 50
"""What a class of all letters counts as in an alternation: in UTF-8 it takes 830 instructions."""

QUERY_PLAIN_TESTS_MAX = 3
"""Comparisons of one form that stay single; more become one pattern, which reads each value
once."""

QUERY_FEW_ADDRESSES_MAX = 8
"""Single addresses up to which a bloom filter is used: it is probed for each of them in every
granule."""

QUERY_RARE_HASHES_MAX = 16
"""Hashes of a join up to which the indexes of hash arrays are used as a prefilter."""

QUERY_PREFILTER_SUBSTRINGS_MAX = 16
"""Substrings of one prefilter; more cost as much as the exact test."""

QUERY_PREFILTER_WORD_CHARS_MIN = 3
"""Characters of a word that a prefilter uses; shorter words occur in most values."""

QUERY_GROUPING_LEAVES_MAX = 64
"""Leaves of one grouping: bits of an UInt64."""

QUERY_SUBQUERIES_MAX = 8
"""Event subqueries of one condition; further tests of events read the merged rows."""

QUERY_NARROWINGS_MAX = 6
"""Index prefilters of one condition: each is an index lookup before the search begins."""

QUERY_TOKEN_SETS_MAX = 64
"""Token sets of one prefilter; of more, one token each is looked up."""

QUERY_INDEX_TOKEN_CHARS_MIN = 3
"""Shorter index tokens are in too many rows to be worth an index lookup."""

QUERY_ADDRESS_TOKENS_MAX = 256
"""Tokens of one address range; enough for any network."""

QUERY_SUFFIX_TOKENS_MAX = 1_000
"""Tokens of one column in one condition: rows without an index are compared with each."""

HIGHLIGHT_LEAVES_MAX = 100
"""Leaves of a query that are marked; larger queries are made by programs."""

HIGHLIGHT_PATTERN_CHARS_MAX = 2_000
"""Characters of a pattern; a longer one is left out, since RE2 would need megabytes for it."""

QUERY_SUGGESTIONS_MAX = 3
"""Similar field names that the error for an unknown one suggests: they fit one line."""

QUERY_WILDCARDS_MAX = 100
"""Wildcards in one value; stars side by side are one. In a text each stands for a class of all
letters, which takes thousands of instructions of RE2's 8 MB."""

QUERY_WORDS_MAX = 100
"""Words of one value of a text. What is between two of them is a class of all letters, too: no
engine compiles the pattern of 500 words, and it spends minutes on finding that out of 40,000."""

QUERY_VALUE_CHARS_MAX = 32_768
"""Characters of one text value: a command line of Windows has at most 32,767. In UTF-8 each takes
up to four instructions of RE2."""
