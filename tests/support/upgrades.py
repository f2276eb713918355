"""What tests of upgrades do to a telemetry store, each in a forked process: one process can have
one store open, and importing the engine takes longer than opening it."""

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.forked import FORKS
from vedette.store.engine.open import open_engine
from vedette.store.schema.create import create_tables
from vedette.store.schema.upgrade import upgrade

_QUESTIONS = (
    "SELECT count(), sum(cityHash64(process_id, path, username)) FROM segment FINAL",
    "SELECT max(version), count() FROM schema",
    "SELECT groupArray(name) FROM system.columns WHERE table = 'segment' AND name LIKE '%_rank'",
    "SELECT count() FROM correction",
)


def killed_upgrade(telemetry: Path, began: int, after: int) -> int:
    """Upgrades a store of version `began` by a process that kills itself after so many statements.
    The signal; 0 when it completed before."""
    return -_exit_code(_upgrade_and_die, telemetry, began, after)


def opened_answers(telemetry: Path) -> list[list[Any]]:
    """Opens a store as a server does: rows of `segment` and their hash; newest and number of schema
    versions; the rank columns; the number of corrections."""
    answers = telemetry.parent / "answers.json"
    assert _exit_code(_open_and_answer, telemetry, answers) == 0
    found: list[list[Any]] = json.loads(answers.read_text())
    return found


def _exit_code(work: Callable[..., None], *arguments: object) -> int:
    process = FORKS.Process(target=_run, args=(work, arguments))
    process.start()
    process.join()
    assert process.exitcode is not None
    return process.exitcode


def _run(work: Callable[..., None], arguments: tuple[object, ...]) -> None:
    """The engine's threads end with the process, not before."""
    try:
        work(*arguments)
    except BaseException:  # noqa: BLE001 - told by the exit code
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)


def _upgrade_and_die(telemetry: Path, began: int, after: int) -> None:
    engine = open_engine(telemetry)
    for number, _ in enumerate(upgrade(engine, began), 1):
        if number == after:
            os.kill(os.getpid(), signal.SIGKILL)
    engine.close()


def _open_and_answer(telemetry: Path, answers: Path) -> None:
    engine = open_engine(telemetry)
    create_tables(engine)
    answers.write_text(json.dumps([engine.query(question).rows[0] for question in _QUESTIONS]))
    engine.close()
