"""Every limit of the sensor, with its unit and its reason."""

BLOCK_BYTES_MAX = 4 * 1024 * 1024
"""Uncompressed bytes of one block: the maximum that the server accepts."""

BLOCK_BYTES_WANTED = 1024 * 1024
"""Bytes of events at which a block is closed before BLOCK_AGE_S."""

BLOCK_AGE_S = 2.0
"""Maximum age of events that are not on disk: what a crash of the sensor may lose, seconds."""

BLOCK_AGE_AWAY_S = 20.0
"""The same while the server is unreachable: fewer, larger files."""

BLOCKS_WAITING_MANY = 50
"""Blocks on disk above which the server counts as unreachable."""

QUEUE_BYTES_MAX = 512 * 1024 * 1024
"""(setting) Bytes of blocks on disk; above it the oldest block is dropped and counted."""

QUEUE_BYTES_MIN = 8 * 1024 * 1024
"""Minimum of the setting: two full blocks."""

DISK_FREE_BYTES_MIN = 64 * 1024 * 1024
"""Free bytes that the queue leaves on its file system."""

EVENT_BYTES_MAX = 512 * 1024
"""Bytes of one event; command lines are truncated earlier."""

TEXT_CHARS_MAX = 32 * 1024
"""Characters of one text before truncation: a command line may have 2 MiB."""

HOLD_US = 600_000
"""How long observations are held for earlier ones from other sources, microseconds."""

TICK_S = 0.1
"""Interval between reads of the kernel's queues, seconds: one wake-up per batch, not per record."""

ASSEMBLE_S = 0.25
"""Interval between rounds of the assembling thread, seconds."""

SOCKET_BYTES = 32 * 1024 * 1024
"""Receive buffer of a netlink socket, bytes: some seconds of 5,000 records a second."""

AUDIT_BACKLOG = 16_384
"""Records that the kernel queues for its daemon; the default of 64 loses bursts."""

AUDIT_BACKLOG_WAIT = 0
"""Jiffies that a process waits when the backlog is full: none, so that the host is never slowed
down; the kernel counts the loss, which is reported."""

AUDIT_PENDING_MAX = 20_000
"""Incomplete audit events; above it the oldest are evicted and counted."""

INBOX_MAX = 400_000
"""Observations between the readers and the assembler; above it they are dropped and counted."""

PROCESSES_MAX = 65_536
"""Processes in the table: twice what a default kernel runs."""

ENDED_KEPT_US = 10_000_000
"""How long an ended process can still be named by late observations, microseconds."""

RECONCILE_S = 60.0
"""Interval at which the process table is compared with /proc, seconds: finds missed exits."""

HASH_BYTES_MAX = 256 * 1024 * 1024
"""Bytes of the largest file that is hashed; larger ones are reported without a hash."""

HASH_BYTES_PER_S = 64 * 1024 * 1024
"""Bytes hashed per second on average, so that copying a disk does not cost a core."""

HASH_BURST_BYTES = 256 * 1024 * 1024
"""Bytes that may be hashed in one burst."""

HASH_CACHE_MAX = 8_192
"""Entries of the hash cache."""

HASH_CHUNK = 1024 * 1024
"""Bytes per read while hashing."""

WRITTEN_QUIET_S = 1.0
"""Seconds without a write before a file's last write is reported."""

WRITTEN_WAITING_MAX = 10_000
"""Files that wait for WRITTEN_QUIET_S; above it they are reported without a hash."""

DECISION_S = 2.0
"""Seconds that an exec waits for the hash of its file; then it is allowed."""

GUARD_SILENT_S = 5.0
"""Seconds without a heartbeat after which the guard is killed; the kernel then allows the execs
that it had suspended."""

BANS_MAX = 100_000
"""Banned hashes."""

FILTERS_MAX = 1_000
"""Filters applied on the sensor."""

PATTERN_CHARS_MAX = 512
"""Characters of one pattern of a filter."""

PATTERN_CHOICES_MAX = 8 * 1_024
"""Ways in which one pattern can match at one position: one unbounded repeat and some short ones."""

PATTERN_INPUT_CHARS_MAX = 1_024
"""Characters of a path or command line that an expression is matched against."""

PATTERN_PROGRAM_MAX = 1_024
"""Instructions of one compiled expression: what one character of input costs at most."""

PATTERN_CACHE_MAX = 100_000
"""Cached positions and transitions of one expression, some 10 MB; above it the cache starts
anew."""

CHECKIN_S = 30.0
"""Interval between check-ins until the server sets it, seconds."""

CHECKIN_S_RANGE = (1.0, 3_600.0)
"""Range of the interval that the server may set, seconds."""

REQUEST_S = 30.0
"""Timeout of one request, seconds."""

BACK_OFF_S_MAX = 60.0
"""Longest pause after failures, seconds."""

ANSWER_BYTES_MAX = 64 * 1024 * 1024
"""Bytes of a response: a full list of bans is the largest, except for an update."""

UPDATE_BYTES_MAX = 256 * 1024 * 1024
"""Bytes of an update file."""

BINARY_BYTES_MAX = 25 * 1024 * 1024
"""Bytes uploaded of one program file (the protocol's limit)."""

BINARY_CHUNK = 1024 * 1024
"""Bytes of one upload request."""

BINARIES_WAITING_MAX = 2_048
"""Program files that wait to be offered or uploaded."""

SOCKETS_MAX = 20_000
"""Sockets on the host above which local addresses are not looked up."""

ISOLATION_ENDPOINTS_MAX = 256
"""Endpoints that an isolation order may allow, and addresses of a host name: each is two rules."""

ISOLATION_PROBLEMS_MAX = 16
"""Sentences about the isolation in one check-in."""

PROBLEM_CHARS_MAX = 300
"""Characters of one sentence about something that went wrong."""

VERSION_CHARS_MAX = 32
"""Characters of a version of the sensor."""

ENROL_S = 60.0
"""Shortest pause before another enrolment, seconds."""

ENROL_S_MAX = 900.0
"""Longest pause before another enrolment, seconds: the delay after an approval."""

UPDATE_RETRY_S = 3_600.0
"""Interval between attempts to install a refused update, and to get a missing update key,
seconds."""

FLUSH_POLL_S = 0.5
"""Interval at which an ordered flush is checked for its end between two check-ins, seconds."""

HEALTH_CHARS_MAX = 1_000
"""Characters of the health message in a check-in: the server keeps no more."""

AUDIT_LATE_US = 12_000
"""How late the times of audit events may be, microseconds. The kernel takes them from its coarse
clock, which moves once a tick: 10 ms at 100 Hz, the slowest that kernels are built with, and 2 ms
for a tick that is handled late. Forks are ordered that much earlier, exits that much later."""

WRITES_CACHED_MAX = 4_096
"""Recent writes in the cache that drops repeated ones; above it the cache starts anew."""

WRITE_AGAIN_US = 60_000_000
"""Shortest time between two events for writes of a process to one file, microseconds: a log may be
opened for every line."""

USER_NAMES_CACHED_S = 60.0
"""How long names of users are cached, seconds: accounts may be renamed."""

FILE_HEAD_BYTES = 512
"""Bytes of a file that decide its type."""

START_TICKS_APART_MAX = 3
"""Clock ticks by which a start in /proc and an observed time may differ: both are rounded."""

RECONCILE_GRACE_US = 5_000_000
"""Age from which a process that is not in /proc counts as ended, microseconds: its start may be
newer than the listing."""

SAME_PROCESS_US = 30_000
"""How far apart two reports of the start or the exec of one process may be, microseconds."""

ADDRESSES_MAX = 64
"""Addresses of the host that are reported; the server keeps as many adapters."""

FANOTIFY_READ_BYTES = 24 * 512
"""Bytes per read of the fanotify queue: 512 events of 24 bytes."""

NETLINK_WAIT_S = 30.0
"""How long an answer of the kernel on a netlink socket is waited for, seconds."""

NETLINK_MESSAGE_BYTES_MAX = 64 * 1024
"""Bytes that are read of the kernel at a time: it sends pages of 32 KiB at most."""

DATAGRAM_BYTES_MAX = 16 * 1024
"""Bytes of one datagram of the kernel, of which a longer one would lose its end: an audit record
has at most 8,970 (MAX_AUDIT_MESSAGE_LENGTH) and a header of 16, messages of processes under 100."""

READER_BATCH = 2_000
"""Datagrams that are read before the observations in them are handed over."""

READER_WAIT_S = 0.5
"""Longest wait of a reader thread for its socket, seconds: how soon it notices that it is to
stop."""

HOUSEKEEPING_S = 1.0
"""Interval at which the main thread checks the kernel sources and the guard, seconds."""

FLUSH_S = 5.0
"""How long closing the block of events may take before it is sent, seconds."""

JOIN_S = 10.0
"""How long a thread may take to end when the sensor stops, seconds."""

NFT_TIMEOUT_S = 20.0
"""Timeout of one call of nft, seconds."""

NFT_ERROR_CHARS_MAX = 500
"""Characters that are kept of what nft says when it refuses."""

GUARD_COMMAND_BYTES_MAX = 4_096
"""Bytes of the commands that the guard reads at a time: they are words."""

GUARD_HEARTBEAT_S = 1.0
"""Interval of the guard's heartbeats, seconds: several within GUARD_SILENT_S."""

GUARD_WORKERS = 2
"""Threads of the guard that hash files: a large file does not delay the exec of every other one."""

GUARD_MOUNTS_S = 30.0
"""Interval at which the guard looks for new mounts, seconds."""

GUARD_RESTART_S = 5.0
"""Pause before a guard that ended is started again, seconds."""

SYSTEMCTL_S = 20.0
"""Timeout of one call of systemctl, seconds."""

UPDATE_TRIAL_S = 30.0
"""Timeout of the trial run of an updated program, seconds."""

SOURCES_CHECK_S = 10.0
"""Interval at which the owner of the audit system is checked, seconds: another daemon may take or
release it."""

SOURCES_MOUNTS_S = 30.0
"""Interval at which the file sources look for new mounts, seconds."""

BINARY_PATHS_MAX = 8
"""Places where a program that the server orders is looked for."""

BINARY_REFUSALS_MAX = 100
"""Orders for programs that a check-in refuses; those beyond it are refused with the next one."""

BINARIES_OFFERED_MAX = 100
"""Program files in one offer to the server."""

RESPONSE_CHUNK_BYTES = 1024 * 1024
"""Bytes per read of a response."""

UPLOAD_IDLE_S = 0.5
"""Pause of the uploading thread when nothing waits, seconds."""

UPLOAD_REFUSALS_MAX = 3
"""Refusals of one block before it is dropped: the server's answer would not change."""

FANOTIFY_READS_MAX = 64
"""Reads of the fanotify queue in one round, so that waiting files are reported in between."""
