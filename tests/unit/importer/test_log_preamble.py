"""Logs that begin with other text."""

import codecs
import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.ingest.decode.test_cut_records import AUDIT, EVENT
from vedette.importer.file_sequence import Sequence
from vedette.importer.sources.archives import IMPORT_BUFFER_BYTES

LOG = "".join(f"{AUDIT.replace(':15)', f':{number})')}\n" for number in range(5)).encode()

PREAMBLES = {
    "journal": b"-- Logs begin at Mon 2023-11-13 --\n",
    "kernel ring buffer": b"[    0.000000] Linux version 6.1 (x@y) {a} [b\n" * 200,
    "ausearch": b"----\ntime->Sat Nov 14 10:00:00 2023\n",
    "many lines": b"lorem ipsum dolor\n" * 20_000,
    "zeros of a crash": b"\0" * 100_000,
    "open braces": b"{ this is no json\n" * 3,
    "an open string": b'{"a": "unterminated\n',
    "an open array": b"[[[ x\n",
    "an open event": f"{EVENT[:150]}\n".encode(),
    "a tag": b"<html>\n<Event>\n",
    "Latin-1": b"h\xe9llo\n",
}
LINES = {"zeros of a crash": 0, "an open event": 1, "a tag": 1}
"""Lines that are counted as rejected, where that is not every line."""

FORMS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "a byte order mark": lambda text: codecs.BOM_UTF8 + text,
    "gzip": gzip.compress,
    "UTF-16": lambda text: codecs.BOM_UTF16_LE + text.decode("utf-8", "replace").encode("utf-16le"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", PREAMBLES)
def test_a_log_is_read_from_its_first_line_and_the_rest_is_counted(
    name: str, form: str, tmp_path: Path
) -> None:
    path = tmp_path / "audit.log"
    path.write_bytes(FORMS[form](PREAMBLES[name] + LOG))
    with Sequence(path) as sequence:
        assert sum(len(chunk.records) for chunk in sequence.chunks()) == 5
        assert sequence.refusals == []
        skipped = LINES.get(name, PREAMBLES[name].count(b"\n"))
        assert sum(sequence.reasons.values()) == skipped
        assert sequence.files == [str(path)]


def test_a_binary_that_mentions_audit_is_no_log(tmp_path: Path) -> None:
    path = tmp_path / "auditd"
    path.write_bytes(b"\x7fELF\0\0" + b"type=%s msg=audit(%lu.%03u:%lu): \0santad: \0<Event>" * 99)
    with Sequence(path) as sequence:
        assert [refusal.reason for refusal in sequence.refusals] == ["unknown_kind"]


def test_how_much_is_searched_is_bounded_and_said(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    path.write_bytes(b"lorem ipsum\n" * (IMPORT_BUFFER_BYTES // 12 + 1) + LOG)
    with Sequence(path) as sequence:
        assert [refusal.reason for refusal in sequence.refusals] == ["unknown_kind"]
        assert f"{IMPORT_BUFFER_BYTES:,} bytes" in sequence.refusals[0].message
