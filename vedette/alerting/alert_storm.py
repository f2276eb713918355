"""Alert storms: limits the alerts that one source raises in an hour.

Beyond `ALERTS_AN_HOUR_MAX`, detections of a source raise no alerts of their own; one alert of the
server counts them. A host without an alert of the source still gets one, up to
`ALERT_HOSTS_AN_HOUR_MAX`. The counts come from the stored alerts, so they survive a restart. Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from vedette.limits import Limit
from vedette.model.findings.detection import Detection, Source

ALERTS_AN_HOUR_MAX: Limit[int] = 200
"""New alerts of one source in an hour, more than anyone reads. Further detections are counted in
one alert, except those on hosts without an alert of the source."""

ALERT_HOSTS_AN_HOUR_MAX: Limit[int] = 100_000
"""New alerts of one source in an hour on hosts without one: every host of the largest fleet, since
a storm must not hide a host."""


HOUR_US: Final = 3600 * 1_000_000

_SEVERITY: Final = 60


def hour_of(now_us: int) -> int:
    """Returns the start of the hour (epoch us)."""
    return now_us // HOUR_US * HOUR_US


@dataclass(slots=True)
class SourceHour:
    """Alerts that a source has raised in this hour."""

    alerts: int = 0
    sensors: set[int] = field(default_factory=set)

    def admits(self, sensor_id: int) -> bool:
        """Returns whether the source may raise one more alert, and counts it if so."""
        is_first = sensor_id not in self.sensors
        most = ALERT_HOSTS_AN_HOUR_MAX if is_first else ALERTS_AN_HOUR_MAX
        if self.alerts >= most:
            return False
        self.alerts += 1
        self.sensors.add(sensor_id)
        return True


def storm_detection(held_back: Sequence[Detection], since_us: int) -> Detection:
    """Returns the server's own detection that summarizes suppressed detections of one source and
    commit, in the hour from `since_us`."""
    first = held_back[0]
    name = first.source_name or first.title or first.source.id
    hosts = {one.sensor_id for one in held_back}
    return Detection(
        source=Source("server", f"storm {first.source.kind} {first.source.id}"),
        source_name="Alert storm",
        alert_type="watchlist.hit.query.process",
        subject=str(since_us),
        time_us=max(one.time_us for one in held_back),
        sensor_id=0,
        title=f"Alert storm: {name}",
        description=(
            f"The {first.source.kind} {name!r} made so many alerts within an hour that further "
            "detections are only counted, here. Hosts without an alert of it still get one, up to "
            f"{ALERT_HOSTS_AN_HOUR_MAX:,}. Narrow it, suppress it, or stop it."
        ),
        severity=max(_SEVERITY, first.severity),
        level=first.level,
        rule_text=first.rule_text,
        matched={"source": f"{first.source.kind} {first.source.id}"},
        event={
            "hosts_at_first": str(len(hosts)),
            "first_subject": first.subject,
            "first_sensor_id": str(first.sensor_id),
        },
        count=sum(one.count for one in held_back),
        seq=first.seq,
    )


def storms(held_back: Sequence[Detection], now_us: int) -> list[Detection]:
    """Returns one detection per source and commit with suppressed detections."""
    found: dict[tuple[Source, int], list[Detection]] = {}
    for one in held_back:
        found.setdefault((one.source, one.seq), []).append(one)
    return [storm_detection(some, hour_of(now_us)) for some in found.values()]


def hours_of(counted: Mapping[tuple[str, str], tuple[int, frozenset[int]]]) -> "Hours":
    """Converts the counts of `store/read/alerts.new_alerts_since`."""
    return Hours({key: SourceHour(made, set(sensors)) for key, (made, sensors) in counted.items()})


@dataclass(frozen=True, slots=True)
class Hours:
    """The current hour of several sources."""

    by_source: dict[tuple[str, str], SourceHour]

    def admits(self, found: Detection) -> bool:
        """Returns whether a detection may raise a new alert; counts it if so. Detections of the
        server itself always may."""
        if found.source.kind == "server":
            return True
        hour = self.by_source.setdefault((found.source.kind, found.source.id), SourceHour())
        return hour.admits(found.sensor_id)
