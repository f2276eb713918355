"""Commands: what they show, start and wait for."""

DEMO_HOSTS_MIN = 50
"""Hosts of the smallest demo fleet."""

DEMO_SENDERS = 40
"""Requests in flight of the demo: enough to fill one commit while another is prepared."""

DEMO_SENSORS = 8
"""Simulated sensors of a demo: the hosts of its six attacks, and no load to speak of."""

DEMO_CHECKIN_S = 3.0
"""Between two rounds of check-ins of a demo, so that a newcomer sees a host become isolated."""

DEMO_REFRESHES_A_SECOND = 4
"""Refreshes of the progress bar a second; each delays sending by a millisecond and more."""

DEMO_EARLY_BATCHES_MAX = 200
"""Batches generated while the server starts; compressed they take 25 MB."""

DEMO_ALERTS = 8
"""Rules that the demo shows with their alerts: a screen has room for them."""

DEMO_ALERTS_POLL_S = 1.5
"""Seconds between two looks at the alerts: longer than their makers wait."""

DEMO_ALERTS_WAIT_S = 8
"""Seconds that the demo waits for alerts of what it sent last."""

DEMO_QUERIES = 5
"""Queries that the demo prints and runs at once: they fit a screen."""

DEMO_POLL_S = 0.2
"""Interval of checks whether the demo's server is ready: short against a start of some seconds."""

IMPORT_HOSTS_SHOWN_MAX = 20
"""Hosts whose names the summary of an import prints: a few lines; of the rest it prints the
number."""

PIPE_WIDTH_CHARS = 4_000
"""Width in characters assumed for a pipe: wide enough for every line."""

SERVER_START_S = 60
"""How long a server that a command starts may take until it is ready: it may have a log of commits
to read."""

SERVER_STOP_S = 90
"""How long such a server may take to finish what it holds."""

SERVER_LOG_TAIL_CHARS = 1_500
"""Characters at the end of its log that are printed when it does not start: the last traceback."""

SIMULATE_REQUEST_EVENTS_MAX = 4_000
"""Events of one request of `vedette simulate`. A few such requests in flight stand for the many
small ones of as many hosts."""

TOKEN_EXPIRES_DAYS_MAX = 36_500
"""Longest lifetime of a token, in days: a hundred years, so that dates stay valid."""

SERVER_START_POLL_S = 0.1
"""Interval of checks whether a server that a command started is ready."""

COMMAND_REQUEST_TIMEOUT_S = 60.0
"""Timeout of a request that a command sends to its server."""

READY_REQUEST_TIMEOUT_S = 5.0
"""Timeout of a request that asks whether the server is ready: a busy one is asked again."""

DEMO_STOP_POLL_S = 0.5
"""Longest wait for room in the queue of batches before a failure of a sender is looked for."""

COMPLETENESS_REQUEST_S = 330.0
"""Timeout of a question about completeness: the longest deadline of a search, and a little."""
