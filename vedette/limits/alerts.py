"""Alerts: their number, their stored content, and changes."""

ALERT_RULE_CHARS_MAX = 64 * 1024
"""Maximum characters of a rule's text in an alert. The longest public rule has 25 kB, the longest
query converted from a rule 45 kB."""

ALERT_LISTED_MAX = 50
"""Maximum tags, techniques, notes on false positives, and paths in an alert, for each of these
lists."""

ALERT_NOTES_CHARS_MAX = 16_384
"""Maximum characters of the notes of an alert, and of the reason of a suppression."""

ALERT_GROUP_FIELDS_MAX = 3
"""Maximum levels of grouping: rule, then host, then user."""

ALERT_GROUP_VALUES_MAX = 1_000
"""Maximum groups of alerts in a response."""

ALERT_TREND_DAYS = 7
"""Days in the trend of a group of alerts: a week, so that each weekday appears once."""
