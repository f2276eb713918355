"""Attack stories as data: a sequence of steps, each with its ATT&CK technique.

Placeholders in texts: `<user>`, `<profile>` (home folder) and `<sid>` refer to the step's host;
`<files.name>` and `<files.ip>` to the story's host `files`.
"""

from base64 import b64encode
from dataclasses import dataclass

from vedette.simulate.fleet import Role


@dataclass(frozen=True, slots=True)
class Step:
    """An action on `host` (a name of the story), `after_s` seconds after the previous step. `actor`
    is a process: one started by an earlier `Run` on that host, or a resident process of the day."""

    after_s: float
    host: str
    actor: str
    technique: str


@dataclass(frozen=True, slots=True)
class Run(Step):
    """Starts `actor` as a child of `parent`."""

    parent: str
    path: str
    command_line: str
    user: str = ""


@dataclass(frozen=True, slots=True)
class End(Step):
    """Ends the process of `actor`."""


@dataclass(frozen=True, slots=True)
class Connect(Step):
    address: str
    port: int
    name: str = ""


@dataclass(frozen=True, slots=True)
class Accept(Step):
    """A connection from `address` to the local `port`."""

    address: str
    port: int


@dataclass(frozen=True, slots=True)
class Write(Step):
    path: str


@dataclass(frozen=True, slots=True)
class Delete(Step):
    path: str


@dataclass(frozen=True, slots=True)
class SetValue(Step):
    key: str
    details: str


@dataclass(frozen=True, slots=True)
class Load(Step):
    path: str


@dataclass(frozen=True, slots=True)
class OpenProcess(Step):
    target: str
    mask: int


@dataclass(frozen=True, slots=True)
class StartThread(Step):
    target: str


@dataclass(frozen=True, slots=True)
class Script(Step):
    """A PowerShell script block."""

    text: str


@dataclass(frozen=True, slots=True)
class Pipe(Step):
    name: str


@dataclass(frozen=True, slots=True)
class NetworkLogon(Step):
    """A logon of `actor` (a login) from `address`."""

    address: str


@dataclass(frozen=True, slots=True)
class InstallService(Step):
    """Installs a service; `actor` is its name."""

    command: str


@dataclass(frozen=True, slots=True)
class Encrypt(Step):
    """Rewrites `count` files of `folders` with `suffix` and deletes the originals."""

    folders: tuple[str, ...]
    suffix: str
    count: int


@dataclass(frozen=True, slots=True)
class Story:
    name: str
    title: str
    hosts: tuple[tuple[str, Role], ...]
    """Host names used by the steps, each with a role; the first host with that role is used."""
    hour: float
    """Start, in the local time of the first host."""
    steps: tuple[Step, ...]
    query: str
    """A search query that finds the story."""

    @property
    def techniques(self) -> tuple[str, ...]:
        """ATT&CK techniques in order of use, each once."""
        return tuple(dict.fromkeys(step.technique for step in self.steps if step.technique))


def encoded(script: str) -> str:
    """Returns the argument of PowerShell's `-EncodedCommand`."""
    return b64encode(script.encode("utf-16-le")).decode()
