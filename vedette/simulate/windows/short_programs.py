"""Short-lived programs on Windows: start, load modules, end."""

from vedette.simulate.machine import Process
from vedette.simulate.software import WINDOWS_MODULES
from vedette.simulate.windows.machine import WindowsMachine

_MODULE_PATHS = tuple(image.path for image in WINDOWS_MODULES)


def load_modules(m: WindowsMachine, at: int, process: Process, most: int) -> None:
    chosen = 3 + int(m.rng.random() * most)
    first = int(m.rng.random() * 12)
    for number, path in enumerate(_MODULE_PATHS[first : first + chosen]):
        m.load(at + (number + 1) * 3_000, process, path)


def run_tool(
    m: WindowsMachine, at: int, path: str, line: str, parent: Process, modules: int = 5
) -> Process:
    """Runs a short-lived program: starts it, loads modules, ends it."""
    process = m.run(at, path, line, parent)
    load_modules(m, at, process, modules)
    m.exit(at + 60_000 + m.within(2), process)
    return process
