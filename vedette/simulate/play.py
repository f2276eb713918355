"""Runs an attack story on the machines of a fleet: each step logs its events."""

from collections.abc import Mapping

from vedette.simulate.fleet import Fleet
from vedette.simulate.machine import SECOND_US, Machine, Process
from vedette.simulate.story import (
    Accept,
    Connect,
    Delete,
    Encrypt,
    End,
    InstallService,
    Load,
    NetworkLogon,
    OpenProcess,
    Pipe,
    Run,
    Script,
    SetValue,
    StartThread,
    Step,
    Story,
    Write,
)
from vedette.simulate.windows.machine import WindowsMachine, domain_user

Cast = dict[str, Machine]
"""Maps name in the story to machine."""


def assign_hosts(story: Story, fleet: Fleet, machines: Mapping[str, Machine]) -> Cast:
    """Assigns a machine to each host name of the story. Raises LookupError if the fleet has no host
    with a role."""
    return {name: machines[fleet.first(role).name] for name, role in story.hosts}


def play(story: Story, cast: Cast, start_us: int) -> int:
    """Runs all steps from `start_us`; returns the time of the last step, epoch microseconds."""
    scene = _StoryRun(cast)
    at_us = start_us
    for step in story.steps:
        at_us += int(step.after_s * SECOND_US)
        scene.run_step(step, at_us)
    return at_us


class _StoryRun:
    """The processes of a story by host and name, and the values of its placeholders."""

    def __init__(self, cast: Cast) -> None:
        self._cast = cast
        self._actors: dict[tuple[str, str], Process] = {}

    def run_step(self, step: Step, at: int) -> None:
        machine = self._cast[step.host]
        match step:
            case Run():
                parent = self._actor(step.host, step.parent)
                path, line = self._text(step, step.path), self._text(step, step.command_line)
                process = machine.run(at, path, line, parent, step.user)
                self._actors[step.host, step.actor] = process
            case End():
                machine.exit(at, self._actor(step.host, step.actor))
            case Connect():
                address = self._text(step, step.address)
                actor = self._actor(step.host, step.actor)
                machine.connect(at, actor, address, step.port, step.name)
            case Accept():
                address = self._text(step, step.address)
                machine.accept(at, self._actor(step.host, step.actor), address, step.port)
            case Write():
                machine.write(at, self._actor(step.host, step.actor), self._text(step, step.path))
            case Delete():
                machine.delete(at, self._actor(step.host, step.actor), self._text(step, step.path))
            case Encrypt():
                self._encrypt(step, machine, at)
            case _:
                assert isinstance(machine, WindowsMachine), f"{step} needs a Windows host"
                self._run_on_windows(step, machine, at)

    def _run_on_windows(self, step: Step, machine: WindowsMachine, at: int) -> None:
        match step:
            case NetworkLogon():
                address = self._text(step, step.address)
                machine.logon(at, domain_user(step.actor), 3, address)
            case InstallService():
                machine.install_service(at, step.actor, step.command)
            case SetValue():
                actor = self._actor(step.host, step.actor)
                machine.set_value(
                    at, actor, self._text(step, step.key), self._text(step, step.details)
                )
            case Load():
                machine.load(at, self._actor(step.host, step.actor), step.path)
            case OpenProcess():
                target = self._actor(step.host, step.target)
                machine.open_process(at, self._actor(step.host, step.actor), target, step.mask)
            case StartThread():
                target = self._actor(step.host, step.target)
                machine.start_thread(at, self._actor(step.host, step.actor), target)
            case Script():
                machine.script_block(at, self._actor(step.host, step.actor), step.text)
            case Pipe():
                machine.create_pipe(at, self._actor(step.host, step.actor), step.name)
            case _:
                raise TypeError(f"unknown step: {step}")

    def _encrypt(self, step: Encrypt, machine: Machine, at: int) -> None:
        actor = self._actor(step.host, step.actor)
        for number in range(step.count):
            folder = self._text(step, step.folders[number % len(step.folders)])
            kind = ("docx", "xlsx", "pdf", "jpg", "cpp")[number % 5]
            path = rf"{folder}\{number // 20:03d}\file-{machine.nonce()}.{kind}"
            machine.write(at + number * 30_000, actor, path + step.suffix)
            machine.delete(at + number * 30_000 + 9_000, actor, path)

    def _actor(self, host: str, name: str) -> Process:
        """Returns the story's process, else a resident process of the day, else the root
        process."""
        machine = self._cast[host]
        own = self._actors.get((host, name))
        return own or machine.resident.get(name) or machine.root()

    def _text(self, step: Step, text: str) -> str:
        if "<" not in text:
            return text
        host = self._cast[step.host].host
        for mark, value in (
            ("<user>", host.user.login),
            ("<profile>", rf"C:\Users\{host.user.login}"),
            ("<sid>", host.user.sid),
        ):
            text = text.replace(mark, value)
        for name, machine in self._cast.items():
            text = text.replace(f"<{name}.ip>", machine.host.ip)
            text = text.replace(f"<{name}.name>", machine.host.name)
        return text
