"""Assembles the sources of forwarders, and the rules for their destinations."""

from collections.abc import Callable

from vedette.bootstrap.write_path import Engines
from vedette.clock import Clock
from vedette.forwarder.alert_source import AlertSource
from vedette.forwarder.configuration import Forwarders
from vedette.forwarder.destinations import DestinationRules
from vedette.forwarder.event_source import EventSource
from vedette.forwarder.hit_source import HitSource
from vedette.notify.egress import EgressPolicy
from vedette.notify.http_post import PostRules
from vedette.settings import Settings
from vedette.state.db.sealing import Sealing
from vedette.web.forwarding.forwarded_records_json import alert_records, event_record
from vedette.web.forwarding.ocsf_records_json import ocsf_record


def open_forwarders(
    settings: Settings,
    clock: Clock,
    engines: Engines,
    sealing: Sealing,
    settled: Callable[[], int],
) -> Forwarders:
    """Returns the forwarders of a server. `settled` returns the newest commit up to which all
    commits have ended. To add a type of records, add it to the mapping."""
    root = settings.forwarder_files or settings.data / "forwarded"
    posts = PostRules(EgressPolicy.of(settings.egress_allow), settings.forwarder_ca)
    alerts = alert_records(engines.state, settings.org_key)
    event = event_record(settings.org_key)
    return Forwarders(
        engines.state,
        sealing,
        clock,
        DestinationRules(root, posts, clock),
        {
            "alert": AlertSource(
                engines.telemetry,
                engines.state,
                clock,
                settings,
                {"native": alerts, "ocsf": lambda rows: [ocsf_record(one) for one in alerts(rows)]},
            ),
            "watchlist.hit": HitSource(
                engines.state, {"native": lambda body: body, "ocsf": ocsf_record}
            ),
            "endpoint.event": EventSource(
                engines.telemetry,
                clock,
                settings,
                settled,
                {"native": event, "ocsf": lambda one: ocsf_record(event(one))},
            ),
        },
    )
