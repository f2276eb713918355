"""HTTP: connections, requests and their bodies."""

BODY_BYTES_MAX = 64 * 1024 * 1024
"""(setting) Maximum bytes of a request body as sent. Larger bodies get 413."""

REQUEST_LINE_BYTES_MAX = 256 * 1024
"""Maximum bytes of the HTTP request line and headers. Queries are part of the URL."""

REQUEST_BODY_BYTES_MAX = 8 * 1024 * 1024
"""Maximum bytes of a JSON body other than telemetry: a query in a body, a bulk update of 10,000
ids."""

BODIES_IN_FLIGHT_BYTES_MAX = 640 * 1024 * 1024
"""Maximum bytes of all request bodies in memory, as sent and decompressed: two of the largest.
Beyond it requests get 429 with Retry-After. The telemetry queue has a limit of its own."""

SMALL_BODY_BYTES_MAX = 64 * 1024
"""Bodies up to this size may use the last eighth of `BODIES_IN_FLIGHT_BYTES_MAX`, so that large
bodies never block check-ins of sensors. Larger bodies are decoded outside the event loop."""

ZSTD_WINDOW_BYTES_MAX = 128 * 1024 * 1024
"""Maximum window of a zstd body: the default of `zstd --long`."""

INGEST_ERRORS_MAX = 10_000
"""Maximum rejected records that a response of `/api/v1/ingest` lists. The rest is only counted."""

PARAMETER_DAYS_MAX = 36_500
"""Longest period in days that a parameter can specify: a hundred years, so that dates stay
valid."""

IGNORED_AFTER_ANSWER_BYTES_MAX = 16 * 1024 * 1024
"""Maximum bytes that are read and ignored after a response. A client that sends everything before
it reads then receives the response: bulk requests of senders have up to 10 MB. Beyond the limit the
connection is aborted."""

IGNORED_DEADLINE_S = 30.0
"""Time (s) for which bytes are read and ignored after a response."""

FAULTS_SHOWN_MAX = 100
"""Faults of a body that an error names; further faults follow once these are corrected."""
