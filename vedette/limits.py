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

AUDIT_LINE_CHARS_MAX = 128 * 1024
"""Characters read of one line of a Linux audit log. The kernel writes at most 8,970 bytes a line;
auoms puts a whole event with its command line into one."""

SYSLOG_PREAMBLE_BYTES_MAX = 1_024
"""Bytes that a syslog daemon or collector may write in front of an XML event."""

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

QUERY_LEAVES_MAX = 2_000
"""Values that a query may ask for. The largest known one, a converted rule, has 1,394; the largest
that a person wrote has 76. 20,000 take the engine minutes."""

QUERY_OPERANDS_MAX = 128
"""Operands of one AND or OR that are tested one by one: of an AND all but negated values, of an OR
brackets. The engine's time grows with their square: 1,024 ANDed words of a command line took 29 s
over 20,000 segments, 512 ORed pairs 35 s. Known queries have at most 20 and 13."""

ROWS_DEFAULT = 10
"""Rows of one page of search results when none are asked for."""

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

WORKER_CHECK_S = 0.5
"""Interval at which the workers that process commits are checked for progress."""

WORKER_PING_S = 5.0
"""A worker without progress for this time is sent a ping, which an idle one answers at once."""

WORKER_SILENT_S = 10.0
"""A worker without progress for this time makes the server not ready."""

WORKER_STALL_S = 20.0
"""A worker without progress for this time is ended and replaced: far longer than any single record
or step of a commit takes on a slow machine, shorter than the timeouts of shippers (60 to 90 s)."""

RESTORED_KEYS_PER_MESSAGE = 100_000
"""Keys of stored records in one message to a worker: a megabyte."""

STUCK_RECORD_STALLS = 2
"""Stalls at the same record after which it is rejected; the first may have had another cause."""

STUCK_RECORDS_MAX = 1_000
"""Records suspected of stalling a worker whose hashes (16 bytes) are kept."""

CONFLICT_FINGERPRINTS_MAX = 5_000_000
"""Newest records, for each worker, whose content is compared when their number comes again; 2 to 3
bytes each."""

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

STORE_READERS = 12
"""Clients of the engine that read at once, a few MB each; three are reserved for ingest."""

STORE_WRITERS = 4
"""Clients that write at the same time: a commit has as many tables."""

UPGRADE_STATEMENT_S = 0.5
"""About what a statement that changes the definition of `segment` takes, for the estimate of an
upgrade: the engine analyses all expressions anew."""

UPGRADE_REWRITE_BYTES_A_SECOND = 30 * 1024 * 1024
"""Bytes of `segment` on disk that an upgrade rewrites a second, for the same estimate."""

CORRECTED_PROCESSES_MAX = 200
"""Processes that one mutation corrects: their values are written into its text, about 2 kB each."""

CORRECTION_TEXT_CHARS = 2 * 1024 * 1024
"""Characters of values in it, but for a single process that has more."""

CORRECTION_STATEMENT_BYTES = 64 * 1024 * 1024
"""Text of such a mutation at most: a character takes up to 8 hexadecimal digits, and what one
process has at most are some command lines of `TEXT_CHARS_MAX`."""

STORE_WAIT_S = 30
"""How long a read waits for a free client before it is refused with 503."""

SEARCHES_RUNNING_MIN = 3
"""Searches that run at once: half of the cores and one more, at least so many."""

SEARCH_READERS = 5
"""Reads of the telemetry engine that searches make at the same time."""

LOOKUPS_RUNNING_MAX = 8
"""Requests about one process or binary that run at the same time, apart from searches."""

LOOKUP_READERS = 4
"""The same for lookups."""

USER_SEARCHES_MAX = 40
"""(setting) Searches, and lookups, of one user that run or wait; above it 429. Tools use 32."""

SEARCH_GRACE_S = 2
"""How long after its deadline a search is answered with 503, if the engine has not ended it."""

CHECKIN_THREADS = 8
"""Threads for check-ins and enrolment of sensors alone."""

REQUEST_BODY_BYTES_MAX = 8 * 1024 * 1024
"""Bytes of a JSON body that is not telemetry: a query in a body, a bulk update of 10,000 ids."""

SIBLINGS_MAX = 15
"""Siblings in a process summary (docs/api-objects.md#limits-of-answers)."""

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

CONCURRENT_DECODES_MAX = 4
"""Threads that inflate and parse all other bodies, so that bulk telemetry never keeps a check-in
waiting."""

COMPRESSED_MEMBERS_MAX = 64
"""Gzip members or zstd frames of one body: senders write one, a few append; each costs a fresh
inflater."""

BODIES_IN_FLIGHT_BYTES_MAX = 640 * 1024 * 1024
"""Bytes of request bodies, as sent and inflated, that all requests hold at the same time: two of
the largest. Beyond it 429 with Retry-After. The queue of telemetry has a bound of its own."""

SMALL_BODY_BYTES_MAX = 64 * 1024
"""Bodies up to here may use the last eighth of `BODIES_IN_FLIGHT_BYTES_MAX`, so that large ones
never keep sensors from checking in; above it, decoding leaves the event loop."""

UNAUTHENTICATED_BODY_BYTES_MAX = 64 * 1024
"""Bytes of a body whose credential is a member of it, as sent and inflated, before that credential
was checked: enrolments have 1 kB."""

UNAUTHENTICATED_PREFIX_BYTES_MAX = 4 * 1024
"""Bytes at the beginning of a larger body in which its credential must stand."""

ZSTD_WINDOW_BYTES_MAX = 128 * 1024 * 1024
"""Window of a zstd body, what `zstd --long` asks for by default."""

INGEST_ERRORS_MAX = 10_000
"""Rejected records that the answer of `/api/v1/ingest` lists one by one; the rest is counted."""

STORE_QUERY_BYTES_MAX = 1024 * 1024 * 1024
"""Memory of one question to the telemetry store: it must not take that of the write path."""

QUERY_KILL_INTERVAL_S = 0.02
"""Before the second attempt to kill a query that the engine may not list yet; then doubles."""

QUERY_KILL_INTERVAL_MAX_S = 1.0
"""Longest time between two attempts: some phases of a query cannot be interrupted."""

CLOCK_JUMP_US = 10 * 60 * 1_000_000
"""A wall clock that differs more from elapsed time was set; NTP corrects less, or gradually."""

CLOCK_ABSENCE_US = 3 * 24 * 3600 * 1_000_000
"""After a longer absence over a reboot nothing is deleted by age until the time is confirmed."""

CLOCK_SAVE_S = 60
"""Between two writes of the trusted time to the state database."""

STORE_CONTROL_CLIENTS = 2
"""Connections for health checks and killing queries, which work while all readers are busy."""

BROKEN_PARTS_MAX = 1_000_000
"""Broken parts with which the embedded engine still starts, to report them part by part."""

BROKEN_PARTS_BYTES_MAX = 1 << 60
"""Likewise for their size."""

DAMAGE_AGE_S = 10
"""How old the list of damaged parts may be that searches and `/readyz` use."""

DISK_FREE_BYTES_MIN = 16 * 1024 * 1024
"""With less free space `/readyz` reports a full disk: a usual commit no longer fits."""

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

IMPORT_HOSTS_MAX = 10_000
"""Hosts that the summary of an import lists."""

IMPORT_DECODED_FIRST = 1_000
"""Records without a common envelope that an import decodes for its summary of hosts and times,
before it takes samples only: decoding all would double its work."""

IMPORT_DECODED_EVERY = 50
"""After those, one record in so many is decoded."""

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

HIGHLIGHT_MARKS_MAX = 500
"""Marks in one value; what follows is not marked. Nobody reads more, and every mark is a search."""

HIGHLIGHT_SEARCHED_CHARS_MAX = 100_000_000
"""Characters of values that one answer searches for marks, once for each pattern: about a second.
A page of 10,000 long command lines and a query of 100 words would take minutes."""

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
"""Bytes of a program that are copied; of a larger one the beginning
(docs/api-objects.md#limits-of-answers)."""

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

PROCESS_CACHE_BYTES_MAX = 16 << 20
"""What is remembered of processes until something is written to them, most of all the outlines of
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

INSTALLER_BYTES_MAX = 512 * 1024 * 1024
"""Bytes of a package for Windows or macOS; osquery's have about 30 MB."""

REENROLMENT_APPROVAL_US = 24 * 3600 * 1_000_000
"""How long an approved re-enrolment may be used: a sensor tries again every few minutes, a host
that is rebuilt needs a working day."""

KEY_REPLACEMENTS_MAX = 5
"""Keys of one sensor that are replaced within `KEY_REPLACEMENTS_US`; further ones get 429."""

KEY_REPLACEMENTS_US = 3600 * 1_000_000
"""The time in which replaced keys are counted."""

KEY_EVENTS_KEPT = 100
"""Entries of one action in the audit of a sensor's keys; the oldest go first."""

GROUP_SENSORS_MAX = SENSORS_MAX // 2
"""Hosts of one sensor group: a credential of one group cannot use up the sensors of all."""

SENSOR_COPIES_SHARE = 8
"""A sensor may fill an eighth of the room for copies of programs, so that one host cannot keep
the others from sending theirs."""

CONNECTIONS_MAX = 4_096
"""Connections of clients at the same time, or half of the file descriptors that the process may
have, whichever is less. Above it an idle one is closed for a new one, or the new one refused."""

HEAD_DEADLINE_S = 30.0
"""How long a client may take for a request line and headers, from its connection on."""

BODY_GRACE_S = 30.0
"""How long a body may take whatever its size."""

BODY_BYTES_A_SECOND_MIN = 1_024
"""The least average rate of a body that takes longer; a modem has four times that."""

WRITE_DEADLINE_S = 60.0
"""How long an answer waits for a client that reads nothing of it."""

CONNECTION_CHECK_S = 5.0
"""How often the deadlines of a connection are checked; they are late by at most that."""

TOKEN_LIFETIME_US = 365 * 24 * 3600 * 1_000_000
"""How long a token is good when nobody says otherwise: a forgotten one ends some day."""

CHANNELS_FREE = 4_096
"""Channel names that get their code at once; a Windows host has about 1,200."""

CHANNELS_AN_HOUR_MAX = 256
"""Further channel names that get a code within an hour, so that one sender of made-up names does
not use up the codes within a day's logs. Records of the others are deduplicated by request."""

CHANNELS_GROUP_FREE = 2_048
"""Channel names that get their code at once for one sensor group, since the server's start: half
of `CHANNELS_FREE`, so that one group's senders leave room for the others."""

CHANNELS_GROUP_AN_HOUR_MAX = 128
"""Further channel names of one sensor group that get a code within an hour."""
