"""Rules: files of rules, and what is cached of events."""

SIGMA_FILE_CHARS_MAX = 1024 * 1024
"""Characters of one file of Sigma rules; the longest public rule has 25 kB."""

SIGMA_FILES_MAX = 50_000
"""Files of rules under one path; the public set has 3,800."""

SIGMA_MATCHED_CHARS_SHOWN = 200
"""Characters of a matched value that the table of `vedette sigma scan` shows; JSON has it whole."""

ANCHOR_CHARS_MIN = 2
"""Characters of a literal that a rule is looked up by; shorter ones occur nearly everywhere."""

DETECT_CACHED_VALUE_CHARS_MAX = 1_024
"""Characters of an event's value whose candidate rules are cached; longer ones seldom repeat."""

DETECT_CACHE_CHARS_MAX = 4 * 1024 * 1024
"""Characters of all cached values of one field, in each process that judges events."""

DETECT_SAMPLE_EVENTS = 4_096
"""Events from whose values rules choose what they are looked up by."""
