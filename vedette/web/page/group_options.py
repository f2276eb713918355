"""Sensor group options as a form: heading, meaning of a change and input type of each. Names and
values are those of the API."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from vedette.model.group import BINARY_ORDERS, LIST_OF_EVENT
from vedette.record.objects.sensor_group import EventExclusion, GroupOptions, IsolationExclusion

Kind = Literal["flag", "number", "text", "choice", "rows", "hosts", "exclusions"]

_OFF: Final = "Off: rules and searches get no new data on {} from these hosts."


@dataclass(frozen=True, slots=True)
class Option:
    """An option: its name in the API, its heading, and the meaning of a change."""

    name: str
    heading: str
    meaning: str
    kind: Kind = "flag"
    choices: tuple[str, ...] = ()
    least: int = 0
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """An option with its value in a group, formatted for its form field."""

    option: Option
    value: Any
    is_usual: bool


_COLLECTED: Final = (
    ("collect_processes", "Process starts and ends", "processes"),
    ("collect_netconns", "Network connections", "connections and domains"),
    ("collect_filemods", "File changes", "files"),
    ("collect_filewritemd5s", "Hashes of written files", "hashes of written files"),
    ("collect_nonbinary_filewrites", "Non-binary file writes", "documents and scripts"),
    ("collect_moduleloads", "Loaded modules", "modules"),
    ("collect_regmods", "Registry changes", "the registry"),
    ("collect_cross_procs", "Cross-process access", "opened processes and remote threads"),
    ("collect_usercontext", "Users", "users"),
    ("collect_amsi", "Scripts scanned by AMSI", "scripts"),
)
_VERSION: Final = (
    "A version, 'latest', or 'Manual' to keep installed versions. Sensors update over time."
)

SECTIONS: Final[Mapping[str, tuple[Option, ...]]] = {
    "Event collection": tuple(
        Option(name, heading, _OFF.format(what)) for name, heading, what in _COLLECTED
    ),
    "Exclusions": (
        Option(
            "event_exclusions",
            "Events by program",
            "One per line: event types, a space, the program path with * and ?. "
            f"Types: {', '.join(sorted(LIST_OF_EVENT))}. Excluded events are never stored or "
            "matched.",
            "exclusions",
        ),
        Option(
            "filter_known_dlls",
            "Skip Windows KnownDLLs",
            "On: loads of KnownDLLs from their standard paths are not stored.",
        ),
    ),
    "Response": (
        Option(
            "banning_enabled",
            "Enforce bans",
            "Off: from the next check-in, banned programs can start on these hosts.",
        ),
        Option(
            "isolation_exclusions",
            "Allowed connections during isolation",
            "One per line: address or address:port, a space, a name. A leading # disables a line. "
            "Isolated hosts apply changes at their next check-in.",
            "hosts",
        ),
    ),
    "File uploads": (
        Option(
            "collect_storefiles",
            "Upload every new binary",
            "On: these hosts upload every binary that is new to the server.",
        ),
        Option(
            "binary_orders",
            "Binary requests",
            "off: no uploads. asked: requested binaries only. unsigned: also all binaries without "
            "a signature.",
            "choice",
            BINARY_ORDERS,
        ),
        Option(
            "binary_quota_bytes",
            "Stored bytes on the server",
            "0: no group limit. Above the limit, the least requested binaries are deleted.",
            "number",
        ),
    ),
    "Check-ins and versions": (
        Option(
            "checkin_interval_s",
            "Seconds between check-ins",
            "0: the server's setting. Isolation and bans take effect after at most this time.",
            "number",
        ),
        Option("sensor_version_windows", "Windows", _VERSION, "text"),
        Option("sensor_version_osx", "macOS", _VERSION, "text"),
        Option("sensor_version_linux", "Linux", _VERSION, "text"),
        Option(
            "max_licenses",
            "Maximum number of hosts",
            "-1: half of the server's limit. Enrollment of more hosts is rejected.",
            "number",
            least=-1,
        ),
        Option(
            "sensor_exe_name",
            "Sensor program name",
            "Empty: the default. Applies to new installers; installed sensors keep their name.",
            "text",
        ),
    ),
    "Disk usage on hosts": (
        Option(
            "quota_eventlog_bytes",
            "Event bytes",
            "Limit while the server is unreachable. The oldest events are deleted first.",
            "number",
        ),
        Option(
            "quota_eventlog_percent",
            "Event share of the disk (%)",
            "The smaller of the two limits applies.",
            "number",
            most=100,
        ),
        Option(
            "quota_storefile_bytes",
            "Binary bytes",
            "Limit for binaries that wait for upload.",
            "number",
        ),
        Option(
            "quota_storefile_percent",
            "Binary share of the disk (%)",
            "The smaller of the two limits applies.",
            "number",
            most=100,
        ),
    ),
    "Risk and privacy": (
        Option(
            "alert_criticality",
            "Criticality",
            "1 to 5: weight of these hosts' risk. Included in their new alerts.",
            "number",
            most=100,
        ),
        Option(
            "pseudonymise_users",
            "Pseudonymize user names",
            "Applies to new data. Stored data is unchanged, so searches show two names for a user.",
        ),
        Option(
            "secret_patterns",
            "Secret patterns",
            "RE2 expressions, one per line. Matching text in new data is stored as a pseudonym.",
            "rows",
        ),
    ),
    "For API compatibility only, no effect": (
        Option("address_resolution_hint", "Address family", "", "choice", ("", "ipv4", "ipv6")),
        Option("collect_emet_events", "EMET events", ""),
        Option("collect_moduleinfo", "Module information", ""),
        Option("datastore_server", "Data store", "", "text"),
        Option("process_filter_level", "Process filter level", "", "number", most=100),
        Option("server_cert_id", "Server certificate", "", "number"),
        Option("tamper_level", "Tamper level", "", "number", most=100),
        Option("vdi_enabled", "VDI", ""),
    ),
}
"""All options by section."""


def shown_options(options: GroupOptions) -> dict[str, list[Shown]]:
    """Returns the sections with the values of a group."""
    usual = GroupOptions()
    return {
        section: [
            Shown(
                one,
                _written(getattr(options, one.name), one.kind),
                getattr(options, one.name) == getattr(usual, one.name),
            )
            for one in known
        ]
        for section, known in SECTIONS.items()
    }


def _written(value: Any, kind: Kind) -> Any:
    match kind:
        case "rows":
            return "\n".join(value)
        case "hosts":
            return "\n".join(map(_host_line, value))
        case "exclusions":
            return "\n".join(_exclusion_lines(value))
        case _:
            return value


def _host_line(one: IsolationExclusion) -> str:
    return f"{'' if one.enabled else '# '}{one.ip_address} {one.name}".rstrip()


def _exclusion_lines(exclusions: Sequence[EventExclusion]) -> list[str]:
    return [f"{','.join(one.events_to_ignore)} {path}" for one in exclusions for path in one.paths]
