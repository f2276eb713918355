"""The catalogue of search fields of rule hits (docs/query-objects.md#rule-hits)."""

from typing import Literal, get_args

from vedette.model.field import Field, catalogue

HitOutcome = Literal["alert", "storm", "suppressed", "correlation", "off", "pending"]
"""Outcome of a hit: `alert` an alert counts it; `storm` the alert of a storm counts it;
`suppressed` a suppression matched; `correlation` only correlations count it; `off` the alert action
of its rule is off; `pending` the server has not processed it yet."""

HIT_OUTCOMES: tuple[HitOutcome, ...] = get_args(HitOutcome)

HIT_VALUES = "matched.values"
"""Column with the values that made an event a hit."""

HIT_LISTS: frozenset[str] = frozenset({HIT_VALUES})
"""Columns of a hit with several values: a test is true when it is true of one."""

HIT = catalogue(
    (
        Field("rule_id", "keyword", ("rule_id",), True, aliases=("rule",)),
        Field("rule_name", "text", ("rule_name",), True),
        Field("level", "keyword", ("level",)),
        Field("hostname", "hostname", ("hostname",), True),
        Field("username", "account", ("username",), True),
        Field("process_name", "name", ("process_name",), True),
        Field("process_id", "process_id", ("process_id",)),
        Field("segment_id", "integer", ("segment_id",)),
        Field("sensor_id", "integer", ("sensor_id",)),
        Field("md5", "md5", ("md5",), True),
        Field("matched", "text", (HIT_VALUES,), True),
        Field("time", "time", ("time",)),
        Field("last_time", "time", ("last_time",)),
        Field("committed", "time", ("committed",), aliases=("created_time",)),
        Field("count", "count", ("count",)),
        Field("alert_id", "alert_id", ("alert_id",)),
        Field("outcome", "keyword", ("outcome",)),
    ),
    has_tags=False,
    always=("rule_id", "sensor_id", "time", "last_time", "committed", "outcome"),
)
"""Fields of hit search."""
