"""Posted second by second through real commits, a segment answers as one, merged or not."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.pipeline.write_path import (
    NOON_S,
    WritePath,
    event_texts,
    found,
    merge,
    processes,
    write_path,
)
from tests.support.indexed import chosen
from tests.support.sysmon import Host
from vedette.clock import DrivenClock
from vedette.store.engine.client import ClickHouseEngine, Engine

SECONDS = 30

QUESTIONS: dict[str, list[str]] = {
    "filemod:second-3.txt": ["writer"],
    "filemod:second-3.txt AND filemod:second-27.txt": ["writer"],
    "filemod:second-3.txt AND domain:c2.example": ["writer"],
    "filemod:second-3.txt AND -filemod:second-27.txt": [],
    "filemod:second-3.txt AND -domain:c2.example": [],
    "-filemod:second-3.txt": ["explorer", "reader"],
    "-filemod:second-3.txt AND -domain:c2.example": ["explorer", "reader"],
    "childproc_name:reader.exe childproc_name:writer.exe": ["explorer"],
    "filemod:second-3.txt OR modload:late.dll": ["reader", "writer"],
    f"filemod_count:{SECONDS}": ["writer"],
    "netconn_count:3 regmod_count:0": ["writer"],
    "modload_count:[3 TO *]": ["reader"],
    "ipaddr:203.0.113.0/24 AND cmdline:quick": ["writer"],
    "username:ann AND filemod:second-29.txt": ["writer"],
    "process_name:writer.exe": ["writer"],
    "": ["explorer", "reader", "writer"],
}
"""Maps query to the processes that match after all seconds."""


@pytest.fixture
def either(
    contract_engine: ClickHouseEngine, tmp_path: Path, clock: DrivenClock
) -> Iterator[WritePath]:
    """A write path, once over plain tables and once over Distributed ones."""
    with write_path(contract_engine, tmp_path, clock) as opened:
        yield opened


class Trio:
    """A process that reports every second, one that does now and then, and their parent."""

    def __init__(self) -> None:
        self.host = Host("whole.example", NOON_S - 50)
        self.explorer = self.host.process(9, "C:\\explorer.exe")
        self.writer = self.host.process(1, "C:\\writer.exe", "writer.exe quick")
        self.reader = self.host.process(2, "C:\\reader.exe", "reader.exe slow")

    def names(self, engine: Engine) -> dict[str, str]:
        """Names of the stored processes by their id."""
        of = {
            one.sensor_less_id: one.image[3:-4] for one in (self.explorer, self.writer, self.reader)
        }
        return {process_id: of[process_id[8:]] for process_id in processes(engine)}

    def post(self, path: WritePath, second: int) -> None:
        host, writer, reader = self.host, self.writer, self.reader
        at_s = 50.0 + second
        records = [host.of(writer, 11, at_s, TargetFilename=f"C:\\second-{second}.txt")]
        if second == 7:
            records.append(
                host.of(
                    writer,
                    22,
                    at_s,
                    QueryName="c2.example",
                    QueryStatus=0,
                    QueryResults="203.0.113.9;",
                )
            )
        if second % 10 == 8:
            records.append(self._connection(second, at_s))
        if second % 10 == 9:
            records.append(host.of(reader, 7, at_s, ImageLoaded=f"C:\\{second}\\late.dll"))
        if second == 20:
            records += [host.created(one, self.explorer) for one in (writer, reader)]
        path.post(records)

    def _connection(self, second: int, at_s: float) -> dict[str, object]:
        return self.host.of(
            self.writer,
            3,
            at_s,
            Protocol="tcp",
            Initiated="true",
            SourceIp="10.0.0.5",
            SourcePort=50_000 + second,
            DestinationIp="203.0.113.9",
            DestinationPort=443,
        )


def test_a_segment_answers_as_a_whole_before_during_and_after_merging(either: WritePath) -> None:
    trio, engine = Trio(), either.engine
    for second in range(SECONDS):
        either.clock.advance(1)
        trio.post(either, second)
        if second % 15 == 14:
            before = _everything(engine)
            merge(engine)
            assert _everything(engine) == before
    found_by_question, events = before
    names = trio.names(engine)
    assert {
        question: sorted(names[process_id] for process_id, _ in segments)
        for question, segments in found_by_question.items()
    } == {question: QUESTIONS[question] for question in chosen(engine, list(QUESTIONS))}
    counts = {names[name]: (len(texts), len(set(texts))) for name, texts in events.items()}
    written = SECONDS + SECONDS // 10 + 1
    assert counts == {"explorer": (2, 2), "writer": (written, written), "reader": (3, 3)}


def _everything(
    engine: Engine,
) -> tuple[dict[str, list[tuple[str, int]]], dict[str, list[str]]]:
    """The answers to the questions, and the events of all processes."""
    return (
        {question: found(engine, question) for question in chosen(engine, list(QUESTIONS))},
        {name: event_texts(engine, name) for name in processes(engine)},
    )
