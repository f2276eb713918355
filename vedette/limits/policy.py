"""Policy: groups, ingress filters and bans."""

MEMBER_CHARS_MAX = 1_000
"""Maximum characters of a text in the body of a group or an ingress filter."""

INGRESS_PATTERNS_MAX = 1_000
"""Maximum entries of a list of an ingress filter."""

INGRESS_PATTERN_CHARS_MAX = 4_096
"""Maximum characters of an entry. A path has at most 32,767, but nobody writes such a path."""

RUNNING_PROCESS_SEEN_US = 24 * 3600 * 1_000_000
"""A process without an end counts as running if it reported within this time."""

DRY_RUN_EVENTS_MAX = 10_000
"""Maximum events of a process that a trial of a filter reads. Bounds the time of the trial."""

BAN_REASON_CHARS_MAX = 10_000
"""Maximum characters of the reason of a ban."""

FILTER_DROPPED_HOURS = 24
"""Hours over which what an ingress filter dropped is counted, the one that runs among them."""

SECRET_PATTERNS_MAX = 32
"""Patterns for secrets of one sensor group: each is asked of every text of its records."""

SECRET_PATTERN_CHARS_MAX = 1_000
"""Characters of one of them."""
