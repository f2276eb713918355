"""The metrics, from the registry that the server fills."""

from typing import Any

from prometheus_client import CollectorRegistry

from scripts.reference.markdown import code, item, paragraph
from vedette.alerting.rule_hits import HitMetrics
from vedette.notify.outbox_metrics import OutboxMetrics
from vedette.pipeline.ingest_metrics import IngestMetrics
from vedette.web.http.middleware import HttpMetrics
from vedette.web.http.policy_reports import PolicyReports

_INTRODUCTION = """
`GET /metrics` answers them to a global administrator's token, as text or OpenMetrics. They come
with the metrics of the process and its runtime that every Python program has (`process_*`,
`python_*`).
"""

_NOTES = """
`outcome` is `events`, `record`, `duplicate`, `not_kept`, `filtered` or `rejected` (see the
[glossary](../glossary.md)); `reason` is one of the [reasons of a record](errors.md#records);
`kind` is `email`, `syslog`, `http` or `app_control`, whose `outcome` is `sent`, `failed`, `refused`
or `unwanted`; that of reports is `logged` or `refused`;
`route` is the template of the route, as in [routes](routes.md), or `unmatched`. A histogram has
the series `_bucket`, `_sum` and `_count`, a counter `_total`.
"""


def metrics() -> list[Any]:
    """All metrics of our own, by name."""
    registry = CollectorRegistry()
    HttpMetrics(registry)
    IngestMetrics(registry)
    HitMetrics(registry)
    OutboxMetrics(registry, ())
    PolicyReports(registry)
    collectors = registry._collector_to_names
    return sorted(collectors, key=lambda metric: str(metric._name))


def body() -> str:
    listed = "\n".join(_item(metric) for metric in metrics())
    return "\n\n".join((paragraph(_INTRODUCTION), listed, paragraph(_NOTES)))


def _item(metric: Any) -> str:
    kind = metric._type
    name = f"{metric._name}_total" if kind == "counter" else metric._name
    by = f" by {', '.join(map(code, metric._labelnames))}" if metric._labelnames else ""
    return item(f"{code(name)}, {kind}{by}: {metric._documentation}")
