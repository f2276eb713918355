"""Answers about event records."""

from typing import Final

from vedette.model.log_fields import READINGS
from vedette.web.json.terms import (
    FLAG,
    INTEGER,
    OBJECT,
    SECONDS,
    TEXT,
    TIME,
    Schema,
    alike,
    listing,
    mapping,
    nullable,
    record,
    reference,
)
from vedette.web.processes.openapi import HISTOGRAM

_READ: Final[dict[str, Schema]] = {
    reading.name: INTEGER if reading.type == "number" else TEXT for reading in READINGS
}

LOGS: Final[dict[str, Schema]] = {
    "EventRecord": record(
        {
            **alike(("id", "hostname", "channel", "provider", "level"), TEXT),
            **alike(("sensor_id", "event_id", "record_id"), INTEGER),
            **alike(("time", "received"), TIME),
            **_READ,
            "data": mapping(TEXT),
        },
        tuple(_READ),
    ),
    "LogSearch": record(
        {
            "terms": listing(TEXT),
            "results": listing(reference("EventRecord")),
            "elapsed": SECONDS,
            **alike(("exact_total", "incomplete_results", "all_records"), FLAG),
            **alike(("total_results", "start", "filtered"), INTEGER),
            "facets": mapping(listing(reference("FacetValue"))),
            "histogram": HISTOGRAM,
        },
        ("histogram",),
    ),
    "ProcessLogon": record(
        {
            **alike(("logon_id", "username"), TEXT),
            **alike(("sensor_id", "logon_type"), INTEGER),
            "logon": nullable(reference("EventRecord")),
        }
    ),
    "LogExplanation": record(
        {
            "query": TEXT,
            "tree": OBJECT,
            "terms": listing(
                record(
                    {
                        **alike(("term", "reads"), TEXT),
                        **alike(("start", "end"), INTEGER),
                        "records": nullable(INTEGER),
                        "tests": listing(OBJECT),
                        "hints": listing(TEXT),
                    }
                )
            ),
            "terms_left_out": INTEGER,
            **alike(("total_results", "records"), nullable(INTEGER)),
            "elapsed": SECONDS,
        }
    ),
}
"""Component name -> schema."""
