"""All limits of the sensor, with units and reasons."""

BLOCK_BYTES_MAX = 4 * 1024 * 1024
"""Maximum uncompressed bytes of a block that the server accepts."""

BLOCK_BYTES_WANTED = 1024 * 1024
"""Bytes of events at which a block is closed before BLOCK_AGE_S."""

BLOCK_AGE_S = 2.0
"""Maximum age (s) of events that are not on disk, which a crash of the sensor may lose."""

BLOCK_AGE_AWAY_S = 20.0
"""BLOCK_AGE_S while the server is unreachable: fewer, larger files."""

BLOCKS_WAITING_MANY = 50
"""Blocks on disk above which the server counts as unreachable."""

QUEUE_BYTES_MAX = 512 * 1024 * 1024
"""(setting) Maximum bytes of blocks on disk. Beyond it the oldest block is dropped and counted."""

QUEUE_BYTES_MIN = 8 * 1024 * 1024
"""Minimum of the setting: two full blocks."""

DISK_FREE_BYTES_MIN = 64 * 1024 * 1024
"""Free bytes that the queue leaves on its file system."""

EVENT_BYTES_MAX = 512 * 1024
"""Maximum bytes of an event. Command lines are truncated earlier."""

TEXT_CHARS_MAX = 32 * 1024
"""Maximum characters of a text before truncation. A command line may have 2 MiB."""

HOLD_US = 600_000
"""Delay of observations, to wait for earlier observations from other sources (us)."""

TICK_S = 0.1
"""Interval between reads of the kernel's queues (s): a wake-up per batch, not per record."""

ASSEMBLE_S = 0.25
"""Interval between rounds of the assembling thread (s)."""

SOCKET_BYTES = 32 * 1024 * 1024
"""Receive buffer of a netlink socket (bytes): some seconds at 5,000 records a second."""

AUDIT_BACKLOG = 16_384
"""Records that the kernel queues for its daemon. The default of 64 loses bursts."""

AUDIT_BACKLOG_WAIT = 0
"""Jiffies that a process waits if the backlog is full: none, so that the host is never slowed down.
The kernel counts lost records, and the sensor reports the count."""

AUDIT_PENDING_MAX = 20_000
"""Maximum incomplete audit events. Beyond it the oldest are evicted and counted."""

INBOX_MAX = 400_000
"""Maximum observations between the readers and the assembler. Beyond it they are dropped and
counted."""

PROCESSES_MAX = 65_536
"""Maximum processes in the table: twice what a default kernel runs."""

ENDED_KEPT_US = 10_000_000
"""Time for which late observations can still refer to an ended process (us)."""

RECONCILE_S = 60.0
"""Interval at which the process table is compared with /proc (s), to detect missed exits."""

HASH_BYTES_MAX = 256 * 1024 * 1024
"""Maximum bytes of a file that is hashed. Larger files are reported without a hash."""

HASH_BYTES_PER_S = 64 * 1024 * 1024
"""Bytes hashed per second on average, so that copying a disk does not occupy a core."""

HASH_BURST_BYTES = 256 * 1024 * 1024
"""Bytes that may be hashed in a burst."""

HASH_CACHE_MAX = 8_192
"""Maximum entries of the hash cache."""

HASH_CHUNK = 1024 * 1024
"""Bytes per read while hashing."""

WRITTEN_QUIET_S = 1.0
"""Time without a write before a file's last write is reported (s)."""

WRITTEN_WAITING_MAX = 10_000
"""Maximum files that wait for WRITTEN_QUIET_S. Beyond it they are reported without a hash."""

DECISION_S = 2.0
"""Time that an exec waits for the hash of its file (s). After it the exec is allowed."""

GUARD_SILENT_S = 5.0
"""Time without a heartbeat after which the guard is killed (s). The kernel then allows the execs
that it had suspended."""

BANS_MAX = 100_000
"""Maximum banned hashes."""

FILTERS_MAX = 1_000
"""Maximum filters applied on the sensor."""

PATTERN_CHARS_MAX = 512
"""Maximum characters of a filter pattern."""

PATTERN_CHOICES_MAX = 8 * 1_024
"""Maximum number of ways in which a pattern can match at a position: an unbounded repeat and some
short ones."""

PATTERN_INPUT_CHARS_MAX = 1_024
"""Maximum characters of a path or command line that an expression is matched against."""

PATTERN_PROGRAM_MAX = 1_024
"""Maximum instructions of a compiled expression: the maximum cost of a character of input."""

PATTERN_CACHE_MAX = 100_000
"""Maximum cached positions and transitions of an expression, some 10 MB. Beyond it the cache is
cleared."""

CHECKIN_S = 30.0
"""Interval between check-ins until the server sets it (s)."""

CHECKIN_S_RANGE = (1.0, 3_600.0)
"""Range of the interval that the server may set (s)."""

REQUEST_S = 30.0
"""Timeout of a request (s)."""

BACK_OFF_S_MAX = 60.0
"""Longest pause after failures (s)."""

ANSWER_BYTES_MAX = 64 * 1024 * 1024
"""Maximum bytes of a response other than an update. A full list of bans is the largest."""

UPDATE_BYTES_MAX = 256 * 1024 * 1024
"""Maximum bytes of an update file."""

BINARY_BYTES_MAX = 25 * 1024 * 1024
"""Maximum bytes uploaded of a program file (the protocol's limit)."""

BINARY_CHUNK = 1024 * 1024
"""Bytes of an upload request."""

BINARIES_WAITING_MAX = 2_048
"""Maximum program files that wait to be offered or uploaded."""

SOCKETS_MAX = 20_000
"""Maximum sockets on the host. Beyond it local addresses are not looked up."""

ISOLATION_ENDPOINTS_MAX = 256
"""Maximum endpoints that an isolation order may allow, and addresses of a host name. Each takes two
rules."""

ISOLATION_PROBLEMS_MAX = 16
"""Maximum problem messages about the isolation in a check-in."""

PROBLEM_CHARS_MAX = 300
"""Maximum characters of a problem message."""

VERSION_CHARS_MAX = 32
"""Maximum characters of a sensor version."""

ENROL_S = 60.0
"""Shortest pause before another enrollment (s)."""

ENROL_S_MAX = 900.0
"""Longest pause before another enrollment (s): the delay after an approval."""

UPDATE_RETRY_S = 3_600.0
"""Interval between attempts to install a rejected update, and to get a missing update key (s)."""

FLUSH_POLL_S = 0.5
"""Interval at which an ordered flush is checked for completion between two check-ins (s)."""

HEALTH_CHARS_MAX = 1_000
"""Maximum characters of the health message in a check-in. The server stores no more."""

AUDIT_LATE_US = 12_000
"""Maximum delay of audit event times (us). The kernel takes them from its coarse clock, which
advances once per tick: 10 ms at 100 Hz, the lowest frequency of kernels, plus 2 ms for a tick that
is handled late. Forks are ordered that much earlier, exits that much later."""

WRITES_CACHED_MAX = 4_096
"""Maximum recent writes in the cache that drops repeated writes. Beyond it the cache is cleared."""

WRITE_AGAIN_US = 60_000_000
"""Shortest time between two events for writes of a process to a file (us). A log may be opened for
every line."""

USER_NAMES_CACHED_S = 60.0
"""Time for which user names are cached (s). Accounts may be renamed."""

FILE_HEAD_BYTES = 512
"""Bytes of a file that determine its type."""

START_TICKS_APART_MAX = 3
"""Maximum difference between a start in /proc and an observed time (clock ticks). Both are
rounded."""

RECONCILE_GRACE_US = 5_000_000
"""Minimum age (us) of a process that counts as ended if it is not in /proc. A younger process may
be newer than the listing."""

SAME_PROCESS_US = 30_000
"""Maximum difference between two reports of the start or exec of a process (us)."""

ADDRESSES_MAX = 64
"""Maximum reported addresses of the host. The server stores as many adapters."""

FANOTIFY_READ_BYTES = 24 * 512
"""Bytes per read of the fanotify queue: 512 events of 24 bytes."""

NETLINK_WAIT_S = 30.0
"""Timeout for an answer of the kernel on a netlink socket (s)."""

NETLINK_MESSAGE_BYTES_MAX = 64 * 1024
"""Bytes per read from the kernel, which sends at most pages of 32 KiB."""

DATAGRAM_BYTES_MAX = 16 * 1024
"""Maximum bytes of a kernel datagram; a longer one would be truncated. An audit record has at most
8,970 (MAX_AUDIT_MESSAGE_LENGTH) and a header of 16, process messages have less than 100."""

READER_BATCH = 2_000
"""Datagrams that are read before their observations are passed on."""

READER_WAIT_S = 0.5
"""Longest wait of a reader thread for its socket (s), and so its delay in noticing a stop."""

HOUSEKEEPING_S = 1.0
"""Interval at which the main thread checks the kernel sources and the guard (s)."""

FLUSH_S = 5.0
"""Maximum wait for the event block to be closed before it is sent (s)."""

JOIN_S = 10.0
"""Maximum time for a thread to end when the sensor stops (s)."""

NFT_TIMEOUT_S = 20.0
"""Timeout of a call of nft (s)."""

NFT_ERROR_CHARS_MAX = 500
"""Maximum characters that are kept of an error message of nft."""

GUARD_COMMAND_BYTES_MAX = 4_096
"""Bytes per read of commands by the guard. Commands are single words."""

GUARD_HEARTBEAT_S = 1.0
"""Interval of the guard's heartbeats (s): several within GUARD_SILENT_S."""

GUARD_WORKERS = 2
"""Threads of the guard that hash files. A large file does not delay the exec of all others."""

GUARD_MOUNTS_S = 30.0
"""Interval at which the guard looks for new mounts (s)."""

GUARD_RESTART_S = 5.0
"""Pause before a guard that ended is restarted (s)."""

SYSTEMCTL_S = 20.0
"""Timeout of a call of systemctl (s)."""

UPDATE_TRIAL_S = 30.0
"""Timeout of the trial run of an updated program (s)."""

SOURCES_CHECK_S = 10.0
"""Interval at which the owner of the audit system is checked (s). Another daemon may take or
release it."""

SOURCES_MOUNTS_S = 30.0
"""Interval at which the file sources look for new mounts (s)."""

BINARY_PATHS_MAX = 8
"""Maximum paths where an ordered program is looked for."""

BINARY_REFUSALS_MAX = 100
"""Maximum orders for programs that a check-in refuses. Further orders are refused with the next
one."""

BINARIES_OFFERED_MAX = 100
"""Maximum program files in an offer to the server."""

RESPONSE_CHUNK_BYTES = 1024 * 1024
"""Bytes per read of a response."""

UPLOAD_IDLE_S = 0.5
"""Pause of the uploading thread if nothing waits (s)."""

UPLOAD_REFUSALS_MAX = 3
"""Refusals of a block before it is dropped: the server's answer would not change."""

FANOTIFY_READS_MAX = 64
"""Maximum reads of the fanotify queue in a round, so that waiting files are reported in between."""
