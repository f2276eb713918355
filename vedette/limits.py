"""Every limit of the server, with its unit and its reason. Settings may lower or raise
those marked (setting); the rest are part of the design."""

SEGMENT_WINDOW_MS = 5 * 60 * 1_000
"""Length of the window of server time that one segment covers: a process that reports
every second for a day makes 288 segments, not 86,400."""

SEGMENT_IDS_A_WINDOW = 1_000
"""Segments that a process may have in one window; two windows are at least so many milliseconds
apart, so that an id tells its window."""

SEGMENT_EVENTS_MAX = 10_000
"""Events of one segment; the next segment of the window begins after it. What the
`/event` routes return at most by default (`CoreServicesMaxEventResultsPerProcess`)."""

BODY_BYTES_MAX = 64 * 1024 * 1024
"""(setting) Bytes of a request body as sent; above it 413."""

BODY_INFLATED_BYTES_MAX = 256 * 1024 * 1024
"""(setting) Bytes of a request body after decompression: a gzip bomb ends here, with 413."""

RECORD_BYTES_MAX = 1024 * 1024
"""Bytes of one telemetry record. Sysmon events are about 1.3 kB, script blocks up to 64 kB."""

RECORD_NESTING_MAX = 64
"""Levels of nesting of one JSON record; real ones have at most 6."""

TEXT_CHARS_MAX = 64 * 1024
"""Characters kept of one text value (a command line is at most 32,767 on Windows)."""

QUEUE_BYTES_MAX = 256 * 1024 * 1024
"""(setting) Bytes of accepted and not yet committed bodies; above it 429 with Retry-After."""

COMMIT_BYTES_MAX = 40 * 1024 * 1024
"""Bytes of bodies that share one commit."""

COMMIT_WAIT_MS = 50
"""How long a commit waits for company before it starts."""

RETRY_AFTER_S = 2
"""What 429 and 503 answer in Retry-After."""

QUERY_CHARS_MAX = 256 * 1024
"""Characters of a query; the longest known converted rule has 45 kB."""

QUERY_DEPTH_MAX = 64
"""Nesting of brackets of a query; real ones have at most 8. At 200 the engine takes seconds to
understand the condition, before it reads a row."""

ROWS_MAX = 10_000
"""Rows of one page of search results."""

REQUEST_LINE_BYTES_MAX = 256 * 1024
"""Bytes of the HTTP request line and headers: queries travel in the URL."""

TIME_MIN_US = 0
"""Event times before 1970 are not believed (1601 is the zero FILETIME)."""

TIME_AHEAD_US = 24 * 3600 * 1_000_000
"""Event times more than a day ahead of the server's clock are not believed."""

SEEN_HOURS = 24
"""For how long a re-sent record is recognised, at least."""

HOST_PROCESSES_MAX = 2_048
"""Processes of one host that are remembered to complete later records; the least recently used
go first. What is forgotten costs a repeated fact, never an event."""

HOST_IMAGES_MAX = 2_048
"""Files of one host that are remembered as executed or loaded, so that each is reported once."""

HOST_NAMES_MAX = 2_048
"""Addresses of one host whose names are remembered from DNS answers."""

HOST_LOGONS_MAX = 512
"""Logon sessions of one host whose type is remembered."""

HOSTS_WHOLE_MAX = 128
"""Hosts that may each be remembered up to the bounds above, about 4 MB; of more each may hold a
half, and of over four times as many a quarter."""

HOST_LOCAL_ADDRESSES_MAX = 64
"""Addresses that are believed to be the host's own."""

SENSORS_MAX = 1_000_000
"""Hosts that the server takes in; records of further ones are refused until an operator acts."""

CHANNELS_MAX = 32_767
"""Channel names with a code of their own: the code and a 48-bit record id share 63 bits."""

HOSTNAME_CHARS_MAX = 255
"""Characters of a host name (RFC 1035 has 253, NetBIOS 15)."""

CHANNEL_CHARS_MAX = 255
"""Characters of a channel name; Windows allows 255."""

TOKEN_STALE_US = 1_000_000
"""For how long an authenticated token, and what its user may see, is believed unread."""

TOKENS_CACHED_MAX = 10_000
"""Secrets remembered between reads, known or not: guessing must not fill the memory."""

SENSOR_ONLINE_US = 15 * 60 * 1_000_000
"""A sensor heard of within this time is Online; shippers of quiet hosts post every few minutes."""

STORE_READERS = 8
"""Clients of the telemetry engine that read at the same time; each holds a few MB."""

STORE_WRITERS = 4
"""Clients that write at the same time: a commit has as many tables."""

STORE_WAIT_S = 30
"""How long a read waits for a free client before it is refused with 503."""

REQUEST_BODY_BYTES_MAX = 8 * 1024 * 1024
"""Bytes of a JSON body that is not telemetry: a query in a body, a bulk update of 10,000 ids."""

SIBLINGS_MAX = 15
"""Siblings in a process summary (api.md 8)."""

CHILDREN_DEFAULT = 15
"""Children in a process summary when `children` is not given: what the public clients ask for."""

CHILDREN_MAX = 10_000
"""Children that `children` can ask for in a process summary."""

SENSORS_PAGE_MAX = 10_000
"""Rows of one page of `GET /api/v2/sensor`."""

CONCURRENT_AUTHENTICATIONS_MAX = 8
"""Threads that check tokens: apart from the ones that search, so that slow searches never keep
senders waiting."""

CONCURRENT_SPLITS_MAX = 4
"""Threads that inflate and split telemetry bodies; each may hold one inflated body."""

COMPRESSED_MEMBERS_MAX = 10_000
"""Gzip members or zstd frames of one body: senders write one, a few append; each costs a fresh
inflater."""

ZSTD_WINDOW_BYTES_MAX = 128 * 1024 * 1024
"""Window of a zstd body, what `zstd --long` asks for by default."""

INGEST_ERRORS_MAX = 10_000
"""Rejected records that the answer of `/api/v1/ingest` lists one by one; the rest is counted."""

STORE_QUERY_BYTES_MAX = 1024 * 1024 * 1024
"""Memory of one question to the telemetry store: it must not take that of the write path."""

MEMBER_CHARS_MAX = 1_000
"""Characters of one text in the body of a group or an ingress filter."""

IMPORT_BLOCK_BYTES = 512 * 1024
"""How much of a file the importer reads at a time: what the cache of a core holds while it is
decoded, and less than a record may have."""

IMPORT_PART_BYTES = 16 * 1024 * 1024
"""A text of twice that and more is read in parts of about that, by several processes."""

IMPORT_SHARED_BYTES_MIN = 64 * 1024 * 1024
"""Less than that is read before a process that reads has started."""

IMPORT_SORT_BYTES_MAX = 256 * 1024 * 1024
"""Records that the importer sorts in memory; beyond it sorted runs wait in a temporary file."""

IMPORT_CHUNK_RECORDS = 20_000
"""Records of one request of the importer: large, because each waits for a commit. Part of what
makes a file's parts known again, so do not change it lightly."""

IMPORT_CHUNK_BYTES = 12 * 1024 * 1024
"""Bytes of one request of the importer; three of them share a commit of a server."""

IMPORT_COMMIT_BYTES = 6 * IMPORT_CHUNK_BYTES
"""Bytes of one commit of an import without a server: nobody waits for it but the import itself."""

IMPORT_AHEAD_BYTES = 4 * IMPORT_CHUNK_BYTES
"""How far the importer looks ahead for records that explain others: enough for the logs of an
incident, few enough for the processes in it to be remembered (HOST_PROCESSES_MAX)."""

IMPORT_ERRORS_MAX = 1_000
"""Rejected records that the importer lists one by one; all are counted."""

IMPORT_IN_FLIGHT = 12
"""Parts of files on their way to the store at once: those of a commit that is written, and of one
that is prepared; for a server, those that travel too."""

IMPORT_TURN_S = 10.0
"""How long a part of a sequence waits for the one before it: longer than a request takes to
arrive, shorter than a sender's patience."""

IMPORT_SEQUENCES_MAX = 256
"""Sequences of imports whose order the server remembers."""

ARCHIVE_DEPTH_MAX = 3
"""Archives within archives: a zip of tar.gz of EVTX has depth 2 (tar and gz count as one)."""

ARCHIVE_MEMBERS_MAX = 100_000
"""Files in one archive: triage collections have a few thousand."""

ARCHIVE_RATIO_MAX = 200
"""How many times its size an archive may inflate to: logs reach 100, bombs 1,000 and more."""

ARCHIVE_INFLATED_BYTES_MIN = 256 * 1024 * 1024
"""What any archive may inflate to whatever its ratio: empty logs compress without end."""

MEMBER_MEMORY_BYTES_MAX = 1024 * 1024 * 1024
"""Bytes of a member that has to be in memory whole: an EVTX log or a zip within an archive."""

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

INGRESS_FILTERS_MAX = 10_000
"""Ingress filters of a server."""

INGRESS_PATTERNS_MAX = 1_000
"""Entries of one list of an ingress filter."""

INGRESS_PATTERN_CHARS_MAX = 4_096
"""Characters of one entry; a path has at most 32,767, and nobody writes one out."""

INGRESS_PRIORITY_MAX = (1 << 31) - 1
"""Highest priority of an ingress filter, and with a minus sign the lowest."""

HEARD_OF_MAX = 5_000_000
"""Stored processes whose hashes the write path reads, half a second a million, and forgotten ones
whose hashes it keeps; with more, it asks the store about all that it does not remember."""

FILTER_TEXTS_REMEMBERED = 40_000
"""Paths and command lines whose filters are remembered, for each kind of list."""

FILTER_TEXT_REMEMBERED_CHARS = 1_024
"""Longer command lines are looked at anew: few repeat, and they would fill the memory."""

FILTER_SENSORS_REMEMBERED = 100_000
"""Sensors whose filters are remembered."""

FILTER_PROCESSES_REMEMBERED = 200_000
"""Processes whose filters are remembered, about 0.2 kB each."""

DRY_RUN_PROCESSES_MAX = 500_000
"""Processes that a filter is tried on before it is stored; the newest ones."""

DRY_RUN_EVENT_PROCESSES_MAX = 200
"""Processes whose single events are looked at in such a trial; each costs reading its events."""

SENSOR_KEY_STALE_US = 3600 * 1_000_000
"""For how long a sensor's key is believed unread; changes end it within seconds."""

SENSOR_KEYS_CACHED_MAX = 150_000
"""Sensor keys remembered between reads, about 0.5 kB each: a fleet, and some to spare."""

SHARED_ORDERS_MAX = 1_000
"""Kinds of sensors (by group, system, version and bans that they have) whose orders are
remembered, about 1 kB each without bans."""

SHARED_BANS_MAX = 1_000
"""Bans in orders that are remembered, so that all together stay under 200 MB."""

SENSOR_BLOCK_BYTES_MAX = 4 * 1024 * 1024
"""Bytes of one block of events of a sensor, after decompression."""

SENSOR_BODY_BYTES_MAX = 512 * 1024
"""Bytes of an enrolment, a check-in or an offer of files, after decompression; real check-ins
have 1 kB."""

SENSOR_TEXT_CHARS_MAX = 1_024
"""Characters of a text that a sensor tells of itself."""

SENSOR_LIST_MAX = 1_000
"""Entries of a list in a sensor's message: blocked programs, offered files."""

SENSOR_ADAPTERS_MAX = 64
"""Network adapters of a host."""

SENSOR_NUMBER_MAX = (1 << 63) - 1
"""Largest number that a sensor may report: what the state database holds."""

SENSOR_EPOCHS_MAX = 8
"""Queues of one sensor whose progress is remembered; a sensor begins one when it loses its disk."""

SENSOR_HASHES_KEPT = 64
"""Blocks of a queue whose content is remembered, to tell a repeated block from another one."""

SENSOR_GAPS_MAX = 1_000
"""Gaps of one queue that are remembered; of more, the oldest become one."""

CHECKINS_A_SECOND_MAX = 400
"""Check-ins a second that a server asks for: larger fleets are told to come less often."""

SENSOR_CHECKINS_MISSED = 5
"""Check-ins that a sensor may miss before it is Offline."""

STATE_COMMIT_WAIT_MS = 15
"""How long a write to the state database waits for company."""

STATE_COMMIT_COMPANY = 8
"""Writes that wait already: where there are as many, nobody waits for more."""

STATE_COMMIT_WORKS_MAX = 256
"""Writes to the state database that share a transaction."""

SENSOR_NOTES_CHARS_MAX = 10_000
"""Characters of the notes that people keep with a sensor."""

COPIED_FILE_BYTES_MAX = 25 * 1024 * 1024
"""Bytes of a program that are copied; of a larger one the beginning (api.md 8)."""

COPIED_PIECE_BYTES_MAX = 8 * 1024 * 1024
"""Bytes of one piece of a copied program."""

COPIED_FILES_ARRIVING = 16
"""Programs of one sensor that are on their way at the same time."""

COPIED_FILE_STALE_S = 7 * 24 * 3600
"""When a copy that stopped arriving is given up, seconds."""

LIVE_QUERY_CHARS_MAX = 10_000
"""Characters of a live query."""

LIVE_QUERY_SENSORS_MAX = 1_000
"""Hosts that one live query can ask."""

LIVE_QUERY_ROWS_BYTES_MAX = 4 * 1024 * 1024
"""Bytes of rows that are kept of one host's answer."""

LIVE_QUERY_EXPIRES_US = 24 * 3600 * 1_000_000
"""How long a live query waits for hosts that do not come."""

LIVE_QUERY_KEPT_US = 30 * 24 * 3600 * 1_000_000
"""How long the answers of a live query are kept."""

OSQUERY_CHECKIN_S = 60
"""How often osquery is told to come for its configuration."""

PREVIEW_EVENTS_MAX = 30
"""Events of each list of a preview (api.md 2.7: tens of entries, not all)."""

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
"""For how long a stream that expired is remembered, so that its reader learns why it is gone."""

STREAM_TOUCH_S_MAX = 60
"""How exactly the last use of a stream is known: a read that moves nothing is written down at
most this often, and a stream lives so much longer than `stream_ttl_s`."""

STREAM_RETRIES = 5
"""Times that a change of a stream begins anew because another request changed it meanwhile."""

CRITERIA_VALUES_MAX = 1_000
"""Values of all facet fields together in the criteria of one stream."""

VIEW_COUNTS_MAX = 64
"""Filters whose counts of events by segment are remembered, 16 bytes a segment; the least
recently used go first. What is forgotten is counted again."""

UNCHANGED_BYTES_MAX = 16 << 20
"""What is remembered of processes until something is written to them, most of all the outlines of
those that are read: 200 kB for 5,000 segments. The least recently used go first."""

SEGMENTS_A_LINE = 500
"""Segments in one line of the ndjson answer: about 150 kB."""

BULK_EVENTS_A_STEP = 250_000
"""Events that a bulk request looks at between two looks at its clock, about 0.3 seconds."""

FACET_VALUES_MAX = 200
"""Values of one facet field in an answer, the most frequent ones (api.md 8)."""

FACET_VALUES_HELD_MAX = 100_000
"""Different values of one facet field that a bulk request counts; further ones are left out."""

INSTALLER_BYTES_MAX = 512 * 1024 * 1024
"""Bytes of a package for Windows or macOS; osquery's have about 30 MB."""

SIGMA_FILE_CHARS_MAX = 1024 * 1024
"""Characters of one file of Sigma rules; the longest public rule has 25 kB."""

DETECT_CACHED_VALUE_CHARS_MAX = 1_024
"""Characters of an event's value whose literals are cached; longer ones seldom repeat."""

DETECT_CACHE_CHARS_MAX = 4 * 1024 * 1024
"""Characters of all cached values of one class of events, in each preparing process."""
