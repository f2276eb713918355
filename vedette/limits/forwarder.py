"""Forwarders: how much is sent at a time, and how long a destination may take."""

FORWARDERS_MAX = 50
"""Forwarders of a server; each reads everything for itself."""

FORWARDER_NAME_CHARS_MAX = 100
"""Characters of a forwarder's name."""

FORWARDER_OPTION_CHARS_MAX = 2_000
"""Characters of one member of a destination: URLs and keys are the longest."""

FORWARDER_PATH_CHARS_MAX = 400
"""Characters of a path template; object stores take 1,024 bytes with the file's name."""

FORWARDER_FILE_BYTES_MAX = 1 << 20
"""Bytes of a file that configures forwarders."""

FORWARD_READ_ROWS = 5_000
"""Alerts or hits that are read at a time, usually 10 MiB of them."""

FORWARD_READ_EVENTS = 50_000
"""Events that are read at a time, whole commits of them; one commit may have more, as its bodies
were bounded when they came."""

FORWARD_READ_COMMITS = 20_000
"""Commits that are looked at for that, so that who begins in the past does not count all there are
for each file; there are some ten a second at most."""

FORWARD_FILE_RECORDS_MAX = 50_000
"""Records of one file or request."""

FORWARD_FILE_BYTES_MAX = 16 << 20
"""Bytes of one file or request before compression: what a forwarder holds in memory."""

KAFKA_MESSAGE_BYTES_MAX = 32 << 20
"""Bytes of one message: the longest record and its envelope, so that the broker alone decides."""

FORWARD_SEND_S = 60.0
"""Seconds for one file or request, however slowly the other side speaks."""

FORWARD_HOLD_S = 90.0
"""Seconds for which a server holds a forwarder: more than one file takes. After a server that ran
it was killed, it goes on so much later."""

FORWARD_TURN_S = 30.0
"""Seconds after which a forwarder with much to send lets others have its thread."""

FORWARD_THREADS = 4
"""Forwarders that read and send at the same time: more gain nothing on the cores of a server."""

FORWARD_SLOW_S = 5.0
"""Seconds for one file after which a forwarder counts as slow, and another has its place."""

FORWARD_THREADS_MAX = 10
"""Forwarders at the same time with those that are slow; each has a file and what it was made of in
memory, some 30 MiB."""

FORWARD_THREADS_FAILING = 2
"""Forwarders at the same time that may be failing, so that working ones always find a thread."""

FORWARD_BACKOFF_MIN_S = 2.0
"""Seconds before the second attempt; doubled with every failure."""

FORWARD_BACKOFF_MAX_S = 300.0
"""Seconds between attempts at most: a destination that is back is noticed in five minutes."""

FORWARD_BACKOFF_ASKED_MAX_S = 3_600.0
"""Seconds that a destination may ask to wait."""

FORWARD_INTERVAL_S = 10
"""Seconds between two times that a forwarder looks for something new, unless it says otherwise."""

FORWARD_INTERVAL_S_MAX = 3_600
"""Most seconds for that: files of an hour."""

FORWARD_ERROR_CHARS_MAX = 500
"""Characters kept of the error of an attempt: a destination may answer with a page."""

FORWARDED_HITS_MAX = 500_000
"""Hits that wait, a gigabyte of them: a destination that is down for long must not fill the disk.
Of more the oldest are deleted, and counted where operators see it."""

FORWARD_DISK_FREE_BYTES_MIN = 2_000_000_000
"""Free bytes that a directory leaves on its disk: it may be that of the stores."""

FORWARD_TRIALS = 2
"""Tests of forwarders at the same time: each may hold a thread of the API for a minute."""

FORWARD_HITS_PURGED = 5_000
"""Hits that are deleted at a time after all forwarders have sent them: a transaction of
milliseconds."""

FORWARDER_TYPES_MAX = 10
"""Types of records that one forwarder names; there are fewer."""
