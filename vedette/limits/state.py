"""State: accounts, tokens, the trusted time, and statements to the state database."""

TOKEN_STALE_US = 1_000_000
"""For how long an authenticated token, and what its user may see, is believed unread."""

TOKENS_CACHED_MAX = 10_000
"""Secrets cached between reads, known or not: guessing must not fill the memory."""

CLOCK_JUMP_US = 10 * 60 * 1_000_000
"""A wall clock that differs more from elapsed time was set; NTP corrects less, or gradually."""

CLOCK_ABSENCE_US = 3 * 24 * 3600 * 1_000_000
"""After a longer absence over a reboot nothing is deleted by age until the time is confirmed."""

CLOCK_SAVE_S = 60
"""Between two writes of the trusted time to the state database."""

STATE_COMMIT_WAIT_MS = 15
"""How long a write to the state database waits for company."""

STATE_COMMIT_COMPANY = 8
"""Writes that wait already: where there are as many, nobody waits for more."""

STATE_COMMIT_WORKS_MAX = 256
"""Writes to the state database that share a transaction."""

TOKEN_LIFETIME_US = 365 * 24 * 3600 * 1_000_000
"""How long a token is good when nobody says otherwise: a forgotten one ends some day."""

SCOPES_CACHED_MAX = 64
"""Sets of groups whose sensors are cached."""

APPROVING_SEEN_US = 30 * 24 * 3600 * 1_000_000
"""A token that was not used for so long is not among those that approving would lock out."""

TOKEN_USE_NOTED_US = 60 * 1_000_000
"""How coarse `last_used_us` of a token is: a write a minute and token at most."""

PASSWORD_CHARS_MIN = 10
"""Characters of a password at least: shorter ones are guessed."""

PASSWORD_CHARS_MAX = 1_000
"""Characters of a password at most. Hashing is costly: what is hashed is bounded."""

USER_DETAIL_CHARS_MAX = 300
"""Characters of a first name, last name or mail address."""

OPERATOR_NAME_CHARS_MAX = 64
"""Characters of the account of whoever types a command, as the audit log has it: accounts of Linux
have 32, those of a directory may have a domain before them."""

SQLITE_BUSY_MS = 10_000
"""How long an SQLite writer waits for another one; commits take milliseconds."""

SQLITE_LOCKED_S = 0.005
"""Between two looks at a new file whose mode another connection is setting."""

POSTGRES_CONNECT_S = 10
"""How long a connection to PostgreSQL may take."""

POSTGRES_SILENT_S = 5
"""For how long PostgreSQL may leave packets unanswered before its connection is given up: less than
a lease of a server."""

POSTGRES_KEEPALIVE_S = 2
"""Between two packets that ask a silent connection whether it lives."""

POSTGRES_KEEPALIVES = 3
"""Of those, how many may stay unanswered."""

STATE_CONNECTIONS_MAX = 10
"""Connections of one server to the state database: more requests at once wait for each other."""

STATE_NAME_CHARS_MAX = 200
"""Characters of a name of a group, team or token."""

SENSOR_CHANGES_OVERLAP_US = 60 * 1_000_000
"""Overlap of two polls for changed sensors: clocks of several servers differ."""

HOST_LABELS_PER_STATEMENT = 250
"""First labels of host names in one statement, two parameters each; both databases bound the
parameters."""

HOSTS_PER_STATEMENT = 500
"""Host names in one statement; both databases bound the parameters."""

SENSOR_KEYS_PER_READ = 256
"""Sensors with neighbouring ids that are loaded together."""

GROUP_SETTINGS_CACHED_MAX = 1_024
"""Stored options of groups that are cached in parsed form: a server has fewer groups."""

AUDIT_TARGET_CHARS_MAX = 300
"""Characters of the name that an entry of the audit log gives its object: host names fit."""

APPROVED_ADDRESSES_MAX = 1_000
"""Entries of the approved list: each request is compared with all of them."""

AUDIT_ROWS_MAX = 10_000
"""Entries of one answer of the audit log; an export reads page after page."""

LICENSE_CHARS_MAX = 10_000
"""Characters of a license; a signed token has a few hundred."""

SIGN_IN_WINDOW_S = 15 * 60
"""Seconds over which attempts to sign in are counted, from the first."""

SIGN_INS_OF_USER_AND_ADDRESS_MAX = 8
"""Attempts of one address for one user in that time: people mistype, programs guess."""

SIGN_INS_OF_USER_MAX = 60
"""Attempts for one user from all addresses together. Above those of one address, so that nobody
locks a user out from a single one."""

SIGN_INS_OF_ADDRESS_MAX = 40
"""Attempts of one address for all users, but for those that were right: an office has one address
for many people."""

LOCK_OUTS_NOTED_MAX = 100
"""Entries of the audit log about those who are locked out in that time: whoever has thousands of
addresses runs into one lock after the other."""

SIGN_IN_LINK_S = 15 * 60
"""Seconds that a link signs in: long enough to carry it from a terminal to a browser."""

SIGN_INS_OF_LINK_MAX = 8
"""Attempts with one link, from all addresses together: codes of a second factor are mistyped; who
found the link guesses them."""

SESSION_S_MAX = 12 * 3600
"""Seconds after which a session ends, used or not: a working day."""

SESSION_IDLE_S = 60 * 60
"""Seconds after which an unused session ends; noted every minute (`TOKEN_USE_NOTED_US`)."""

SESSIONS_PER_USER_MAX = 20
"""Sessions of one user at once; the oldest ends when one more begins."""

SESSION_KEPT_US = 7 * 24 * 3600 * 1_000_000
"""How long ended sessions are listed; the audit log has them for ever."""

SESSION_NAME_CHARS_MAX = 100
"""Characters of what a browser calls itself, in the list of sessions."""

STATE_MOVE_ROWS = 5_000
"""Rows that a move to PostgreSQL has in memory at once."""
