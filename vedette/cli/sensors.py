"""`vedette sensor`: re-enrollments that need approval."""

from typing import Annotated

import typer

from vedette.cli.options import ConfigOption, DataOption, JsonOption, open_state
from vedette.cli.printing import print_json, print_table, time_text
from vedette.clock import SystemClock
from vedette.state.sensors import key_replacement

app = typer.Typer(no_args_is_help=True)

OPERATOR = "(command line)"
"""Name in the audit of a sensor's keys."""

SensorArgument = Annotated[int, typer.Argument(metavar="ID", help="Id of the sensor.")]

MachineOption = Annotated[
    str | None,
    typer.Option(
        "--machine-id", metavar="TEXT", help="Machine id of the request that you reviewed."
    ),
]


@app.command("pending")
def pending(
    data: DataOption = None, config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """List enrollments under the name of a host that already has a key."""
    with open_state(data, config) as database:
        found = key_replacement.requests(database)
    rows = [
        {
            "id": sensor_id,
            "hostname": hostname,
            "program": one.kind,
            "machine_id": one.machine_id,
            "requested": time_text(one.requested_us),
            "approved": time_text(one.approved_us),
        }
        for sensor_id, hostname, one in found
    ]
    if as_json:
        print_json(rows)
        return
    headings = ("id", "host", "program", "machine id", "requested", "approved")
    print_table(headings, [tuple(row.values()) for row in rows])


@app.command("approve")
def approve(
    sensor_id: SensorArgument,
    machine_id: MachineOption = None,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Allow the machine that requested it to take over the sensor at its next attempt."""
    with open_state(data, config) as database:
        now_us = SystemClock().now_us()
        key_replacement.approve(database, sensor_id, OPERATOR, now_us, machine_id)
    typer.echo(f"approved the re-enrollment of sensor {sensor_id}")


@app.command("reject")
def reject(
    sensor_id: SensorArgument,
    machine_id: MachineOption = None,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Reject the request. A further attempt is a new request."""
    with open_state(data, config) as database:
        now_us = SystemClock().now_us()
        key_replacement.reject(database, sensor_id, OPERATOR, now_us, machine_id)
    typer.echo(f"rejected the re-enrollment of sensor {sensor_id}")
