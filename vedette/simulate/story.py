"""What an attack story is made of: steps as data, each labelled with its ATT&CK technique.

Texts may name the company's hosts: `<user>`, `<profile>` (home folder) and `<sid>` mean those
of the host a step happens on, `<files.name>` and `<files.ip>` those of the story's host `files`.
"""

from base64 import b64encode
from dataclasses import dataclass

from vedette.simulate.fleet import Role


@dataclass(frozen=True, slots=True)
class Step:
    """Something that happens on `host` (a name of the story), `after_s` seconds after the step
    before. `actor` is a process: of an earlier `Run` on that host, or a resident of the day."""

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
    """The process ends."""


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
    """`actor` is the service's name."""

    command: str


@dataclass(frozen=True, slots=True)
class Encrypt(Step):
    """`count` files of `folders` are written anew with `suffix` and the originals deleted."""

    folders: tuple[str, ...]
    suffix: str
    count: int


@dataclass(frozen=True, slots=True)
class Story:
    name: str
    title: str
    hosts: tuple[tuple[str, Role], ...]
    """Names that steps use, and the role whose first host of the fleet plays the part."""
    hour: float
    """When it begins, in the local time of the first host."""
    steps: tuple[Step, ...]
    query: str
    """A search that finds it."""

    @property
    def techniques(self) -> tuple[str, ...]:
        """ATT&CK techniques in the order they are used, each once."""
        return tuple(dict.fromkeys(step.technique for step in self.steps if step.technique))


def encoded(script: str) -> str:
    """What follows PowerShell's `-EncodedCommand`."""
    return b64encode(script.encode("utf-16-le")).decode()
