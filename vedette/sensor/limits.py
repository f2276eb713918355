"""Every limit of the sensor, with its unit and its reason."""

BLOCK_BYTES_MAX = 4 * 1024 * 1024
"""Bytes of events in one block before compression: what the server takes at once."""

BLOCK_BYTES_WANTED = 1024 * 1024
"""Bytes of events at which a block is closed before its time."""

BLOCK_AGE_S = 2.0
"""Oldest event of a block that is not yet on disk: what a crash of the sensor may cost."""

BLOCK_AGE_AWAY_S = 20.0
"""The same while blocks pile up because the server is away: fewer, larger files."""

BLOCKS_WAITING_MANY = 50
"""Blocks on disk above which the server counts as away."""

QUEUE_BYTES_MAX = 512 * 1024 * 1024
"""(setting) Bytes of blocks on disk; above it the oldest is dropped, counted, and a gap."""

QUEUE_BYTES_MIN = 8 * 1024 * 1024
"""The least that the setting may say: two full blocks."""

DISK_FREE_BYTES_MIN = 64 * 1024 * 1024
"""Free bytes that the queue leaves on its disk."""

EVENT_BYTES_MAX = 512 * 1024
"""Bytes of one event; longer command lines are cut before."""

TEXT_CHARS_MAX = 32 * 1024
"""Characters kept of one text: a command line may have 2 MiB."""

HOLD_US = 600_000
"""How long an event waits for those that happened before it and come from another source."""

TICK_S = 0.1
"""Pause between two readings of the kernel's queues: one wake-up a batch, not one a record."""

ASSEMBLE_S = 0.25
"""Pause between two rounds of the assembling thread."""

SOCKET_BYTES = 32 * 1024 * 1024
"""Receive buffer of a netlink socket: some seconds of 5,000 records a second."""

AUDIT_BACKLOG = 16_384
"""Records that the kernel keeps for its daemon; the default of 64 loses bursts."""

AUDIT_BACKLOG_WAIT = 0
"""Jiffies that a process waits when the backlog is full: the host is never held up, the loss is
counted by the kernel and reported."""

AUDIT_PENDING_MAX = 20_000
"""Audit events whose end was not seen yet; above it the oldest are given out as they are."""

INBOX_MAX = 400_000
"""Events between the readers and the assembling thread: above it they are lost and counted."""

PROCESSES_MAX = 65_536
"""Processes remembered at a time, twice what a default kernel runs."""

ENDED_KEPT_US = 10_000_000
"""How long a process that ended can still be named by what is read late."""

RECONCILE_S = 60.0
"""How often the table of processes is compared with /proc: ends that nobody reported."""

HASH_BYTES_MAX = 256 * 1024 * 1024
"""Bytes of a file that is hashed; larger ones are reported without a hash."""

HASH_BYTES_PER_S = 64 * 1024 * 1024
"""Bytes hashed a second on average, so that a copy of a disk does not cost a core."""

HASH_BURST_BYTES = 256 * 1024 * 1024
"""Bytes that may be hashed at once after a quiet time."""

HASH_CACHE_MAX = 8_192
"""Files whose hashes are remembered by device, inode, size and times."""

HASH_CHUNK = 1024 * 1024
"""Bytes read at a time while hashing."""

WRITTEN_QUIET_S = 1.0
"""How long a written file has to be left alone before its last write is reported."""

WRITTEN_WAITING_MAX = 10_000
"""Files that wait for their quiet time; above it they are reported without a hash."""

DECISION_S = 2.0
"""How long a program start waits for the hash of its file; then it is allowed."""

GUARD_SILENT_S = 5.0
"""Silence of the guard after which it is killed; the kernel then allows what it held up."""

BANS_MAX = 100_000
"""Banned hashes that are kept."""

FILTERS_MAX = 1_000
"""Filters that are kept on the sensor."""

PATTERN_CHARS_MAX = 512
"""Characters of one pattern of a filter."""

PATTERN_CHOICES_MAX = 8 * 1_024
"""Ways in which one pattern may be tried at one place of its input: one unbounded repeat and some
short ones."""

PATTERN_INPUT_CHARS_MAX = 1_024
"""Characters of a path or command line that a pattern is tried on."""

PATTERN_PROGRAM_MAX = 1_024
"""Instructions of one compiled expression: what one character of input costs at most."""

PATTERN_CACHE_MAX = 100_000
"""Cached positions and transitions of one expression, some 10 MB; above it the cache starts
anew."""

CHECKIN_S = 30.0
"""Pause between check-ins until the server says otherwise."""

CHECKIN_S_RANGE = (1.0, 3_600.0)
"""What the server may say."""

REQUEST_S = 30.0
"""Timeout of one request."""

BACK_OFF_S_MAX = 60.0
"""Longest pause after failures."""

ANSWER_BYTES_MAX = 64 * 1024 * 1024
"""Bytes of an answer: a full list of bans is the largest but for an update."""

UPDATE_BYTES_MAX = 256 * 1024 * 1024
"""Bytes of an update."""

BINARY_BYTES_MAX = 25 * 1024 * 1024
"""Bytes sent of a program file (the protocol's bound)."""

BINARY_CHUNK = 1024 * 1024
"""Bytes of a program file in one request."""

BINARIES_WAITING_MAX = 2_048
"""Program files that wait to be offered."""

SOCKETS_MAX = 20_000
"""Sockets of the host above which local addresses are not looked up."""

ISOLATION_ENDPOINTS_MAX = 256
"""Endpoints that an isolation order may allow, and addresses of a host name: each is two rules."""

ISOLATION_PROBLEMS_MAX = 16
"""Sentences about the isolation in one check-in."""

PROBLEM_CHARS_MAX = 300
"""Characters of one sentence about something that went wrong."""

VERSION_CHARS_MAX = 32
"""Characters of a version of the sensor."""

ENROL_S = 60.0
"""Shortest pause before enrolling again after a refusal."""

ENROL_S_MAX = 900.0
"""Longest such pause: how long a sensor that was approved may go on waiting."""

UPDATE_RETRY_S = 3_600.0
"""Pause before an update that was refused is fetched again, and between attempts to get the
update key by enrolling again."""
