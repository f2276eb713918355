"""The answers to log searches."""

from typing import Any

from vedette.model.address import address_text
from vedette.model.log_fields import READINGS
from vedette.search.logs.log_explain import LogExplanation
from vedette.search.logs.log_search import LogResults
from vedette.search.logs.process_session import ProcessLogon
from vedette.store.read.logs.log_rows import LogRow
from vedette.web.json.wire_values import elapsed, instant
from vedette.web.processes.explanation_json import test_body, tree_body
from vedette.web.processes.facets_json import facet_list

Body = dict[str, Any]


def log_id(row: LogRow) -> str:
    """Identifies a record: sensor, time in epoch microseconds, and a hash of its content."""
    return f"{row['sensor_id']}-{row['time']}-{row['content_hash']:016x}"


def log_body(row: LogRow) -> Body:
    """A record. Members whose value is unknown are left out."""
    read: Body = {}
    for reading in READINGS:
        value = row[reading.name]
        shown = address_text(value) if reading.type == "address" else value
        if shown:
            read[reading.name] = shown
    return {
        "id": log_id(row),
        "time": instant(row["time"]),
        "received": instant(row["committed"]),
        "hostname": row["hostname"],
        "sensor_id": row["sensor_id"],
        "channel": row["channel"],
        "provider": row["provider"],
        "event_id": row["event_id"],
        "record_id": row["record_id"],
        "level": row["level"],
        **read,
        "data": dict(row["fields"]),
    }


def log_results_body(found: LogResults) -> Body:
    """The answer to a log search."""
    return {
        "terms": list(found.terms),
        "results": [log_body(row) for row in found.rows],
        "elapsed": elapsed(found.elapsed_s),
        "total_results": found.total,
        "exact_total": found.is_counted,
        "facets": {name: facet_list(counts) for name, counts in found.facets.items()},
        "start": found.start,
        "incomplete_results": found.is_incomplete,
        "all_records": found.is_everywhere,
        "filtered": found.filtered,
    }


def process_logon_body(found: ProcessLogon) -> Body:
    """The session of a process, with its logon."""
    return {
        "sensor_id": found.sensor_id,
        "logon_id": found.logon_id,
        "logon_type": found.logon_type,
        "username": found.username,
        "logon": None if found.record is None else log_body(found.record),
    }


def log_explanation_body(found: LogExplanation) -> Body:
    """Returns the reading of the query of a log search."""
    return {
        "query": found.query,
        "tree": tree_body(found.tree),
        "terms": [
            {
                "term": term.text,
                "start": term.leaf.start,
                "end": term.leaf.end,
                "records": term.records,
                "reads": "index" if term.is_indexed else "all records",
                "tests": [test_body(test) for test in term.tests],
                "hints": list(term.hints),
            }
            for term in found.terms
        ],
        "terms_left_out": found.terms_left_out,
        "total_results": found.total,
        "records": found.records,
        "elapsed": elapsed(found.elapsed_s),
    }
