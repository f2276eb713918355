"""Sensors: enrolment, check-ins, live queries, copies of programs, installers."""

SENSORS_MAX = 1_000_000
"""Hosts that the server takes in; records of further ones are refused until an operator acts."""

CHANNELS_MAX = 32_767
"""Channel names with a code of their own: the code and a 48-bit record id share 63 bits."""

SENSOR_ONLINE_US = 15 * 60 * 1_000_000
"""A sensor that sent something within this time is Online; shippers of quiet hosts post every few
minutes."""

SENSORS_PAGE_MAX = 10_000
"""Rows of one page of `GET /api/v2/sensor`."""

SENSORS_CHANGED_MAX = 1_000
"""Sensors of one `PUT /api/v1/sensor`: each is a transaction of a few milliseconds."""

SENSOR_KEY_STALE_US = 3600 * 1_000_000
"""For how long a sensor's key is believed unread; changes end it within seconds."""

SENSOR_KEYS_CACHED_MAX = 150_000
"""Sensor keys cached between reads, about 0.5 kB each: a fleet, and some to spare."""

SHARED_ORDERS_MAX = 1_000
"""Kinds of sensors (by group, system, version and bans that they have) whose orders are
cached, about 1 kB each without bans."""

SHARED_BANS_MAX = 1_000
"""Bans in orders that are cached, so that all together stay under 200 MB."""

SENSOR_BLOCK_BYTES_MAX = 4 * 1024 * 1024
"""Bytes of one block of events of a sensor, after decompression."""

SENSOR_BODY_BYTES_MAX = 512 * 1024
"""Bytes of an enrolment, a check-in or an offer of files, after decompression; real check-ins
have 1 kB."""

SENSOR_TEXT_CHARS_MAX = 1_024
"""Characters of a text that a sensor reports about itself."""

SENSOR_LIST_MAX = 1_000
"""Entries of a list in a sensor's message: blocked programs, offered files."""

SENSOR_ADAPTERS_MAX = 64
"""Network adapters of a host."""

SENSOR_NUMBER_MAX = (1 << 63) - 1
"""Largest number that a sensor may report: what the state database holds."""

SENSOR_EPOCHS_MAX = 8
"""Queues of one sensor whose progress is kept; a sensor begins one when it loses its disk."""

SENSOR_HASHES_KEPT = 64
"""Blocks of a queue whose hash is kept, to recognise a repeated block."""

SENSOR_GAPS_MAX = 1_000
"""Gaps of one queue that are kept; of more, the oldest become one."""

CHECKINS_A_SECOND_MAX = 400
"""Check-ins a second that a server asks for: larger fleets get a longer interval."""

SENSOR_CHECKINS_MISSED = 5
"""Check-ins that a sensor may miss before it is Offline."""

SENSOR_NOTES_CHARS_MAX = 10_000
"""Characters of the notes that people keep with a sensor."""

COPIED_FILE_BYTES_MAX = 25 * 1024 * 1024
"""Bytes of a program that are copied; of a larger one the beginning
(docs/api-objects.md#limits-of-answers)."""

COPIED_PIECE_BYTES_MAX = 8 * 1024 * 1024
"""Bytes of one piece of a copied program."""

COPIED_FILES_ARRIVING = 16
"""Programs of one sensor that are on their way at the same time."""

COPIED_FILE_STALE_S = 7 * 24 * 3600
"""When a copy that stopped arriving is given up, seconds."""

LIVE_QUERY_CHARS_MAX = 10_000
"""Characters of a live query."""

LIVE_QUERY_SENSORS_MAX = 1_000
"""Hosts that one live query can ask."""

LIVE_QUERY_ROWS_BYTES_MAX = 4 * 1024 * 1024
"""Bytes of rows that are kept of one host's answer."""

LIVE_QUERY_EXPIRES_US = 24 * 3600 * 1_000_000
"""How long a live query waits for hosts that do not come."""

LIVE_QUERY_KEPT_US = 30 * 24 * 3600 * 1_000_000
"""How long the answers of a live query are kept."""

OSQUERY_CHECKIN_S = 60
"""Interval of configuration requests that osquery is given."""

INSTALLER_BYTES_MAX = 512 * 1024 * 1024
"""Bytes of a package for Windows or macOS; osquery's have about 30 MB."""

REENROLMENT_APPROVAL_US = 24 * 3600 * 1_000_000
"""How long an approved re-enrolment may be used: a sensor tries again every few minutes, a host
that is rebuilt needs a working day."""

KEY_REPLACEMENTS_MAX = 5
"""Keys of one sensor that are replaced within `KEY_REPLACEMENTS_US`; further ones get 429."""

KEY_REPLACEMENTS_US = 3600 * 1_000_000
"""The time in which replaced keys are counted."""

KEY_EVENTS_KEPT = 100
"""Entries of one action in the audit of a sensor's keys; the oldest go first."""

GROUP_SENSORS_MAX = SENSORS_MAX // 2
"""Hosts of one sensor group: a credential of one group cannot use up the sensors of all."""

SENSOR_COPIES_SHARE = 8
"""A sensor may fill an eighth of the room for copies of programs, so that one host cannot keep
the others from sending theirs."""

CHANNELS_FREE = 4_096
"""Channel names that get their code at once; a Windows host has about 1,200."""

CHANNELS_AN_HOUR_MAX = 256
"""Further channel names that get a code within an hour, so that one sender of made-up names does
not use up the codes within a day's logs. Records of the others are deduplicated by request."""

CHANNELS_GROUP_FREE = 2_048
"""Channel names that get their code at once for one sensor group, since the server's start: half
of `CHANNELS_FREE`, so that one group's senders leave room for the others."""

CHANNELS_GROUP_AN_HOUR_MAX = 128
"""Further channel names of one sensor group that get a code within an hour."""

SENSORS_PAGE_DEFAULT = 100
"""Rows of a page of `GET /api/v2/sensor` when `rows` is not given."""

NEXT_CHECKIN_US = 30 * 1_000_000
"""Added to the last check-in to give `next_checkin_time` of a sensor without one."""

INSTALLER_IN_MEMORY_BYTES = 1 << 20
"""Bytes of an installer's archive that are held in memory; a larger one is written to a temporary
file."""

OSQUERY_HOST_S = 600
"""Seconds between two reports of an osquery host about itself: addresses and versions rarely
change."""

OSQUERY_VERSION_CHARS_MAX = 100
"""Characters of a version that an osquery host reports; longer text is none."""

HEALTH_DAYS = 30
"""Days for which it is kept in which hours the health of a sensor changed."""

SENSOR_QUERY_TERMS_MAX = 100
"""Terms of a query over sensors: databases bound how deep a condition may be."""

SENSOR_QUERY_WILDCARDS_MAX = 4
"""Runs of wildcards in a value of such a query: each may be tried at every character."""
