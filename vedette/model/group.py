"""Values that settings of a sensor group have."""

from typing import Final

MANUAL: Final = "Manual"
"""`sensor_version_*` value: sensors keep their installed version."""

LATEST: Final = "latest"
"""`sensor_version_*` value, in any letter case: sensors install the registered package,
whatever its version."""

ORDERS_OFF: Final = "off"
ORDERS_ASKED: Final = "asked"
ORDERS_UNSIGNED: Final = "unsigned"
BINARY_ORDERS: Final = (ORDERS_OFF, ORDERS_ASKED, ORDERS_UNSIGNED)
"""When sensors of a group upload programs: never, on request, or on request and also automatically
when an unsigned program is first seen."""


LIST_OF_EVENT: Final = {
    "crossproc": "crossproc_filters",
    "filemod": "filemod_filters",
    "filemod-non-binary": "non_binary_filemod_filters",
    "modload": "modload_filters",
    "netconn": "netconn_filters",
    "regmod": "regmod_filters",
}
"""The list of a filter by the name of an event in `eventsToIgnore`."""

WITHOUT_EFFECT: Final = "process-info"
"""An event to ignore that is stored and changes nothing: without it there is no process."""


def is_excluded_path(path: str) -> bool:
    """Whether it can be a path of `event_exclusions`: a glob as a path of a filter is, and not what
    a filter would take for an expression."""
    looks_like_expression = path.startswith(("regex:", "^")) or path.endswith("$")
    return path.isprintable() and path != "" and not looks_like_expression
