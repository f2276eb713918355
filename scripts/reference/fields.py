"""The search fields, from their catalogues."""

from scripts.reference.markdown import code, paragraph, table
from vedette.model.alert_fields import ALERT
from vedette.model.binary_fields import BINARY, JOINED_FIELDS
from vedette.model.field import Field
from vedette.model.field_docs import ALERTS, BINARIES, FIELDS, HITS, LOGS, REPORTS, TYPES
from vedette.model.fields import JOIN_SUFFIXES, PROCESS
from vedette.model.hit_fields import HIT
from vedette.model.log_fields import LOG
from vedette.model.threat.report_fields import REPORT

_INTRODUCTION = """
[Query values](../query-values.md) describes how each type matches. A term without a field is
searched in every field marked with `*`. Field names may be upper or lower case.
"""

_BINARIES = """
Fields of binary search; a term without a field asks every field marked with `*`.
"""

_ALERTS = """
Fields of alert search; a term without a field asks every field marked with `*`.
"""

_HITS = """
Fields of rule-hit search; a term without a field asks every field marked with `*`.
"""

_REPORTS = """
Fields of threat-report search; a term without a field asks every field marked with `*`.
"""

_LOGS = """
Fields of log search; a term without a field asks every field marked with `*`. `data.NAME` asks the
words of one member of a record's data: NAME in any case, with `_` for a space.
"""

_JOINED = """
In process search these fields of binaries find the processes that the file is the program of.
With an ending the same name asks for another file of the process: its parent's program, a
child's, a module it loaded or a file it wrote. A term without a field asks none of them.
"""

_SILENT = "These names are known, and nothing sets them in this version: they find nothing."

_TAGS = (
    "watchlist_ID",
    *(f"alliance_{reported}_FEED" for reported in ("score", "data", "link", "updated")),
)


def native() -> list[Field]:
    """The fields that a segment itself answers."""
    return [field for field in PROCESS.fields if field.kind == "column"]


def joined() -> list[str]:
    """Names of fields of binaries that processes are found by, without their endings."""
    return sorted({name for name, _, _ in JOINED_FIELDS})


def body() -> str:
    parts = [
        paragraph(_INTRODUCTION),
        "## Processes",
        table(("Field", "Default", "Type", "Finds processes by"), map(_row, native())),
        "## Files of a process",
        paragraph(_JOINED),
        paragraph("Names: " + ", ".join(map(code, joined())) + "."),
        paragraph("Endings: " + ", ".join(map(code, JOIN_SUFFIXES)) + "."),
        "## Binaries",
        paragraph(_BINARIES),
        table(("Field", "Default", "Type", "Finds binaries by"), map(_binary_row, BINARY.fields)),
        "## Alerts",
        paragraph(_ALERTS),
        table(("Field", "Default", "Type", "Finds alerts by"), map(_alert_row, ALERT.fields)),
        "## Rule hits",
        paragraph(_HITS),
        table(("Field", "Default", "Type", "Finds hits by"), map(_hit_row, HIT.fields)),
        "## Threat reports",
        paragraph(_REPORTS),
        table(("Field", "Default", "Type", "Finds reports by"), map(_report_row, REPORT.fields)),
        "## Event records",
        paragraph(_LOGS),
        table(("Field", "Default", "Type", "Finds records by"), map(_log_row, LOG.fields)),
        "## Tags",
        paragraph(_SILENT),
        paragraph(", ".join(map(code, _TAGS)) + "."),
        "## Types",
        table(("Type", "A value is"), ((code(name), text) for name, text in TYPES.items())),
    ]
    return "\n\n".join(parts)


def _row(field: Field) -> tuple[str, str, str, str]:
    meaning = FIELDS[field.name] + _also(field)
    return code(field.name), "`*`" if field.default else "", field.type, meaning


def _binary_row(field: Field) -> tuple[str, str, str, str]:
    meaning = BINARIES[field.name] + _also(field)
    return code(field.name), "`*`" if field.default else "", field.type, meaning


def _alert_row(field: Field) -> tuple[str, str, str, str]:
    meaning = ALERTS[field.name] + _also(field)
    return code(field.name), "`*`" if field.default else "", field.type, meaning


def _hit_row(field: Field) -> tuple[str, str, str, str]:
    return (
        code(field.name),
        "`*`" if field.default else "",
        field.type,
        HITS[field.name] + _also(field),
    )


def _report_row(field: Field) -> tuple[str, str, str, str]:
    meaning = REPORTS[field.name] + _also(field)
    return code(field.name), "`*`" if field.default else "", field.type, meaning


def _log_row(field: Field) -> tuple[str, str, str, str]:
    meaning = LOGS[field.name] + _also(field)
    return code(field.name), "`*`" if field.default else "", field.type, meaning


def _also(field: Field) -> str:
    return f" (also {', '.join(map(code, field.aliases))})" if field.aliases else ""
