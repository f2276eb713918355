"""State: accounts, tokens, sessions, and statements to the state database."""

TOKEN_STALE_US = 1_000_000
"""Time for which an authenticated token, and the scope of its user, are cached."""

STATE_TRANSACTION_ROWS_MAX = 2_000
"""Maximum rows of a transaction of the state database, about 0.3 s. Check-ins wait for it. Larger
changes are split into several transactions."""

TOKEN_LIFETIME_US = 365 * 24 * 3600 * 1_000_000
"""Default lifetime of a token, so that a forgotten token expires."""

TOKEN_USE_NOTED_US = 60 * 1_000_000
"""Resolution of `last_used_us` of a token: at most one write per minute and token."""

USER_DETAIL_CHARS_MAX = 300
"""Maximum characters of a first name, last name or mail address."""

STATE_NAME_CHARS_MAX = 200
"""Maximum characters of the name of a group, team or token."""

HOSTS_PER_STATEMENT = 500
"""Maximum host names in a statement. Both databases bound the number of parameters."""

APPROVED_ADDRESSES_MAX = 1_000
"""Maximum entries of the approved list. Each request is compared with all of them."""

SIGN_IN_WINDOW_S = 15 * 60
"""Period over which attempts to sign in are counted, from the first attempt."""

SESSION_S_MAX = 12 * 3600
"""Time after which a session ends, used or not: a working day."""

SESSION_IDLE_S = 60 * 60
"""Time after which an unused session ends. Use is recorded every minute (`TOKEN_USE_NOTED_US`)."""
