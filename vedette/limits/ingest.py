"""Ingest: decoding and normalizing records, and the context of their hosts."""

RECORD_BYTES_MAX = 1024 * 1024
"""Maximum bytes of a telemetry record. Sysmon events have about 1.3 kB, script blocks up to 64
kB."""

RECORD_NESTING_MAX = 64
"""Maximum nesting of a JSON record. Real records have at most 6 levels."""

TEXT_CHARS_MAX = 64 * 1024
"""Maximum stored characters of a text value (a command line has at most 32,767 on Windows)."""

AUDIT_LINE_CHARS_MAX = 128 * 1024
"""Maximum characters read from a line of a Linux audit log. The kernel writes at most 8,970 bytes
per line; auoms writes a whole event with its command line into a line."""

SYSLOG_PREAMBLE_BYTES_MAX = 1_024
"""Maximum bytes that a syslog daemon or collector may write before an XML event."""

TIME_AHEAD_US = 24 * 3600 * 1_000_000
"""Event times more than a day ahead of the server's clock are rejected."""

ADAPTER_TEXTS_CACHED = 4_096
"""Maximum cached address lists of hosts. Shippers repeat them in every record."""

HOSTNAME_CHARS_MAX = 255
"""Maximum characters of a host name (RFC 1035 allows 253, NetBIOS 15)."""

CLOCK_OFFSET_HOURS_MAX = 26
"""Maximum clock offset. Larger offsets than any time zone are late or replayed records."""

CSV_HEADER_BYTES_MAX = 16 * 1024
"""Maximum bytes of the first line of a CSV table. That of Defender's largest table has about 4
kB."""

ENDPOINT_KEY_CHARS_MAX = 256
"""Maximum characters of an endpoint agent's id for a process. Real ids have at most 108."""

ENDPOINT_ARGUMENTS_MAX = 4_096
"""Maximum items read from a list in an endpoint agent's event: arguments of a process, paths,
answers."""

ENDPOINT_ADDRESSES_MAX = 64
"""Maximum addresses of a host, and answers of a query, read from an event of an endpoint agent."""

MODULE_LIST_ITEMS_MAX = 1_024
"""Maximum items read from a list that a Winlogbeat module made of a text. Real lists have at most
40."""
