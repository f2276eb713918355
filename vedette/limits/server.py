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

SHUTDOWN_S = 60
"""How long requests under way may take after the signal to stop."""

SHUTDOWN_IDLE_CLOSE_S = 0.5
"""How long an idle connection has to close by itself at shutdown."""

THREAD_SWITCH_INTERVAL_S = 0.0005
"""How long a thread keeps the interpreter lock while another one waits for it. With the default of
5 ms, every read of the event loop waits that long behind a search that renders its answer."""

LISTEN_BACKLOG = 4_096
"""Connections that wait to be accepted; the kernel may allow fewer (`net.core.somaxconn`). A client
whose connection does not fit tries again after 1, 3 and 7 seconds."""

JOB_LEASE_MARGIN_S = 60
"""How much longer a lease lasts than two intervals of its job, so that the holder keeps it."""
