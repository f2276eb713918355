"""Sensor group options as a form: heading, meaning of a change and input type of each. Names and
values are those of the API."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from vedette.model.group import BINARY_ORDERS, LIST_OF_EVENT
from vedette.record.objects.sensor_group import EventExclusion, GroupOptions, IsolationExclusion

Kind = Literal["flag", "number", "text", "choice", "rows", "hosts", "exclusions"]

_OFF: Final = "Off: rules and searches over {} find nothing new of these hosts."


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
    ("collect_filemods", "Changes of files", "files"),
    ("collect_filewritemd5s", "Hashes of files that are written", "hashes of written files"),
    ("collect_nonbinary_filewrites", "Also of files that are no programs", "documents and scripts"),
    ("collect_moduleloads", "Loaded modules", "modules"),
    ("collect_regmods", "Changes of the registry", "the registry"),
    ("collect_cross_procs", "Access to other processes", "opened processes and remote threads"),
    ("collect_usercontext", "Users", "users"),
    ("collect_amsi", "Scripts as Windows scans them", "scripts"),
)
_VERSION: Final = (
    "A version, 'latest', or 'Manual': sensors keep what they have. Others are installed in time."
)

SECTIONS: Final[Mapping[str, tuple[Option, ...]]] = {
    "What sensors report": tuple(
        Option(name, heading, _OFF.format(what)) for name, heading, what in _COLLECTED
    ),
    "What is left out": (
        Option(
            "event_exclusions",
            "Events of programs",
            "A line each: kinds, a space, the path of the program with * and ?. "
            f"Kinds: {', '.join(sorted(LIST_OF_EVENT))}. What is left out is never stored, and "
            "nothing fires on it.",
            "exclusions",
        ),
        Option(
            "filter_known_dlls",
            "Loads of Windows' own libraries",
            "On: loads of KnownDLLs by their full path are not stored.",
        ),
    ),
    "Response": (
        Option(
            "banning_enabled",
            "Enforce bans",
            "Off: banned programs start on these hosts, from the next check-in on.",
        ),
        Option(
            "isolation_exclusions",
            "What an isolated host may still reach",
            "A line each: address or address:port, a space, a name. With # before it, it is kept "
            "and not used. Hosts that are isolated now learn of it at their next check-in.",
            "hosts",
        ),
    ),
    "Copies of programs": (
        Option(
            "collect_storefiles",
            "Send every new program",
            "On: every program that is new to the server leaves these hosts.",
        ),
        Option(
            "binary_orders",
            "Orders of programs",
            "off: none leaves. asked: one that somebody asks for. unsigned: those without a "
            "signature by themselves, too.",
            "choice",
            BINARY_ORDERS,
        ),
        Option(
            "binary_quota_bytes",
            "Bytes that the server keeps",
            "0: as many as fit. Less: the copies that were asked for least go.",
            "number",
        ),
    ),
    "Check-ins and versions": (
        Option(
            "checkin_interval_s",
            "Seconds between check-ins",
            "0: the server's setting. Isolation and bans reach a host that much later at most.",
            "number",
        ),
        Option("sensor_version_windows", "Windows", _VERSION, "text"),
        Option("sensor_version_osx", "macOS", _VERSION, "text"),
        Option("sensor_version_linux", "Linux", _VERSION, "text"),
        Option(
            "max_licenses",
            "Hosts at most",
            "-1: half of the server's. Further hosts are refused at enrolment.",
            "number",
            least=-1,
        ),
        Option(
            "sensor_exe_name",
            "Name of the sensor's program",
            "Empty: its own. For installers from now on; hosts that have one keep its name.",
            "text",
        ),
    ),
    "Room on the hosts": (
        Option(
            "quota_eventlog_bytes",
            "Bytes of events",
            "What a host keeps while the server cannot be reached; the oldest go first.",
            "number",
        ),
        Option(
            "quota_eventlog_percent",
            "Percent of the disk for events",
            "The smaller of both counts.",
            "number",
            most=100,
        ),
        Option(
            "quota_storefile_bytes",
            "Bytes of copies of programs",
            "What waits on a host to be sent.",
            "number",
        ),
        Option(
            "quota_storefile_percent",
            "Percent of the disk for copies",
            "The smaller of both counts.",
            "number",
            most=100,
        ),
    ),
    "Risk and privacy": (
        Option(
            "alert_criticality",
            "Criticality",
            "1 to 5: weighs the risk of these hosts; it stands in their alerts from now on.",
            "number",
            most=100,
        ),
        Option(
            "pseudonymise_users",
            "Names of users under pseudonyms",
            "From now on; what is stored stays as it is, so a user has two names in searches.",
        ),
        Option(
            "secret_patterns",
            "Secrets in texts",
            "RE2 expressions, a line each: what they match is stored under pseudonyms from now on.",
            "rows",
        ),
    ),
    "Kept for clients, without effect here": (
        Option("address_resolution_hint", "Address family", "", "choice", ("", "ipv4", "ipv6")),
        Option("collect_emet_events", "EMET events", ""),
        Option("collect_moduleinfo", "Module information", ""),
        Option("datastore_server", "Data store", "", "text"),
        Option("process_filter_level", "Process filter level", "", "number", most=100),
        Option("server_cert_id", "Certificate of the server", "", "number"),
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
