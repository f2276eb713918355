"""Operating system of a record's host."""

from vedette.ingest.record import Record

_LOGS = {"web_access": "", "apache_error": "", "nginx_error": "", "iis_access": "windows"}
"""Operating system of channels of text logs; all others are of Linux daemons."""

_BY_SOURCE = {
    "auditd": "linux",
    "tetragon": "linux",
    "santa": "osx",
    "es": "osx",
}


def os_type_of(record: Record) -> str:
    """Returns windows, linux or osx (docs/api-objects.md#process); "" for the Vedette sensor, whose
    enrollment reports it, and for events that do not contain it."""
    source = record.vedette_record
    if source == "vedette":
        return ""
    if source == "windows":
        return "linux" if record.channel.startswith("Linux-") else "windows"
    if source == "log":
        return _LOGS.get(record.channel, "linux")
    if source == "endpoint":
        system = record.data.get("os")
        return system if system in ("windows", "linux", "osx") else ""
    if source == "osquery":
        return _osquery_os(record.channel)
    return _BY_SOURCE[source]


def _osquery_os(table: str) -> str:
    if table.startswith("es_"):
        return "osx"
    windows = "etw" in table or table.startswith(("windows", "dns_lookup"))
    return "windows" if windows else "linux"
