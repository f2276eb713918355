"""A feed that is published as a file, and what reads it."""

import json
from pathlib import Path
from typing import Any

from vedette.clock import DrivenClock
from vedette.feeds.fetch import Fetcher, FetchRules
from vedette.feeds.schedule import Schedule
from vedette.feeds.synchronise import Parts
from vedette.record.objects.feed import Feed
from vedette.state.db.database import Database
from vedette.state.db.sealing import open_sealing
from vedette.state.jobs.leases import Leases
from vedette.state.policy import feeds
from vedette.state.policy.feeds import CHANGES
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.read.threat.reports import indicators_of, reports_after

NOW_US = 1_700_000_000_000_000


def a_report(name: str, time_s: int = 1, **iocs: Any) -> dict[str, Any]:
    return {
        "id": name,
        "title": f"Report {name}",
        "link": "https://intel.example/",
        "timestamp": time_s,
        "score": 80,
        "iocs": iocs,
    }


class Publisher:
    """A file of a feed, and the server that reads it."""

    def __init__(self, folder: Path, engine: ClickHouseEngine, database: Database) -> None:
        self.path = folder / "feed.json"
        self.clock = DrivenClock(NOW_US)
        rules = FetchRules(files=folder)
        self.parts = Parts(engine, database, open_sealing(folder), Fetcher(rules), self.clock)
        self.schedule = Schedule(self.parts, Leases(database, self.clock), interval_s=3600)
        members = {
            "name": "Intel",
            "feed_url": self.path.as_uri(),
            "enabled": True,
            "manually_added": True,
        }
        self.id = feeds.add(database, members, self.parts.sealing, NOW_US).id

    def publish(self, *reports: Any) -> None:
        self.path.write_text(json.dumps({"feedinfo": {"name": "Intel"}, "reports": reports}))

    def sync(self, how: int = CHANGES) -> Feed:
        self.clock.advance(1_000_000)
        feeds.request_sync(self.parts.database, self.id, how, self.clock.now_us())
        assert self.schedule.run_due() == 1
        return feeds.get(self.parts.database, self.id)

    def stored(self) -> dict[str, str]:
        rows = reports_after(self.parts.engine, self.id, "", 100)
        return {row["report_id"]: row["title"] for row in rows}

    def indicators(self, report_id: str) -> set[str]:
        rows = indicators_of(self.parts.engine, self.id, [report_id])
        return {row["value"] for row in rows if not row["is_deleted"]}

    def enable(self, is_enabled: bool) -> None:
        changed = {"enabled": is_enabled}
        parts = self.parts
        feeds.change(parts.database, self.id, changed, parts.sealing, self.clock.now_us())
