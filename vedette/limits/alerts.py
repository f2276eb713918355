"""Alerts: how many there can be, what they keep, and what changes them."""

ALERT_BATCH = 2_000
"""Detections that are looked up and written together."""

ALERT_TEXT_CHARS_MAX = 4_096
"""Characters that an alert keeps of a title, a description or a value of its event; a command line
of Windows may have 32,767."""

ALERT_RULE_CHARS_MAX = 64 * 1024
"""Characters that an alert keeps of the rule's text; the longest public rule has 25 kB, the longest
query made from one 45 kB."""

ALERT_VALUES_MAX = 200
"""Values that an alert keeps of its event, and of what matched; a Sysmon event has about 30."""

ALERT_LISTED_MAX = 50
"""Tags, techniques, notes on false positives and paths that an alert keeps."""

ALERT_HISTORY_MAX = 200
"""Changes that an alert remembers, the newest ones: a script that changes it every minute must not
make it grow for ever."""

ALERT_NOTES_CHARS_MAX = 16_384
"""Characters of the notes of an alert, and of the reason of a suppression."""

ALERT_ASSIGNEE_CHARS_MAX = 256
"""Characters of who an alert is assigned to; a user name has at most as many."""

ALERTS_AN_HOUR_MAX = 200
"""New alerts of one source in an hour; nobody reads more. Further detections are counted in one
alert, except those on hosts that have none yet."""

ALERT_TEXTS_MAX = 20_000
"""Different titles, or hosts, of alerts that a search for words of a title or a host's name tests
before it looks at alerts: 10 ms. Beyond it those of all alerts are tested."""

ALERT_TEXTS_MATCHED_MAX = 1_000
"""Titles or hosts that such a search then looks for; a test that more meet is as good as all."""

ALERT_HOSTS_AN_HOUR_MAX = 1_000
"""New alerts of one source in an hour on hosts that have none yet: a rule that fires on every host
of a fleet must not fill the store."""

REPORTS_LOOKED_UP_MAX = 400
"""Reports that one statement names: SQLite takes 999 values at least."""

SENSORS_LOOKED_UP_MAX = 900
"""Sensors that one statement names."""

SUPPRESSIONS_MAX = 500
"""Suppression rules: each new alert is compared with all that are in force."""

SUPPRESSION_QUERY_CHARS_MAX = 16_384
"""Characters of the query of a suppression; one that excuses more should be another rule."""

ALERT_GROUP_FIELDS_MAX = 3
"""Groupings one within the other: rule, then host, then user."""

ALERT_GROUP_VALUES_MAX = 1_000
"""Groups of alerts in one answer."""

ALERT_TREND_DAYS = 7
"""Days of the trend of a group of alerts: a week, so that a weekday is compared with its last."""

ALERT_IDS_MAX = 100_000
"""Ids that one bulk update names; clients send blocks of 500."""

RISK_ALERTS_MAX = 1_000
"""Open alerts of a host that its risk is computed of, the newest; more do not change it."""

RISK_HALF_LIFE_DAYS = 7
"""After so many days an open alert counts half for the risk of its host."""

RISK_DAYS_SHOWN = 30
"""Days of which the risk of a host is answered, today among them."""

SUPPRESSION_SAMPLES = 10
"""Alerts that the preview of a suppression shows."""

SUPPRESSION_DAYS_DEFAULT = 30
"""Days after which a suppression expires if its author says nothing."""

ALERT_AUDIT_SHOWN_MAX = 1_000
"""Bulk changes that the audit lists, the newest."""

ALERT_AUDIT_QUERY_CHARS_MAX = 8_192
"""Characters of a query that the audit keeps."""

ALERT_ID_CHARS_MAX = 64
"""Characters of an id in a request; ids have 32."""

ALERT_UNDO_ALERTS_MAX = 20_000
"""Alerts of one bulk change that can be undone: their ids are kept in the state database."""

ALERT_UNDO_US = 10 * 60 * 1_000_000
"""Microseconds for which a bulk change can be undone; after that others have worked on."""

NEWEST_ALERT_US = 60 * 60 * 1_000_000
"""Microseconds before now in which the newest alert is searched: more than the clocks of servers
differ."""
