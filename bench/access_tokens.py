"""Access tokens of apps over HTTPS: how many are issued and checked a second, and what the check
costs. The load comes from a process of its own on the same cores.

`python -m bench.access_tokens` is that load.
"""

import asyncio
import base64
import ssl
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import orjson

from bench.figure import Figure, Outcome, Part
from vedette.bootstrap.local_access import LocalAccess
from vedette.cli.server_process import ServerProcess, api_client
from vedette.clock import SystemClock
from vedette.state.accounts.access_tokens import AccessTokens
from vedette.state.accounts.tokens import Tokens
from vedette.state.db.database import open_database
from vedette.state.db.sealing import open_sealing

APPS: Final = 20
CONNECTIONS: Final = 16
SECONDS: Final = 10.0
_PROBE: Final = "/appservices/v6/orgs/VEDETTE/devices/1"
"""Nothing is there: 404 after the check, and little else."""

Request = Callable[[int], bytes]


def run(room: Path) -> Outcome:
    data = room / "server"
    server = ServerProcess(data, 0)
    try:
        access = server.wait_until_ready()
        apps = _apps(access)
        issued, tokens = _load(access, {"apps": apps, "tokens": []})
        checked, _ = _load(access, {"apps": [], "tokens": tokens})
    finally:
        server.stop()
    first_us, again_us = _check_us(data, tokens)
    figures = (
        Figure("tokens issued", issued, "/s", at_least=500),
        Figure("requests with a token of their own", checked, "/s", at_least=500),
        Figure("check of a token that is new", first_us / 1_000, "ms", at_most=1),
        Figure("check of a token that is known", again_us / 1_000, "ms", at_most=1),
    )
    return Outcome(f"{APPS} apps, {CONNECTIONS} TLS connections, SQLite", figures)


def _apps(access: LocalAccess) -> list[tuple[str, str]]:
    """Ids and secrets."""
    found = []
    with api_client(access) as client:
        role = {"name": "bench", "permissions": ["device:READ"]}
        role_id = client.post("/api/v1/cloud/role", json=role).raise_for_status().json()["id"]
        for number in range(APPS):
            wanted = {"name": f"bench {number}", "roles": [role_id]}
            app = client.post("/api/v1/cloud/app", json=wanted).raise_for_status().json()
            found.append((app["id"], app["secret"]))
    return found


def _check_us(data: Path, tokens: list[str]) -> tuple[float, float]:
    """Microseconds of the check within a server that has seen none of the tokens, and all."""
    database, clock = open_database("", data), SystemClock()
    made = AccessTokens(database, open_sealing(data), clock, Tokens(database, clock))
    times = []
    for check in (made.with_token, made.cached_token):
        began = time.perf_counter()
        if not all(check(one) for one in tokens):
            raise RuntimeError("a token was refused")
        times.append(1e6 * (time.perf_counter() - began) / len(tokens))
    database.close()
    return times[0], times[1]


# --- the load ---------------------------------------------------------------------------


def _load(access: LocalAccess, work: dict[str, Any]) -> tuple[float, list[str]]:
    """Requests a second, and the tokens that were issued."""
    command = [sys.executable, "-m", "bench.access_tokens", access.url, access.certificate]
    done = subprocess.run(command, input=orjson.dumps(work), capture_output=True, check=True)
    rate, tokens = orjson.loads(done.stdout)
    return rate, tokens


async def _send(url: str, certificate: str, work: dict[str, Any]) -> tuple[float, list[str]]:
    apps, tokens = work["apps"], work["tokens"]

    def request(number: int) -> bytes:
        return _asks(*apps[number % len(apps)]) if apps else _shows(tokens[number % len(tokens)])

    answers: list[bytes] = []
    began = time.perf_counter()
    await asyncio.gather(
        *(_worker(url, certificate, request, first, answers) for first in range(CONNECTIONS))
    )
    rate = len(answers) / (time.perf_counter() - began)
    found = [orjson.loads(one)["access_token"] for one in answers] if apps else []
    return rate, found[:2_000]


async def _worker(
    url: str, certificate: str, request: Request, first: int, answers: list[bytes]
) -> None:
    address = urlsplit(url)
    context = ssl.create_default_context(cafile=certificate)
    reader, writer = await asyncio.open_connection(address.hostname, address.port, ssl=context)
    number, until = first, time.perf_counter() + SECONDS
    while time.perf_counter() < until:
        writer.write(request(number))
        head = await reader.readuntil(b"\r\n\r\n")
        if head[9:12] not in (b"200", b"404"):
            raise RuntimeError(head.decode())
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        answers.append(await reader.readexactly(length))
        number += CONNECTIONS
    writer.close()


def _asks(app_id: str, secret: str) -> bytes:
    pair = base64.b64encode(f"{app_id}:{secret}".encode()).decode()
    body = "grant_type=client_credentials"
    return (
        "POST /csp/gateway/am/api/auth/token HTTP/1.1\r\nHost: x\r\n"
        f"Authorization: Basic {pair}\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}"
    ).encode()


def _shows(token: str) -> bytes:
    return f"GET {_PROBE} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode()


PART = Part("access-tokens", run)


if __name__ == "__main__":
    sent = asyncio.run(_send(sys.argv[1], sys.argv[2], orjson.loads(sys.stdin.buffer.read())))
    sys.stdout.buffer.write(orjson.dumps(sent))
