"""Write path: from accepted records to commits."""

SEGMENT_WINDOW_MS = 5 * 60 * 1_000
"""Length of the window of server time that one segment covers: a process that reports
every second for a day makes 288 segments, not 86,400."""

SEGMENT_IDS_A_WINDOW = 1_000
"""Segments that a process may have in one window; two windows are at least so many milliseconds
apart, so that an id implies its window."""

SEGMENT_EVENTS_MAX = 10_000
"""Events of one segment; the next segment of the window begins after it. What the
`/event` routes return at most by default (`CoreServicesMaxEventResultsPerProcess`)."""

QUEUE_BYTES_MAX = 256 * 1024 * 1024
"""(setting) Bytes of accepted and not yet committed bodies; above it 429 with Retry-After."""

COMMIT_BYTES_MAX = 40 * 1024 * 1024
"""Bytes of bodies that share one commit."""

COMMIT_WAIT_MS = 50
"""How long a commit waits for company before it starts."""

REFUSALS_PIECE = 1_000
"""Refused records that the server decodes at once: more keep the interpreter lock from the event
loop, a millisecond for each 3,000."""

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

WORKER_START_STALLS = 6
"""How many times as long a worker may take to start: on a very busy machine the imports alone took
longer than WORKER_STALL_S, and workers were replaced again and again before they had begun."""

RESTORED_KEYS_PER_MESSAGE = 100_000
"""Keys of stored records in one message to a worker: a megabyte."""

STUCK_RECORD_STALLS = 2
"""Stalls at the same record after which it is rejected; the first may have had another cause."""

STUCK_RECORDS_MAX = 1_000
"""Records suspected of stalling a worker whose hashes (16 bytes) are kept."""

CONFLICT_FINGERPRINTS_MAX = 5_000_000
"""Newest records, for each worker, whose content is compared when their number comes again; 2 to 3
bytes each."""

STORED_HASHES_MAX = 5_000_000
"""Stored processes whose hashes the write path reads, half a second a million, and forgotten ones
whose hashes it keeps; with more, it asks the store about all that it does not remember."""

FILTER_TEXTS_CACHED = 40_000
"""Paths and command lines whose filters are cached, for each kind of list."""

FILTER_TEXT_CACHED_CHARS = 1_024
"""Longer command lines are looked at anew: few repeat, and they would fill the memory."""

FILTER_SENSORS_CACHED = 100_000
"""Sensors whose filters are cached."""

FILTER_PROCESSES_CACHED = 200_000
"""Processes whose filters are cached, about 0.2 kB each."""

WORKERS_PROCESSES_CACHED_MAX = 100_000
"""Processes whose metadata is cached by all workers together, about 2 kB each."""

FILTER_ANCESTORS_MAX = 64
"""Generations of parents that are followed when a filter includes descendants."""

FILTER_PATTERN_PROGRAM_BYTES_MAX = 1 << 20
"""Memory limit of one expression of an ingress filter: larger ones would slow down every match of
their set."""

FILTER_PATTERN_SET_MAX = 1_000
"""Expressions that are compiled into one set. 1,000 paths with two wildcards take 0.03 s and 4 MB;
100,000 exceed RE2's memory, which is noticed only after 5 s, when the set is halved."""

BINARIES_CACHED_MAX = 200_000
"""Binaries (hash and sensor) in the cache; an evicted one is written again, which is harmless."""

BINARY_LAST_SEEN_STEP_US = 3600 * 1_000_000
"""How far the stored `last_seen` of a binary may lag behind before it is written again: an hour
saves a row for every execution."""

CONNECTION_PAIR_US = 5 * 1_000_000
"""Time between two records, one of Sysmon and one of Security, that may report one connection: in
recorded logs they are up to a second apart, on the corrected clock."""

CONNECTION_PAIR_TIMES_MAX = 32
"""Records that are cached of one connection's ends: more are a flood between two ports, of
which only the newest are paired."""

CONNECTIONS_CACHED_MAX = 32_768
"""Connections that a worker keeps, since the other log may report them as well: 8 MB, and half a
minute of a worker at its fastest."""

HOST_CONTEXTS_CACHED_MAX = 5_000
"""Hosts in the caches of all workers together, a quarter to one MB each; the context of an evicted
host is built again from the store."""

FILTER_ANCESTORS_LOADED_MAX = 4
"""Generations of parents that are loaded from the store when they are not in memory."""

INGEST_RECOVER_INTERVAL_S = 1.0
"""Interval of attempts to recover after a failed commit: a store that is down is not flooded."""

SHARDED_HOST_NAMES_MAX = 200_000
"""Likely host names whose worker is kept; when there are more, all are dropped."""

WORKER_CHANNEL_BUFFER_BYTES = 1 << 20
"""Kernel buffer requested for each direction of a worker's channel. A commit is megabytes, and each
time the buffer is full the scheduler has to switch to the other process."""

HOST_CONTEXT_HOURS = 24
"""Age of the oldest processes that are loaded when a host's context is built from the store: older
ones are rarely named."""

WORKER_COLLECT_YOUNG_S = 10
"""Interval of garbage collection of young objects, between commits. Automatic collection is off: it
would traverse every batch of telemetry many times and find nothing."""

WORKER_COLLECT_ALL_S = 300
"""Interval of garbage collection of all objects, between commits."""

INGEST_RATE_S = 60
"""Seconds over which the rate of what comes in is a mean: shorter ones jump with each shipper's
batch."""
