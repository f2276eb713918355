"""Actions of upgrade tests on a telemetry store, each in a forked process: a process can open only
one store, and importing the engine takes longer than opening the store."""

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
    "SELECT groupArray(name) FROM system.columns WHERE table = 'segment' AND name LIKE '%_claim'",
    "SELECT groupArray(name) FROM system.tables WHERE name IN ('correction', 'segment_next')",
)

CORRECTED_PATHS = ("c:\\later.exe", "!c:\\corrected.exe", "\x7flost.exe")


def killed_upgrade(telemetry: Path, began: int, after: int) -> int:
    """Upgrades a store of version `began` by a process that kills itself after so many statements.
    The signal; 0 when it completed before."""
    return -_exit_code(_upgrade_and_die, telemetry, began, after)


def opened_answers(telemetry: Path) -> list[list[Any]]:
    """Opens a store as a server does: rows of `segment` and their hash; newest and number of schema
    versions; the columns of claims; tables of the old layout."""
    answers = telemetry.parent / "answers.json"
    assert _exit_code(_open_and_answer, telemetry, answers) == 0
    found: list[list[Any]] = json.loads(answers.read_text())
    return found


def corrected_path(telemetry: Path) -> tuple[str, list[str]]:
    """Upgrades a store of version 8 with pending corrections of one process: two that have the rank
    of the stored path, and a greater path of a lower rank. The newest of the first two, and the
    distinct paths of the process after the upgrade."""
    answers = telemetry.parent / "paths.json"
    assert _exit_code(_correct_and_upgrade, telemetry, answers) == 0
    return CORRECTED_PATHS[1], json.loads(answers.read_text())


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


def _correct_and_upgrade(telemetry: Path, answers: Path) -> None:
    engine = open_engine(telemetry)
    columns = [row[0] for row in engine.query("DESCRIBE TABLE correction").rows]
    keys = ("partition_ms", "sensor_id", "process_id", "windows", "seq")
    process_id = engine.query(
        "SELECT process_id FROM segment FINAL WHERE path != '' AND identity_rank > 0 "
        "GROUP BY process_id ORDER BY uniqExact(window_ms) DESC, process_id LIMIT 1"
    ).rows[0][0]
    engine.command("TRUNCATE TABLE correction")
    for seq, path in enumerate(CORRECTED_PATHS, 1):
        lower = seq == len(CORRECTED_PATHS)
        changed = {"path": "{path:String}", "identity_rank": f"max(identity_rank) - {lower:d}"}
        values = ", ".join(
            changed.get(name, f"max(`{name}`)") for name in columns if name not in keys
        )
        engine.command(
            f"INSERT INTO correction ({', '.join(f'`{name}`' for name in columns)}) "
            "SELECT partition_ms, any(sensor_id), process_id, groupUniqArray(window_ms), "
            f"{seq:d}, {values} FROM segment WHERE process_id = {{process:String}} "
            "GROUP BY partition_ms, process_id",
            {"path": path, "process": process_id},
        )
    create_tables(engine)
    found = engine.query(
        "SELECT DISTINCT path FROM segment FINAL WHERE process_id = {process:String}",
        {"process": process_id},
    )
    answers.write_text(json.dumps([row[0] for row in found.rows]))
    engine.close()
