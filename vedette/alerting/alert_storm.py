"""Alert storms: a source that makes more alerts in an hour than anybody reads.

Beyond `ALERTS_AN_HOUR_MAX` its detections make no alerts of their own; one alert of the server
counts them. A host that has no alert of the source yet still gets one, up to
`ALERT_HOSTS_AN_HOUR_MAX`. What was made is counted from the stored alerts, so that a restart
forgets nothing. Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from vedette import limits
from vedette.model.findings.detection import Detection, Source

HOUR_US: Final = 3600 * 1_000_000

_SEVERITY: Final = 60


def hour_of(now_us: int) -> int:
    """The beginning of the hour, epoch microseconds."""
    return now_us // HOUR_US * HOUR_US


@dataclass(slots=True)
class SourceHour:
    """What a source has made in this hour."""

    alerts: int = 0
    sensors: set[int] = field(default_factory=set)

    def admits(self, sensor_id: int) -> bool:
        """Whether one more alert is made; counts it."""
        is_first = sensor_id not in self.sensors
        most = limits.ALERT_HOSTS_AN_HOUR_MAX if is_first else limits.ALERTS_AN_HOUR_MAX
        if self.alerts >= most:
            return False
        self.alerts += 1
        self.sensors.add(sensor_id)
        return True


def storm_detection(held_back: Sequence[Detection], since_us: int) -> Detection:
    """The server's own detection about detections of one source, all of one commit, that made no
    alerts in the hour from `since_us` on."""
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
            f"{limits.ALERT_HOSTS_AN_HOUR_MAX:,}. Narrow it, suppress it, or stop it."
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
    """One detection for every source and commit that was held back."""
    found: dict[tuple[Source, int], list[Detection]] = {}
    for one in held_back:
        found.setdefault((one.source, one.seq), []).append(one)
    return [storm_detection(some, hour_of(now_us)) for some in found.values()]


def hours_of(counted: Mapping[tuple[str, str], tuple[int, frozenset[int]]]) -> "Hours":
    """What sources have made so far, as `store/read/alerts.new_alerts_since` counts it."""
    return Hours({key: SourceHour(made, set(sensors)) for key, (made, sensors) in counted.items()})


@dataclass(frozen=True, slots=True)
class Hours:
    """The current hour of some sources."""

    by_source: dict[tuple[str, str], SourceHour]

    def admits(self, found: Detection) -> bool:
        """Whether a new alert of it is made; counts it. The server's own always are."""
        if found.source.kind == "server":
            return True
        hour = self.by_source.setdefault((found.source.kind, found.source.id), SourceHour())
        return hour.admits(found.sensor_id)
