"""Rules: files of rules, their evaluation, and trials."""

SIGMA_FILE_CHARS_MAX = 1024 * 1024
"""Maximum characters of a file of Sigma rules. The longest public rule has 25 kB."""

SIGMA_FILES_MAX = 50_000
"""Maximum rule files under a path. The public set has 3,800."""

SIGMA_REQUEST_FILES_MAX = 5_000
"""Maximum rule files in a request. The public set has 3,800."""

SIGMA_REQUEST_BYTES_MAX = 6 * 1024 * 1024
"""Maximum bytes of the files that the console sends in a request. Encoded as JSON, they stay within
the limit of the body."""

SIGMA_MATCHED_CHARS_SHOWN = 200
"""Characters of a matched value in the table of `vedette sigma scan`. JSON contains the whole
value."""

ANCHOR_CHARS_MIN = 2
"""Minimum characters of a literal by which rules are looked up. Shorter literals occur in nearly
every event."""

SIGMA_PROBLEM_CHARS_MAX = 500
"""Maximum characters of the stored reason why a text is not a rule."""

SIGMA_RULES_MAX = 20_000
"""Maximum Sigma documents on a server. The public set has 3,800."""

SIGMA_RULES_SWITCHED_AT_ONCE = 200
"""Sigma rules that a transaction enables, disables, deletes or counts, each with an entry in the
audit log. Check-ins wait for the transaction."""

SIGMA_IDS_A_QUERY = 500
"""Maximum ids in a statement."""

RULE_PAST_DAYS = 7
"""Days of stored telemetry that a trial of rules covers, unless the request sets another number."""

RULE_PAST_SAMPLES = 20
"""Maximum hits that a trial on stored telemetry shows."""

SIGMA_PARSER_WAIT_S = 30.0
"""Time that a request waits for its turn to have rules parsed."""

CORRELATION_DEPTH_MAX = 4
"""Maximum nesting of correlations of correlations."""

RULE_BUDGET_WINDOW_S = 60
"""Period over which the cost of a rule is compared with its budget."""
