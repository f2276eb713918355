"""Search: pages of results, facets, highlights, trees, timelines, streams."""

ROWS_DEFAULT = 10
"""Rows of one page of search results when none are asked for."""

ROWS_MAX = 10_000
"""Rows of one page of search results."""

SEARCHES_RUNNING_MIN = 3
"""Searches that run at once: half of the cores and one more, at least so many."""

SEARCH_READERS = 5
"""Reads of the telemetry engine that searches make at the same time."""

SEARCH_NICE = 15
"""Nice value of the engine's threads that search: where cores are scarce they get what ingest,
sensors and lookups leave, a thirtieth against a busy thread. Needs CAP_SYS_NICE."""

INGEST_BEHIND_SHARE = 4
"""Ingest is behind when more waits than this share of `commit_bytes_max`: 10 MB, a second's work of
one worker. Then half as many searches begin."""

LOOKUPS_RUNNING_MAX = 8
"""Requests about one process or binary that run at the same time, apart from searches."""

LOOKUP_READERS = 4
"""The same for lookups."""

USER_SEARCHES_MAX = 40
"""(setting) Searches, and lookups, of one user that run or wait; above it 429. Tools use 32."""

SEARCH_GRACE_S = 2
"""How long after its deadline a search is answered with 503, if the engine has not ended it."""

IMAGES_MAX = 50
"""Processes with one pid and one parent among which the images of a process are looked for."""

SIBLINGS_MAX = 15
"""Siblings in a process summary (docs/api-objects.md#limits-of-answers)."""

CHILDREN_DEFAULT = 15
"""Children in a process summary when `children` is not given: what the public clients ask for."""

CHILDREN_MAX = 10_000
"""Children that `children` can ask for in a process summary."""

EXPLAIN_TERMS_MAX = 64
"""Terms of a query that are counted one by one when it is explained; each is a search."""

FEW_ROWS_MAX = 200_000
"""Segments that a search gathers the rows of by a single question; of more, it asks first how many
there are."""

HIGHLIGHT_ROWS_MAX = 50
"""Results of a page whose events are looked through for highlights: each costs reading a block of
every kind of event that is marked."""

HIGHLIGHT_VALUES_MAX = 20
"""Different values of one column of a segment that are highlighted."""

HIGHLIGHTS_MAX = 2_000
"""Highlights of one answer."""

HIGHLIGHT_SEARCHED_CHARS_MAX = 100_000_000
"""Characters of values that one answer searches for marks, once for each pattern: about a second.
A page of 10,000 long command lines and a query of 100 words would take minutes."""

PREVIEW_EVENTS_MAX = 30
"""Events of each list of a preview (docs/api-objects.md#process-preview: tens of entries, not
all)."""

TREE_DEPTH_DEFAULT = 8
"""Generations below a process that its tree shows when `depth` is not given."""

TREE_DEPTH_MAX = 64
"""Generations of a tree, up and down; each costs one or two questions to the store. Real chains of
processes are shorter than 20."""

TREE_NODES_DEFAULT = 1_000
"""Descendants of one answer when `max_nodes` is not given."""

TREE_NODES_MAX = 10_000
"""Descendants of one answer; the rest comes with its continuation token, 5 MB at a time."""

TREE_GENERATION_MAX = 100_000
"""Children of one generation that are put in order; a tree with more says it is incomplete."""

TREE_TOKEN_CHARS_MAX = 500
"""Characters of a continuation token; real ones have about 150."""

TIMELINE_BUCKETS_MAX = 10_000
"""Intervals between the first and the last event of a timeline: more than any chart has pixels."""

TIMELINE_BUCKETS_AIM = 300
"""Intervals that are aimed at when no interval is asked for."""

TIMELINE_INTERVAL_S_MAX = 24 * 3600
"""Longest interval of a timeline."""

STREAMS_PER_USER_MAX = 1_000
"""Streams of one user that live at the same time; a row of a few hundred bytes each."""

STREAM_ROWS_DEFAULT = 10
"""Events of one read of a stream when `rows` is not given."""

STREAM_TOMBSTONE_S = 24 * 3600
"""For how long a stream that expired is kept, so that its reader learns why it is gone."""

STREAM_TOUCH_S_MAX = 60
"""How exactly the last use of a stream is known: a read that moves nothing is written down at
most this often, and a stream lives so much longer than `stream_ttl_s`."""

STREAM_RETRIES = 5
"""Times that a change of a stream begins anew because another request changed it meanwhile."""

CRITERIA_VALUES_MAX = 1_000
"""Values of all facet fields together in the criteria of one stream."""

VIEW_COUNTS_MAX = 64
"""Filters whose counts of events by segment are cached, 16 bytes a segment; the least
recently used go first. What is forgotten is counted again."""

PROCESS_CACHE_BYTES_MAX = 16 << 20
"""What is cached of processes until something is written to them, most of all the outlines of
those that are read: 200 kB for 5,000 segments. The least recently used go first."""

SEGMENTS_A_LINE = 500
"""Segments in one line of the ndjson answer: about 150 kB."""

BULK_EVENTS_A_STEP = 250_000
"""Events that a bulk request looks at between two looks at its clock, about 0.3 seconds."""

FACET_VALUES_MAX = 200
"""Values of one facet field in an answer, the most frequent ones
(docs/api-objects.md#limits-of-answers)."""

FACET_VALUES_HELD_MAX = 100_000
"""Different values of one facet field that a bulk request counts; further ones are left out."""

EXPLAIN_CHEAP_SEGMENTS_MAX = 100_000
"""Up to so many segments to read, any query is cheap."""

VIEW_COUNT_WINDOWS_MAX = 1_000
"""Windows named in one store query; with more, all segments of the process are counted."""

TREE_GENERATION_READ_MAX = 1_000
"""Generations up to this size are read with their rows, whether they are shown or not."""

SECOND_TEXTS_CACHED_MAX = 16_384
"""Seconds whose text is cached: events of one answer share most of their seconds."""

COMPLETENESS_SENSORS_MAX = 1_000
"""Sensors of one answer on completeness, and of a certificate: each has numbers of days to read."""

COMPLETENESS_SENSORS = 100
"""Sensors of one answer on completeness when `rows` is not given."""

COMPLETENESS_GAPS_MAX = 10_000
"""Gaps of a channel that are compared with what came at other times; the rest are counted."""

COMPLETENESS_GAPS_SHOWN_MAX = 100
"""Gaps of a channel that are named in an answer; the rest are counted."""

COMPLETENESS_DAYS_MAX = 31
"""The longest time that is asked about at once: a busy host has 3 million numbers in it."""

COMPLETENESS_AROUND_DAYS = 7
"""How long before and after a time numbers are looked for that continue or fill it: a laptop is
away for a week, and what a shipper kept comes late."""

PARTITION_HOT_US_MAX = 366 * 86_400_000_000
"""Longer than a partition is written to. Ids that are not made of a start hold other numbers in its
place, most of them centuries ahead."""
