"""Notifications: actions, the outbox, its messages, and responses by rule."""

OUTBOX_PURGE_ROWS = 10_000
"""Tombstones deleted at a time: a transaction of milliseconds."""

NOTICE_TEXT_CHARS_MAX = 2_000
"""Maximum characters of a value in a message. Command lines of malware are longer, but more does
not help readers. The alert contains all of it."""


WEBHOOK_BATCH = 50
"""Messages taken for a receiver at a time. Each is a request of its own."""

TEMPLATE_BYTES_MAX = 64 << 10
"""Maximum bytes of an operator's own template."""

WEBHOOK_SECRET_CHARS_MAX = 2_000
"""Maximum characters of a webhook's key, authorization or parameter."""
