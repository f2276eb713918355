"""Server: its processes, threads, memory and shutdown."""

CERTIFICATE_VALID_DAYS = 3650
"""How long the server's own certificate is valid, in days. Ten years: replacing a certificate that
sensors pin is laborious."""

INGEST_WORKER_END_S = 10
"""How long ingest workers may take to end after their channel was closed: one commit."""

INGEST_WORKERS_MAX = 4
"""Ingest workers by default on machines with more cores: one server process cannot keep more
workers busy."""

MALLOC_TRIM_BYTES = 1024**3
"""Free bytes at the end of the heap that glibc keeps: returning and faulting in the pages of every
batch costs more."""

MALLOC_MMAP_BYTES = 32 * 1024**2
"""Bytes of an allocation from which glibc maps memory anew each time. The largest value that
mallopt accepts."""

SERVER_MMAP_BYTES = 8 * 1024**2
"""The same for the server process, above the usual bodies of senders: growing a buffer of 32 MB
copied it for up to 33 ms under the interpreter lock."""

SHUTDOWN_S = 60
"""How long requests under way may take after the signal to stop."""

SHUTDOWN_IDLE_CLOSE_S = 0.5
"""How long an idle connection has to close by itself at shutdown."""

THREAD_SWITCH_INTERVAL_S = 0.00002
"""How long a thread keeps the interpreter lock while another one waits for it, without the timer
slack of the one that waits. The event loop waits that long behind a search that renders its answer,
and under a flood some hundred times for one health check: each read, write and close of a socket
gives the lock away."""

THREAD_TIMER_SLACK_NS = 100_000
"""How much later than the interval a thread may be woken that waits for the interpreter lock; that
of the event loop is 1. With an interval as short for all of them, threads that compute would take
the lock from each other all the time."""

EVENT_LOOP_NICE = -10
"""Of the thread that accepts and answers, against 0 of all others: under load a health check waited
longer for a turn at the processor than for anything else. Needs CAP_SYS_NICE."""

GARBAGE_MIDDLE_TICKS = 10
"""Every how many tenths of a second garbage of the middle generation is collected, too. Together in
one portion, the objects of a second under attack took up to 0.13 s."""

GARBAGE_ALL_TICKS = 3_000
"""The same of all generations: every five minutes."""

THREAD_IDLE_S = 24 * 3600
"""How long a thread of the event loop that has nothing to do is kept."""

LISTEN_BACKLOG = 4_096
"""Connections that wait to be accepted; the kernel may allow fewer (`net.core.somaxconn`). A client
whose connection does not fit tries again after 1, 3 and 7 seconds."""

JOB_LEASE_MARGIN_S = 60
"""How much longer a lease lasts than two intervals of its job, so that the holder keeps it."""

JOB_REST_SHARE = 2
"""How long a background job rests after a run, in durations of the run: under load it takes at most
a third of a core, and of what it reads and writes."""

JOB_REST_MAX_S = 3.0
"""Seconds that a background job rests at most, whatever its run took: alerts wait for such jobs."""

JOB_WAITING_LOGGED_S = 60
"""How often the log has of a background job that it cannot run, as a database is away."""

LOCAL_TOKENS_RENEWED_S = 60
"""How often the tokens in `server.json` are looked at: as long may commands on the machine be
refused after the administrator whose they are is disabled."""
DOCTOR_DISK_LOW_BYTES = 20_000_000_000
"""Free bytes below which `vedette doctor` warns: a day of a thousand hosts has about as much."""

DOCTOR_DISK_LOW_SHARE = 10
"""On a small disk it warns below a tenth of it."""

DOCTOR_CERTIFICATE_DAYS = 30
"""Days before a certificate ends in which `vedette doctor` warns: time to order another one."""

DOCTOR_TOKEN_DAYS = 14
"""Days before a token in use ends in which `vedette doctor` warns: time to hand out another one."""

DOCTOR_SILENT_US = 24 * 3600 * 1_000_000
"""How long a sensor reports nothing before `vedette doctor` names it: workstations are switched off
over night."""

DOCTOR_NAMES_MAX = 20
"""Sensors or tokens that one finding of `vedette doctor` names; all are counted."""

DOCTOR_QUOTA_PERCENT = 80
"""Share of a quota from which `vedette doctor` warns: there is still room to act."""

DOCTOR_PARTS_MAX = 300
"""Data parts of a partition over all tables from which `vedette doctor` says that merges lag: with
small commits all day there are 20 to 60."""

DOCTOR_PARTS_FULL = 2_000
"""Data parts of a partition from which this is an error: the engine delays and then refuses inserts
into a table that has 1,000 to 3,000."""

DOCTOR_REQUEST_S = 60.0
"""How long `vedette doctor` waits for a server that runs."""

DOCTOR_ANSWER_CHARS = 300
"""Characters of a refusal of the server that `vedette doctor` shows."""

DOCTOR_VERIFY_S = 4 * 3600.0
"""The same with `--verify`, which reads the whole store: a terabyte at 100 MB/s has 3 hours."""

CERTIFICATE_LOOK_S = 5.0
"""How often the files of the certificate are looked at for a change; SIGHUP looks at once."""

CONFIG_CONNECT_S = 5.0
"""How long `vedette config check` waits for a database to accept a connection."""

DOCTOR_LAG_US = 5 * 60 * 1_000_000
"""How far detection may be behind before `vedette doctor` warns: rounds come every few seconds."""

DOCTOR_LAG_GRAVE_US = 3600 * 1_000_000
"""From where that is an error: attacks go on in the meantime."""

LOG_WAITING_CHARS_MAX = 4 * 1024**2
"""Characters of log lines that wait for a slow disk or reader: some ten thousand lines. More are
lost rather than keep requests waiting."""

LOG_CLOSE_S = 5.0
"""How long a server that stops waits for its last log lines to be written."""

LOG_DEPTH_MAX = 8
"""Levels of values within values that the log has; what lies deeper is left out."""

HOST_SLOTS = 128
"""Parts into which hosts are divided, which servers share out: a dozen servers differ by a tenth
in what they have, and a restart reads back the keys of one part in a moment."""

SERVER_LEASE_S = 10
"""(setting) For how long a server has its hosts after its last heartbeat: a pause of the
database or of the machine that is shorter costs nothing."""

SERVER_GRACE_S = 3
"""After the end of a lease, before others take what it covered: how far the clock of ClickHouse
may differ from that of the state database, and how long an insert that it has let in may take."""

SERVER_BEATS_A_LEASE = 5
"""Renewals in the time of a lease: some may fail."""

SERVER_SHARING_S = 0.5
"""Between two looks at what servers should give up or take."""

SHARDS_FOLLOWED_S = 1
"""Between two looks at which sensors move to other shards: records of them wait as long."""

MOVE_WAIT_S = 600
"""How long `vedette cluster move` waits for all servers at each step: the longest reads."""

MOVE_ALONE_WAIT_S = 5
"""How long `vedette cluster move` waits for another one to end: one that was killed is gone."""

MOVE_POLL_S = 0.2
"""Between two looks at whether all servers have come along."""

SENSORS_MOVED_AT_ONCE = 16
"""Sensors whose records wait while they are copied to another shard: seconds, with a gigabyte."""

FORWARD_INGEST_S = 60.0
"""For the answer of the server that has a host: less than shippers wait."""

FORWARD_INGEST_CONNECT_S = 3.0
"""For a connection to another server: it is near."""

FORWARD_CONNECTIONS_MAX = 64
"""Connections to another server; more requests at once wait for each other."""

FORWARD_ROUNDS_MAX = 3
"""How often records of one request are sent to another server than before, since their hosts turned
out to be elsewhere: more often only while servers come and go."""

FORWARD_OVERHEAD_BYTES_MAX = 1 << 20
"""Of a forwarded request beside its records."""

FORWARDED_NAMES_MAX = 500_000
"""Names of hosts that other servers have, by which records are forwarded undecoded; about 100
bytes each."""

SERVER_TOKEN_S = 60
"""For how long a server's signature of a request is good: clocks of servers differ."""

REQUEST_COUNTS_S = 1.0
"""Between two exchanges of how many requests tokens have made."""

REQUEST_COUNTS_KEPT_S = 120
"""How long the counts of an idle key are kept: its bucket is full again after a minute."""

STORE_OPENING_WAIT_S = 120
"""For which a server that starts waits for another one that is making or upgrading the tables of a
cluster: adding a column or an index takes seconds, and one that hangs must not be waited for."""

PARTITIONS_FOLLOWED_S = 2
"""Between two looks at which partition the servers of a cluster write to, and which not."""

PARTITIONS_FOLLOW_WAIT_S = 60
"""How long a change of a partition waits for other servers to go along with it, and for commits
that may write to it."""

PARTITIONS_WAIT_STEP_S = 0.1
"""Between two looks at whom such a change waits for."""
