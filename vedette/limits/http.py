"""HTTP: connections, requests and their bodies."""

BODY_BYTES_MAX = 64 * 1024 * 1024
"""(setting) Bytes of a request body as sent; above it 413."""

BODY_INFLATED_BYTES_MAX = 256 * 1024 * 1024
"""(setting) Bytes of a request body after decompression: a gzip bomb ends here, with 413."""

RETRY_AFTER_S = 2
"""What 429 and 503 answer in Retry-After; `locked_out` answers `SIGN_IN_WINDOW_S`."""

REQUEST_LINE_BYTES_MAX = 256 * 1024
"""Bytes of the HTTP request line and headers: queries travel in the URL."""

HEADERS_MAX = 256
"""Headers of a request: browsers and proxies send 40. 40,000 fit into `REQUEST_LINE_BYTES_MAX`, and
keep the event loop for 25 ms."""

KEEP_ALIVE_S = 75
"""Seconds that a connection without a request stays open: more than load balancers keep theirs
(60), so that none of them sends a request into one that is being closed."""

PROXY_LISTS_CACHED_MAX = 8
"""Parsed lists of trusted proxies: the settings have one, tests a few."""

CHECKIN_THREADS = 8
"""Threads for check-ins and enrolment of sensors alone."""

READINESS_S = 5
"""How long `/readyz` waits for the store, the state or the disk: a load balancer gives up after
seconds, and what takes longer is not ready."""

REQUEST_BODY_BYTES_MAX = 8 * 1024 * 1024
"""Bytes of a JSON body that is not telemetry: a query in a body, a bulk update of 10,000 ids."""

CONCURRENT_AUTHENTICATIONS_MAX = 8
"""Threads that check tokens: apart from the ones that search, so that slow searches never keep
senders waiting."""

CONCURRENT_SIGN_INS_MAX = 2
"""Threads that check passwords, each of which takes 64 MiB and all cores for tens of milliseconds
(argon2id): apart from the ones that check tokens, which somebody who guesses would keep waiting."""

CONCURRENT_SPLITS_MAX = 4
"""Threads that inflate and split telemetry bodies; each may hold one inflated body."""

CONCURRENT_DECODES_MAX = 4
"""Threads that inflate and parse all other bodies, so that bulk telemetry never keeps a check-in
waiting."""

RECORDS_ANSWERED_ON_LOOP_MAX = 1_000
"""Records whose outcomes the event loop renders itself: 0.3 ms where they are stored, up to 9 ms
where each was refused for a reason of its own. A thread renders more of them."""

RECORDS_FREED_AT_ONCE = 1_000
"""Records of a body, or outcomes of it, that are freed before other threads have a turn: 200,000 in
one step kept the event loop for 20 to 60 ms."""

ANSWER_PIECE_BYTES = 256 * 1024
"""How much of an answer is encrypted and sent before the event loop does other work: half a
millisecond. 16 MB in one step took 30 to 60 ms."""

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

CONNECTIONS_MAX = 4_096
"""Connections of clients at the same time; fewer where the process may have few file descriptors
(`bootstrap/descriptors.py`). Above it an idle one is closed for a new one, or the new one serves
health checks and check-ins only."""

RESERVED_CONNECTIONS_MAX = 64
"""Connections above `CONNECTIONS_MAX` for health checks and check-ins, one request each."""

HANDSHAKES_MAX = 2_048
"""Connections whose TLS handshake is not complete; above it the oldest of the address that has most
is closed. As many as arrive in the second or two that a handshake takes under load."""

HANDSHAKE_DEADLINE_S = 10.0
"""How long a TLS handshake may take: three round trips, or a few seconds on a loaded machine."""

HANDSHAKE_CHECK_S = 1.0
"""How often the deadline of connections that have begun no handshake is checked."""

TLS_RECORD_BYTES_MAX = 5 + 16_384
"""Bytes of a TLS record with its header, as the protocol limits them: a first message has at most
some kilobytes."""

PROXY_HEADER_BYTES_MAX = 1_024
"""Bytes of the PROXY header before a connection of a trusted proxy: 28 or 52, and what proxies add
to it."""

IGNORED_BYTES = 64 * 1024
"""Bytes read at once, and ignored, of a client that speaks plain HTTP to the HTTPS port."""

SPARE_DESCRIPTORS = 8
"""File descriptors that are kept open to accept health checks and check-ins when there are no
others."""

SPARE_DESCRIPTORS_RETRY_S = 0.1
"""Before the next attempt to accept a connection where even the spare descriptors are used."""

HEADS_BYTES_MAX = 64 * 1024 * 1024
"""Bytes of all incomplete request heads together: 4,096 clients could each send
`REQUEST_LINE_BYTES_MAX`."""

SMALL_HEAD_BYTES_MAX = 8 * 1024
"""A head of at most this size is not refused for what others hold; usual ones have 1 kB."""

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

BODY_INFLATION_RATIO_MAX = 100
"""How many times its size a compressed body may have at most, above `BODY_INFLATED_BYTES_FREE`;
413 beyond. A bomb of 200 kB would keep a core for a minute otherwise."""

BODY_INFLATED_BYTES_FREE = 32 * 1024 * 1024
"""Bytes that a compressed body may have whatever its ratio: equal lines compress without end."""

BODY_INFLATION_RATIO_EXPECTED = 32
"""How many times its size a compressed body is expected to have at most; JSON logs reach 25. What
has more is counted first, then inflated once more with the full limit charged."""

PARAMETER_DAYS_MAX = 36_500
"""Longest span of days that a parameter can have: a hundred years, so that dates stay valid."""

URL_PARSER_BYTES_MAX = 65_535
"""Bytes of a URL that the URL parser of the HTTP library takes, whose lengths have 16 bits; of
longer ones the query string is passed around it."""

FILE_ANSWER_PIECE_BYTES = 256 * 1024
"""Bytes of a file that are sent at a time: none is held in memory whole."""

RATES_KEPT_MAX = 20_000
"""Callers and addresses whose requests are counted: a flood from many addresses must not fill the
memory."""

UNKNOWN_PATH_LOGGED_CHARS = 16
"""Characters in the log of a path that is no route's: enough to tell what a scanner looks for, and
less than half of any secret."""
