"""Binaries: cost of reading the bytes of a program."""

FILE_READ_S = 20
"""Maximum time to read a file. A file of 25 MiB with a signature takes less than one second."""

FILE_READER_MEMORY_BYTES = 1024 * 1024 * 1024
"""Address space of a reading process. Its libraries map 300 MB, and a file of 25 MiB is in memory
three times."""

BINARY_ORDER_HOURS = 7 * 24
"""Time for which an order for a file waits for the sensor, unless the order sets another."""

YARA_TEXT_BYTES_MAX = 256 * 1024
"""Maximum bytes of a text of YARA rules. Public rule files have less than 100 kB."""

YARA_RULE_S = 2
"""Maximum time that a text of rules may take for a file, applied if all texts together took too
long. A text that exceeds it is stopped."""

YARA_FILE_S = 120
"""Maximum time to scan a file, including the renewed compilation of each text if all together took
too long. After it the scanning process is terminated."""
