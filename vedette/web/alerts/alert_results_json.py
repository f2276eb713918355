"""Formats responses of alert searches, groups, suppression previews, and the risk of a host."""

from collections.abc import Sequence
from datetime import date

from vedette.model.findings.alert import THOUSAND
from vedette.search.alerts.alert_search import SuppressionPreview
from vedette.search.alerts.host_risk import HostRisk
from vedette.search.document_search import Results
from vedette.store.read.detection.alert_groups import AlertGroup, AlertGroups
from vedette.web.alerts.models import alert_body
from vedette.web.json.wire_values import instant
from vedette.web.processes.facets_json import facet_list
from vedette.web.processes.models import Body
from vedette.web.processes.search_results_json import document_results_body


def alert_results_body(found: Results) -> Body:
    """Returns the response of an alert search."""
    body = document_results_body(found, [alert_body(row) for row in found.rows])
    return body | {"all_segments": True}


def groups_body(found: AlertGroups, by: str, start: int) -> Body:
    """Returns the response with groups of alerts."""
    return {
        "group": by,
        "total_results": found.total,
        "start": start,
        "results": [_group(one) for one in found.groups],
    }


def _group(one: AlertGroup) -> Body:
    return {
        "values": dict(one.values),
        "title": one.title,
        "newest_unique_id": one.newest_id,
        "count": one.count,
        "events": one.events,
        "hosts": one.hosts,
        "alert_severity": one.severity_max / THOUSAND,
        "first_created_time": instant(one.first_us),
        "created_time": instant(one.newest_us),
        "statuses": dict(one.statuses),
        "trend": list(one.trend),
    }


def preview_body(found: SuppressionPreview) -> Body:
    """Returns the alerts that a suppression would have prevented."""
    return {
        "alerts": found.alerts,
        "of_alerts": found.of_alerts,
        "days": facet_list(found.days),
        "hosts": facet_list(found.hosts),
        "titles": facet_list(found.titles),
        "samples": [alert_body(row) for row in found.samples],
    }


def risk_body(found: HostRisk, by_day: Sequence[tuple[date, float]]) -> Body:
    """Returns the risk of a host with its history."""
    return {
        "sensor_id": found.sensor_id,
        "risk": found.score,
        "open_alerts": found.open_alerts,
        "contributions": [
            {"unique_id": alert_id, "title": title, "weight": round(weight, 4)}
            for alert_id, title, weight in found.contributions
        ],
        "by_day": [{"day": day.isoformat(), "risk": score} for day, score in by_day],
    }
