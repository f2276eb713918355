"""Names as long as they may be, of one piece each, wherever senders and users can write: nothing in
them says where a line may end."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.api.test_alerts import RULE, hit
from tests.support.hostile_names import must, write_names
from tests.support.sensor import enrol, secret_of
from tests.support.served import Server, state_of
from tests.support.sysmon import Host
from tests.support.written_detections import alerted_server
from vedette.clock import SystemClock
from vedette.detect.sigma.load import SIGMA_TITLE_CHARS_MAX
from vedette.limits import HOSTNAME_CHARS_MAX, STATE_NAME_CHARS_MAX
from vedette.model.findings.detection import Detection
from vedette.state.accounts import tokens
from vedette.state.policy import groups

WIDE = "m"
"""The widest letter."""
LABEL = WIDE * 63
"""Nothing between two dots of a name of DNS is longer."""
HOST = WIDE * HOSTNAME_CHARS_MAX
USER = f"CORP\\{WIDE * 251}"
IMAGE = f"C:\\{WIDE * 240}\\{WIDE * 251}.exe"
TITLE = WIDE * SIGMA_TITLE_CHARS_MAX
NAME = WIDE * STATE_NAME_CHARS_MAX
USERNAME = WIDE * 100
TEXT = WIDE * 4_000
DOMAIN = ".".join([LABEL] * 3)


def long_server(data: Path) -> Iterator[Server]:
    """With a host, its processes and their alerts."""

    def detect(server: Server) -> list[Detection]:
        with state_of(server) as database:
            group = groups.add(database, NAME).id
            new = tokens.NewToken("ingest", NAME, group_id=group)
            secret = tokens.issue(database, new, SystemClock().now_us()).secret
        with server.client(Authorization=f"Bearer {secret}") as client:
            must(client.post("/api/v1/ingest", json=records()))
        values = {"ioc_type": "dns", "ioc_value": DOMAIN, "matched": {"Image": TEXT}}
        return [hit(row, RULE, TITLE, **values) for row in processes(server)]

    with alerted_server(data, detect) as server:
        yield server


def records() -> list[dict[str, Any]]:
    host = Host(HOST)
    chain = [host.process(900 + at, IMAGE, TEXT, at) for at in range(10)]
    made = [host.created(child, parent) for parent, child in pairwise(chain)]
    for record in made:
        record["winlog"]["event_data"]["User"] = USER
    last = chain[-1]
    return [
        *made,
        host.of(last, 11, 1, TargetFilename=f"C:\\{TEXT}"),
        host.of(last, 13, 2, EventType="SetValue", TargetObject=f"HKLM\\{TEXT}", Details=TEXT),
        host.of(last, 22, 3, QueryName=DOMAIN, QueryResults="203.0.113.9;"),
        host.of(
            last,
            7,
            4,
            ImageLoaded=f"C:\\{NAME}.dll",
            Signed="true",
            Signature=NAME,
            SignatureStatus="Valid",
            Hashes=f"MD5={'AB' * 16}",
        ),
    ]


def processes(server: Server) -> list[dict[str, Any]]:
    with server.analyst() as client:
        query = {"q": "process_pid:[901 TO 909]", "rows": "50", "sort": "start desc"}
        return list(must(client.get("/api/v1/process", params=query))["results"])


def write_long(server: Server) -> dict[str, str]:
    """Writes long names into all objects, and returns the names of the objects."""
    with server.client() as client:
        sensor = enrol(client, LABEL, secret_of(server))
        sensor.check_in(health_status=1, health_message=TEXT)
    row = processes(server)[0]
    with state_of(server) as database:
        group = next(one.id for one in groups.all_groups(database) if one.name == NAME)
    with server.analyst() as client:
        made = write_names(server, client, sensor.id, NAME, NAME, f"w{USERNAME[1:]}")
        (host,) = must(client.get("/api/v1/sensor", params={"hostname": HOST}))
        (filtered,) = must(client.get("/api/v1/ingress_approvedlist"))
    names = {"process": row["id"], "md5": row["process_md5"], "sensor": sensor.id}
    names |= {"host": host["id"], "group": group, "ban": "ab" * 16, "filter": filtered["id"]}
    return {name: str(value) for name, value in (names | made).items()}
