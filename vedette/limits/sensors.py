"""Sensors: enrollment, check-ins, live queries, copies of programs, installers."""

SENSORS_MAX = 1_000_000
"""Maximum hosts of a server. Records of further hosts are rejected until an operator acts."""

CHANNELS_MAX = 32_767
"""Maximum channel names with a code. The code and a 48-bit record id share 63 bits."""

SENSOR_ONLINE_US = 15 * 60 * 1_000_000
"""A sensor that sent something within this time is Online. Shippers of quiet hosts send every few
minutes."""

SENSORS_PAGE_MAX = 10_000
"""Maximum rows on a page of `GET /api/v2/sensor`."""

SENSOR_TEXT_CHARS_MAX = 1_024
"""Maximum characters of a text that a sensor reports about itself."""

SENSOR_LIST_MAX = 1_000
"""Maximum entries of a list in a sensor's message: blocked programs, offered files."""

SENSOR_ADAPTERS_MAX = 64
"""Maximum network adapters of a host."""

SENSOR_NUMBER_MAX = (1 << 63) - 1
"""Largest number that a sensor may report: the maximum of the state database."""

SENSOR_CHECKINS_MISSED = 5
"""Check-ins that a sensor may miss before it is Offline."""

SENSOR_NOTES_CHARS_MAX = 10_000
"""Maximum characters of the notes on a sensor."""

COPIED_FILE_BYTES_MAX = 25 * 1024 * 1024
"""Maximum bytes of a program that are copied. Of a larger program, only the beginning is copied
(docs/api-objects.md#limits-of-answers)."""

OSQUERY_CHECKIN_S = 60
"""Interval of configuration requests that osquery is instructed to use."""

GROUP_SENSORS_MAX = SENSORS_MAX // 2
"""Maximum hosts of a sensor group: the credential of one group cannot use up all sensors of the
server."""
