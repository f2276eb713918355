"""Telemetry store: connections, query plans, parts, corrections, upgrades."""

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

CLUSTER_CONNECT_S = 5
"""How long connecting to a ClickHouse server may take: on a network that works, milliseconds."""

CLUSTER_ANSWER_S = 120
"""How long a ClickHouse server may send nothing: longer than any search may run, and than an insert
waits for its quorum."""

INSERT_ATTEMPTS = 4
"""How often an insert into a cluster is tried: a server that restarts behind a balancer, or a
replica that is elected, is there again within a second."""

INSERT_RETRY_S = 0.25
"""Seconds before the second attempt; longer by as much before each further one."""

REPLACED_TABLE_ATTEMPTS = 5
"""How often a read is begun that meets a table which is being replaced. A command that moves
sensors replaces one after the other."""

REPLACED_TABLE_RETRY_S = 0.02
"""Seconds before a read begins again; to replace a table takes milliseconds."""

STORE_WAIT_S = 30
"""How long a read waits for a free client before it is refused with 503."""

STORE_QUERY_BYTES_MAX = 1024 * 1024 * 1024
"""Memory of one question to the telemetry store: it must not take that of the write path."""

QUERY_KILL_INTERVAL_S = 0.02
"""Before the second attempt to kill a query that the engine may not list yet; then doubles."""

QUERY_KILL_INTERVAL_MAX_S = 1.0
"""Longest time between two attempts: some phases of a query cannot be interrupted."""

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

CHECKSUMS_BYTES_MAX = 16 * 1024 * 1024
"""Of a part's list of its files: 165 files make 2 kB, and 10 kB inflated."""

REPLACED_PARTS_KEPT_S = 45
"""Time for which parts that a merge has replaced are surely on the disk: the engine removes them
after `old_parts_lifetime` of the tables, 60 s."""

FAILED_WRITES_S = 2
"""How often the embedded engine is asked for writes that the disk refused a merge: well before it
removes the parts that were merged."""

RELOAD_WAIT_S = 2
"""How long loading tables again after a failed write waits for searches before it ends them."""

RELOAD_KILL_S = 10
"""And how long for their end, before it is tried again: a stream ends once its client reads on."""

RELOAD_ATTACH_S = 10
"""How long it tries to load a table that is still in use."""

RELOAD_ATTEMPT_S = 0.05
"""Between two attempts."""

INSERT_INDEXED_ROWS_MIN = 2_000
"""Rows of an insert from which it builds skip indexes: that costs 20 ms whatever the size, half of
a small insert, and the merge a few seconds later builds them. Until then searches scan the part (2
ms for 1,000 rows), with the same answers."""

DEFINITION_HEAD_BYTES = 4_096
"""Bytes at the beginning of a table's definition file that are searched for its UUID, which stands
in the first line."""

STORE_PARTS_MERGED = 8
"""Parts of similar size per merge: 25% fewer merges of each row than with the engine's default of
five, and still few parts per search."""

PART_COUNT_BYTES_MAX = 32
"""Bytes that are read of a part's `count.txt`: a number, unless the file is damaged."""

SUFFIX_INDEXES_CACHE_S = 10
"""Age up to which the cached list of indexed partitions is used: indexes are built within
minutes."""

UNINDEXED_ROWS_MAX = 4_000
"""Rows without an index for which evaluating the expression takes no longer than reading other
indexes: the inserts of some seconds, until they are merged."""

PARTITION_COMMAND_S = 30
"""How long a change of a partition waits for the servers of a cluster that are not away. They do it
in milliseconds, and commits wait meanwhile."""

PARTITIONS_CACHE_S = 1
"""Age up to which the cached list of partitions is used: searches come faster than partitions
change."""

PREFILTER_ROWS_MAX = 200_000
"""Partial rows that are worth a set."""

FEW_SEGMENTS_EVENT_TESTS_MAX = 2
"""Subqueries for events in a condition that `FewSegments` may run."""

PREFILTER_PLACES_MAX = 5_000
"""Segments, or windows of processes, whose keys are bound as values."""

PREFILTER_PLACES_ENOUGH = 50
"""Places to which a prefilter narrows a search well enough; no further index is looked up for
fewer."""

PREFILTER_CONDITIONS_MAX = 2
"""Lookups of one narrowing that are looked up again for fewer places."""

TOP_BY_EVENT_LATER_ROWS_MAX = 50_000
"""Rows later than the last of a page. A search that matches only old segments has more, and falls
back to `MergedSort`."""

TOP_BY_EVENT_SEGMENTS_MAX = 200
"""Up to so many segments, rows are read by key instead of by time."""

TOP_BY_KEY_ROWS_A_SEGMENT = 8
"""Rows read for a segment of a page: one that is written to has several, until they are merged."""

TOP_BY_KEY_ROWS_MIN = 100
"""Rows read for a page at least: a few more cost nothing."""

BINARY_NAMES_MAX = 1_000
"""File names, hosts and groups in the result for one binary."""

BINARY_CLAIMS_MAX = 10
"""Different SHA-256 of one MD5 that are shown."""

FACET_SIGNATURE_MONTHS = 48
"""Months covered by the facet `digsig_sign_time`, the current one included."""

RELATIVES_MAX = 1_000
"""Children or siblings per query."""

RECOVERY_PROCESSES_PER_QUERY = 2_000
"""Ids bound to one query: the time to bind them grows with their square above 10,000."""

CHILD_REPORTS_MAX = 100
"""Childproc events that are read together with a process: most have fewer children."""

PROCESSES_WITH_REPORTS_MAX = 1_000
"""Processes per query that reads childproc events too; of more, they would fill the memory."""

RUNNING_HOSTS_MAX = 1_000
"""Hosts per answer, the most recently seen first."""

RUNNING_HOST_PROCESSES_MAX = 10
"""Process ids listed per host."""

SEGMENT_FACET_VALUES_MAX = 200
"""Values per facet, the most frequent ones."""

FACET_START_DAYS = 30
"""Days covered by the facet `start`, today included."""

FACET_FUZZY_TOTAL_MIN = 100_000
"""Segments from which a fuzzy total is sampled; smaller results are counted exactly: sampling saves
nothing."""

SEGMENT_GROUPS_AHEAD = 4
"""Segments read per row of the page: a process typically has two or three."""

SEGMENT_GROUPS_AHEAD_MIN = 1_000
"""Segments read for a page of groups at least: a query costs as much for fewer."""

SEGMENT_GROUPS_BOUND_MAX = 20_000
"""Segments up to which their groups are read in a second query by key; of more, the first query
reads the groups too."""

PARTITION_UNCHANGED_S = 6 * 3600
"""Age of the newest part from which a partition is merged into one part, seconds. Late rows of a
closed partition cause another merge."""

IDLE_MERGE_QUIET_S = 5.0
"""Seconds without an insert before parts are merged."""

IDLE_MERGE_PARTS_MIN = 2
"""Unmerged parts of a partition from which an idle store merges them: a single one has nothing to
merge with."""

ALERT_MERGE_QUIET_S = 10.0
"""Seconds without a new or changed alert before all alerts are merged."""

ALERT_PARTS_MIN = 2
"""Parts of the alert table from which they are merged: beside a large part a small one with a few
changed alerts of all times doubles what a search costs."""

ALERT_MERGE_BYTES_A_SECOND = 1_000_000.0
"""Bytes that merging all alerts may write on average: a million alerts, 80 MB, at most once in a
minute and a half."""

INSERT_ASIDE_THREADS = 3
"""Threads that insert into the tables other than `segment`: one for each table."""

TAG_TEXT_CHARS_MAX = 2_048
"""Characters of a tag's report, indicator and link that are kept: links are URLs, which browsers
end at about as much."""

TAGS_READ_MAX = 10_000
"""Tags of one page of results, or of one process: a document that hundreds of reports of a feed
name is shown with some of them."""

TAG_BYTES = 512
"""Size of a tag in the cache of processes, about."""

SHARD_RANGE_MARGIN = 100_000
"""Sensor numbers left unused before a new range of shards: more than transactions under way may
have drawn meanwhile. There are 4 billion."""

SKIP_SHARDS_SENSORS_MAX = 5_000
"""Sensors of a condition up to which the shards that hold them are looked up, instead of asking
all: of more, some are on every shard."""

REPLICA_DELAY_S_MAX = 10
"""How far behind its shard a replica may be that is read from. More than merges and a restart of
Keeper keep a replica that is well."""

REPLICA_SETTLED_S = 15
"""After which every replica that is read from has an insert that fewer than all acknowledged:
`REPLICA_DELAY_S_MAX`, and what clocks of servers may differ by."""

MIGRATION_UNIT_ROWS = 20_000
"""Rows of an embedded store that move to a cluster as one block: some 30 MB of segments, and what a
run that is killed repeats."""

MIGRATION_WHERE_SHOWN_CHARS = 200
"""Characters of the condition of such a block in an error."""

CLUSTER_CLOCK_MS_MAX = 1_000
"""How far the clocks of a cluster may be apart: NTP holds a few milliseconds, and a second is less
than anything that is decided by time."""

CLUSTER_QUERY_CLOCK_MS = 2_000
"""How long the question for the time may be on its way."""

MISPLACED_SENSORS_SHOWN = 20
"""Sensors that a report names: what is wrong with one is wrong with all."""

SHARD_LOAD_RATIO_MAX = 1.5
"""Share of the events that a shard may hold, of a fair one: above it, it answers last and fills
first."""

ONE_MACHINE_EVENTS_S = 20_000
"""Events a second that two cores acknowledged in a busy hour, less a tenth: what one machine is
planned for."""

SHARD_OPEN_EVENTS_MAX = 500_000_000
"""Events of the open partition of a shard, of which searches answer in a second or two."""

PLANNED_OPEN_DAYS = 3
"""Days of the open partition in plans: `partition_roll_hours` as it is by default."""

SIMULATION_TICK_S = 0.05
"""Between two arrivals of events in a simulation of a cluster: short beside a commit."""

SIMULATED_HOST_EVENTS = 20
"""Events that one host sends at a time there."""
