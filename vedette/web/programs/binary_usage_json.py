"""Formats the usage of a binary (docs/api-binaries.md)."""

from vedette.store.read.binary_usage import Counted, Usage
from vedette.web.json.wire_values import instant
from vedette.web.processes.models import Body


def usage_body(md5: str, found: Usage) -> Body:
    """Returns the hosts that have the binary, and how it is run."""
    return {
        "md5": md5,
        "host_count": found.host_count,
        "run_count": found.run_count,
        "hosts": [
            {
                "hostname": one.hostname,
                "sensor_id": one.sensor_id,
                "group": one.group,
                "first_seen": instant(one.first_seen_us),
                "last_seen": instant(one.last_seen_us),
                "paths": list(one.paths),
            }
            for one in found.hosts
        ],
        "paths": _counted(found.paths),
        "parents": _counted(found.parents),
        "command_lines": _counted(found.command_lines),
        "usernames": _counted(found.usernames),
        "days": _counted(found.days),
    }


def _counted(values: Counted) -> list[Body]:
    return [{"name": name, "runs": runs, "hosts": hosts} for name, runs, hosts in values]
