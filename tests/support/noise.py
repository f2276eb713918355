"""A rule, and hosts each of which makes one alert of it."""

from typing import Any, Final

from tests.support.sysmon import Host

RULE: Final = """title: Noise
id: 5c1f0a52-4a3e-4a56-9a33-0000000000aa
level: high
logsource: {product: windows, category: process_creation}
detection: {one: {CommandLine|contains: make-noise}, condition: one}
"""


def noise(name: str) -> dict[str, Any]:
    """The record of a new host, by its name."""
    host = Host(f"{name}.noise.example")
    explorer = host.process(900, "C:\\Windows\\explorer.exe")
    return host.created(host.process(1000, "C:\\noise.exe", "noise.exe make-noise", 5), explorer)
