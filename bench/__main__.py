"""`python -m bench [PART ...]`: all parts of `PARTS`, or those that are named."""

import sys

from bench import (
    access_tokens,
    alert_export,
    alerts,
    analysis,
    billion,
    binaries,
    console,
    demo,
    detect,
    feeds,
    filters,
    fleet,
    forwarder,
    fuzz,
    hostile,
    idle,
    imports,
    ingest,
    logs,
    query,
    search,
    sensor,
    servers,
    soak,
    starve,
    tree,
    update_jobs,
    watchlists,
)
from bench.figure import Part
from bench.frame import run_parts

PARTS: tuple[Part, ...] = (
    ingest.PART,
    filters.PART,
    detect.PART,
    imports.PART,
    search.PART,
    tree.PART,
    query.PART,
    analysis.PART,
    demo.PART,
    console.PART,
    feeds.PART,
    binaries.PART,
    fleet.PART,
    idle.PART,
    hostile.PART,
    starve.PART,
    sensor.PART,
    alerts.PART,
    logs.PART,
    watchlists.PART,
    forwarder.PART,
    alert_export.PART,
    access_tokens.PART,
    update_jobs.PART,
)

LONG: tuple[Part, ...] = (query.LARGE, billion.PART, servers.PART, fuzz.PART, soak.PART)
"""Parts that run only when they are named: a quarter of an hour and more."""


def main(names: list[str]) -> int:
    """0 when every target is met, 1 when one is missed, 2 for an unknown part."""
    known = {part.name: part for part in (*PARTS, *LONG)}
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"no part {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    chosen = [known[name] for name in names] if names else PARTS
    return 0 if run_parts(chosen) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
