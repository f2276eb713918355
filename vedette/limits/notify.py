"""Actions, the outbox, what is sent from it, and responses by rule."""

ACTIONS_OF_A_SOURCE_MAX = 200
"""Stored actions of one rule, feed or watchlist: one mail action a user, and some webhooks."""

SOURCES_PER_STATEMENT = 500
"""Ids of sources in one statement; both databases bound the parameters."""

OUTBOX_KEYS_PER_STATEMENT = 500
"""Keys of messages in one statement; both databases bound the parameters."""

OUTBOX_WAITING_MAX = 100_000
"""Messages that wait for one target. A receiver that is down for a day in a storm of alerts must
not fill the disk; what comes on top is counted where operators see it."""

OUTBOX_ERROR_CHARS_MAX = 500
"""Characters kept of the error of an attempt: a receiver may answer with a page."""

OUTBOX_TOMBSTONE_US = 180 * 24 * 3600 * 1_000_000
"""How long a key is kept after its message was sent or given up, so that the same detection, found
again, is not sent again."""

OUTBOX_PURGE_ROWS = 10_000
"""Tombstones deleted at a time: a transaction of milliseconds."""

OUTBOX_LIST_MAX = 1_000
"""Messages in one answer of the outbox's list."""

OUTBOX_LIST_DEFAULT = 100
"""Messages in such an answer, of a caller that does not say how many."""

OUTBOX_TRIALS_PER_MINUTE = 6
"""Test messages that people send to one target: enough to set it up, too few to flood whoever reads
there."""

OUTBOX_TRIALS_KEY_CHARS = 200
"""Characters of the target by which such messages are counted."""

NOTICE_TEXT_CHARS_MAX = 2_000
"""Characters of one value in a message: command lines of malware are longer, and readers are not
helped by more. The alert has all of it."""

NOTICE_LIST_MAX = 50
"""Tags, techniques or matched fields in a message."""

MAIL_RECIPIENTS_MAX = 1_000
"""Users to whom one action sends mail."""

MAIL_MESSAGE_ID_CHARS_MAX = 100
"""Characters of the part of a Message-ID that names the message: a header line has 998."""

SLACK_TEXT_CHARS_MAX = 290
"""Characters of a value for Slack, which refuses texts of more than 3,000; an escaped one counts as
five, and a message has two."""

TEMPLATE_SHORT_CHARS = 120
"""Characters of a value that a template wants short: a subject, a title."""

SYSLOG_ANSWER_BYTES = 4_096
"""Bytes read at a time of what a receiver of syslog answers: it is thrown away."""

SYSLOG_BATCH = 200
"""Messages that share a connection to a syslog server."""

SYSLOG_CONNECT_S = 10
"""Seconds for a connection to a syslog server, and for one write to it."""

SYSLOG_TOTAL_S = 30
"""Seconds for a batch: a receiver that reads a byte at a time is given up."""

SYSLOG_DRAIN_S = 5
"""Seconds in which a receiver that has read everything closes the connection."""

SYSLOG_ICMP_WAIT_S = 0.05
"""Seconds in which a host says that nobody listens at a UDP port; nobody else ever does."""

SYSLOG_UDP_BYTES_MAX = 2_048
"""Bytes of a datagram: what receivers have to take according to RFC 5426."""

MAIL_CONNECT_S = 10
"""Seconds for a connection to the mail server, and for one answer of it."""

MAIL_TOTAL_S = 30
"""Seconds for one mail: a server that answers a byte at a time is given up. A server that stops
waits so long for what is being sent."""
"""Seconds for one mail: a server that answers a byte at a time is given up. The stop of
this server waits as long for what is being sent."""

MAIL_DETECTIONS_MAX = 50
"""Detections in one mail; nobody reads more."""

MAIL_SUBJECT_CHARS_MAX = 150
"""Characters of a subject before what the digest adds: mail programs cut longer ones."""

POST_CONNECT_S = 10
"""Seconds for a connection to a receiver, and for one read from it."""

POST_TOTAL_S = 20
"""Seconds for one POST: a receiver that answers a byte at a time is given up."""

POST_ANSWER_BYTES = 1_024
"""Bytes read of an answer: what is shown as the error."""

URL_CHARS_MAX = 2_000
"""Characters of a webhook's URL."""

WEBHOOK_BATCH = 50
"""Messages that are taken for one receiver at a time; each is a request of its own."""

TEMPLATE_BYTES_MAX = 64 << 10
"""Bytes of an operator's own template."""

OUTBOX_THREADS_A_KIND = 4
"""Targets of one kind that are sent to at the same time: one that hangs holds a thread."""

OUTBOX_THREADS_FAILING = 2
"""Of those the ones that may be failing targets, so that working ones always find a thread."""

OUTBOX_TURN_S = 30
"""Seconds after which a target with many messages lets others have its thread."""

OUTBOX_HOLD_S = 150
"""Seconds for which a server holds a target: more than the longest attempt. After a server of a
cluster died, its targets wait so long."""

OUTBOX_BACKOFF_MIN_S = 2
"""Seconds before the second attempt; doubled with every failure."""

OUTBOX_BACKOFF_MAX_S = 300
"""Seconds between attempts at most: a receiver that is back is noticed in five minutes."""

OUTBOX_BACKOFF_ASKED_MAX_S = 3_600
"""Seconds that a receiver may ask to wait."""

OUTBOX_GIVE_UP_US = 3 * 24 * 3600 * 1_000_000
"""Age at which a message to a failing target becomes a dead one: over a weekend nothing is given
up."""

RESPONSE_POLICIES_MAX = 100
"""Policies of response by rule."""

RESPONSE_EVENT_AGE_MAX_US = 24 * 3600 * 1_000_000
"""Age of an event up to which a rule that fires on it causes a response: an import of old logs must
not isolate the hosts of today."""

RESPONSE_LIST_MAX = 1_000
"""Responses in one answer of their list."""

WEBHOOK_SECRET_CHARS_MAX = 2_000
"""Characters of a webhook's key, authorization or parameter."""

WEBHOOK_PARAMS_MAX = 20
"""Parameters of a webhook's template."""

ACTION_DATA_CHARS_MAX = 20_000
"""Characters of `action_data`, which clients send as JSON in a text."""

RESPONSE_HOURS_MAX = 24 * 365
"""Hours after which a response can end: a year."""

RESPONSE_NAMES_MAX = 1_000
"""Rules, or hosts that are never isolated, of one policy."""

RESPONSE_NAME_CHARS_MAX = 200
"""Characters of the name of a policy."""

RESPONSE_ENTRY_CHARS_MAX = 300
"""Characters of the id of a rule, or of the name of a host, in a policy."""

RESPONSE_TEXT_CHARS_MAX = 1_000
"""Characters that are kept of what became of a response."""

AUDIT_HEAD_S = 300
"""Seconds between two times that the head of the audit log is sent to syslog: what was written
since could be rewritten unnoticed."""
