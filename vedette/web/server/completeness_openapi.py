"""Response schemas of completeness."""

from typing import Final

from vedette.web.json.terms import (
    FLAG,
    INTEGER,
    TEXT,
    TIME,
    Schema,
    alike,
    listing,
    mapping,
    nullable,
    record,
)

_VERDICT: Final[Schema] = {"enum": ["complete", "open", "refused", "gaps", "unnumbered", "nothing"]}
_GAPS: Final[Schema] = listing(record(alike(("first", "last"), INTEGER)))

_REPORT: Final[dict[str, Schema]] = {
    **alike(("from", "to"), TIME),
    "verdicts": mapping(INTEGER),
    "unmounted_partitions": listing(TEXT),
    "sensors": listing(
        record(
            {
                "sensor_id": INTEGER,
                **alike(("hostname", "group"), TEXT),
                "verdict": _VERDICT,
                "channels": listing(
                    record(
                        {
                            "channel": TEXT,
                            "verdict": _VERDICT,
                            **alike(("received", "missing"), INTEGER),
                            **alike(("first", "last", "previous", "next"), nullable(INTEGER)),
                            "gaps": _GAPS,
                            "unstored": mapping(INTEGER),
                        }
                    )
                ),
                "queues": listing(
                    record(
                        {
                            "epoch": TEXT,
                            **alike(("received_to", "missing"), INTEGER),
                            "gaps": _GAPS,
                        }
                    )
                ),
                "unnumbered_requests": INTEGER,
            }
        )
    ),
}

COMPLETENESS: Final[dict[str, Schema]] = {
    "Completeness": record({**alike(("total_results", "start"), INTEGER), **_REPORT}),
    "SignedCompleteness": record(
        {
            "statement": record(
                {
                    "kind": {"const": "completeness"},
                    **alike(("server", "version", "made_for"), TEXT),
                    "made": TIME,
                    "sees_all_groups": FLAG,
                    **_REPORT,
                }
            ),
            **alike(("public_key", "signature"), TEXT),
        }
    ),
}
"""Maps component name to schema."""
