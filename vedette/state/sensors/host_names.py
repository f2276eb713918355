"""Joins the short and the full name of a host: `web` and `web.corp.example` are one sensor.

Logs of one host often use both. A new name joins an existing sensor of the same group if that is
unambiguous: a short name becomes an alias of the only full name that begins with it, and a full
name replaces its short one. An enrolled sensor keeps its name, since any sender of the group can
choose names in records; the first full name becomes its alias. Two full names that share a label
stay two sensors. Addresses, numbers and `localhost` are never joined.
"""

from collections.abc import Iterable, Sequence
from ipaddress import ip_address

from sqlalchemy import Connection, select, update

from vedette.limits import Limit
from vedette.state.db.database import insert_new
from vedette.state.db.schema import ALIAS, SENSOR

HOST_LABELS_PER_STATEMENT: Limit[int] = 250
"""First labels in one statement, two parameters each; both databases limit the number of
parameters."""


def join_names(
    connection: Connection, names: Sequence[str], group_id: int, now_us: int
) -> list[str]:
    """Assigns new names to existing sensors of the group. Returns the names that need a new sensor.
    When a full name replaces a sensor's short name, the short name becomes its alias."""
    joinable = {name: label for name in names if (label := _label(name))}
    full = _full_names(joinable)
    known = _known(connection, sorted(set(joinable.values())), group_id)
    left: list[str] = []
    for name in sorted(names, key=lambda one: "." not in one):
        label = joinable.get(name, "")
        sensors = known.get(label, {})
        dotted = {hostname for hostname in sensors if "." in hostname}
        if "." in name and label in sensors and not dotted and len(full[label]) == 1:
            if not _join_full(connection, sensors[label], label, name, now_us):
                left.append(name)
            known[label] = {name: sensors[label]}
        elif label and "." not in name and len(dotted) == 1 and len(full.get(label, ())) == 0:
            sensor_id = sensors[dotted.pop()]
            connection.execute(
                insert_new(connection, ALIAS), {"alias": name, "sensor_id": sensor_id}
            )
        else:
            left.append(name)
    return left


def short_names_of(names: Iterable[str]) -> dict[str, str]:
    """Maps short name to full name for names that arrive together: the only full name among `names`
    that begins with the short one."""
    wanted = set(names)
    full = _full_names({name: label for name in wanted if (label := _label(name))})
    return {label: next(iter(of)) for label, of in full.items() if len(of) == 1 and label in wanted}


def _label(name: str) -> str:
    """Returns the first label of a host name; "" for addresses, numbers and `localhost`."""
    label = name.partition(".")[0]
    if not label or label.isdecimal() or label == "localhost":
        return ""
    try:
        ip_address(name)
    except ValueError:
        return label
    return ""


def _full_names(labels: dict[str, str]) -> dict[str, set[str]]:
    full: dict[str, set[str]] = {}
    for name, label in labels.items():
        if "." in name:
            full.setdefault(label, set()).add(name)
    return full


def _known(
    connection: Connection, labels: Sequence[str], group_id: int
) -> dict[str, dict[str, int]]:
    """Maps label to the group's sensors with that label: host name to id."""
    found: dict[str, dict[str, int]] = {}
    for begin in range(0, len(labels), HOST_LABELS_PER_STATEMENT):
        some = labels[begin : begin + HOST_LABELS_PER_STATEMENT]
        either = [*some, *(label.upper() for label in some)]  # NetBIOS names are upper case
        rows = connection.execute(
            select(SENSOR.c.id, SENSOR.c.hostname).where(
                SENSOR.c.computer_name.in_(either), SENSOR.c.group_id == group_id
            )
        )
        for sensor_id, hostname in rows:
            found.setdefault(hostname.partition(".")[0], {})[hostname] = sensor_id
    return found


def _join_full(connection: Connection, sensor_id: int, short: str, full: str, now_us: int) -> bool:
    """Gives a sensor its full name. Returns False for an enrolled sensor that already has a full
    name as alias."""
    row = connection.execute(
        select(SENSOR.c.key_sha256, SENSOR.c.node_key_sha256).where(SENSOR.c.id == sensor_id)
    ).one()
    if row.key_sha256 or row.node_key_sha256:
        aliases = connection.scalars(select(ALIAS.c.alias).where(ALIAS.c.sensor_id == sensor_id))
        if any("." in alias for alias in aliases):
            return False
        connection.execute(insert_new(connection, ALIAS), {"alias": full, "sensor_id": sensor_id})
        return True
    changed = update(SENSOR).where(SENSOR.c.id == sensor_id)
    connection.execute(changed.values(hostname=full, changed_us=now_us))
    connection.execute(insert_new(connection, ALIAS), {"alias": short, "sensor_id": sensor_id})
    return True
