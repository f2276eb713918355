"""Analyzes the copies of files in the background, and stores the results with the telemetry.

Each reader reads a copy once. When the reader's version or the trusted certificates change, every
copy is read again. Results are written before the copy is marked as read, so a server that is
killed in between reads it again.
"""

import hashlib
import json
import threading
import time
from collections.abc import Sequence
from typing import Any, Final

import msgspec
import structlog

from vedette.binaries.file_facts import READER_VERSION, FileFacts
from vedette.binaries.file_reader import FileReader, RulesRefusedError
from vedette.binaries.yara_result import YaraResult, YaraText
from vedette.blobs.blob_store import BlobKey, BlobStore, DamagedBlobError, open_verified
from vedette.clock import Clock
from vedette.errors import NotFoundError
from vedette.limits import YARA_RULE_S, Limit
from vedette.model.columns import UNREAD_AT
from vedette.state.db import key_values
from vedette.state.db.database import Database
from vedette.state.files import stored_files, yara_rules
from vedette.state.files.stored_files import Added, StoredFile
from vedette.state.files.yara_rules import YaraRule
from vedette.store.engine.client import Engine
from vedette.store.write.binary_readings import write_readings
from vedette.store.write.yara_tags import delete_yara_tags, write_yara_tags

FILES_READ_A_ROUND: Limit[int] = 50
"""Copies that one round of the background job reads: a second or two, so that a shutdown does not
wait."""

BINARY_READING_ROUND_S: Limit[int] = 30
"""Time (s) after which a round starts no further copy: files that hang the reader must not keep the
job beyond its lease."""


log = structlog.get_logger(__name__)

_APPLIED: Final = "yara rules applied"
"""Stored value with names and digests of the rules that copies were last read with."""


class BinaryReading:
    """Reads the copies of one server. `run` must be called by a single thread."""

    def __init__(
        self, engine: Engine, database: Database, blobs: BlobStore, reader: FileReader, clock: Clock
    ) -> None:
        self._engine = engine
        self._database = database
        self._blobs = blobs
        self._reader = reader
        self._clock = clock
        self._rules: list[YaraRule] = []
        self._marks: list[tuple[object, ...]] | None = None
        self.stopping = threading.Event()

    @property
    def read_by(self) -> str:
        """Identifies the reader: its version, the trusted certificates, and its YARA rules."""
        return reader_name(self._reader.trust.digest, self._rules)

    @property
    def trust_digest(self) -> str:
        """Identifies the trusted certificates."""
        return self._reader.trust.digest

    def _use_rules(self) -> None:
        """Loads changed YARA rules. Tags of changed or deleted rules are deleted before any file is
        read with the new rules; all copies are read again."""
        marks = yara_rules.marks(self._database)
        if marks == self._marks:
            return
        rules = [one for one in yara_rules.all_rules(self._database) if one.is_in_force]
        known = json.loads(key_values.load(self._database, _APPLIED) or "{}")
        wanted = {one.name: one.digest for one in rules}
        if known != wanted:
            changed = [name for name, digest in known.items() if wanted.get(name) != digest]
            delete_yara_tags(self._engine, changed)
            key_values.save(self._database, _APPLIED, json.dumps(wanted, sort_keys=True))
        if [(one.name, one.digest) for one in rules] != [
            (one.name, one.digest) for one in self._rules
        ]:
            self._rules = rules
            self._reader.use_rules([YaraText(one.name, one.text) for one in rules])
        self._marks = marks

    def run(self) -> int:
        """Reads a batch of unread copies and returns the size of the batch."""
        self._use_rules()
        files = stored_files.unread(self._database, self.read_by, FILES_READ_A_ROUND)
        deadline_s = time.monotonic() + BINARY_READING_ROUND_S
        for file in files:
            if self.stopping.is_set() or time.monotonic() > deadline_s:
                break
            try:
                if self._read(file):
                    break  # the next round continues without the stopped rules
            except RulesRefusedError as error:
                self._stop_newest(str(error))
                break
        return len(files)

    def _stop_newest(self, why: str) -> None:
        """Stops the most recently changed text of rules, when a reader fails to start with all
        texts."""
        newest = max(self._rules, key=lambda one: one.changed_us)
        log.warning("YARA rules are stopped", name=newest.name, why=why)
        yara_rules.stop(self._database, newest.name, newest.digest, f"stopped: {why}")

    def _read(self, file: StoredFile) -> bool:
        """Reads one copy. Returns whether it caused a YARA rule to be stopped."""
        has_stopped = False
        try:
            with open_verified(
                self._blobs, BlobKey("binaries", file.content_sha256 or file.sha256)
            ) as content:
                facts = self._reader.read(content, file.copied, is_whole=file.copied == file.size)
        except (NotFoundError, DamagedBlobError) as error:
            log.warning("cannot read a copy of a program", sha256=file.sha256, error=str(error))
        else:
            icon = self._store_icon(facts.icon)
            now_us = self._clock.now_us()
            write_readings(self._engine, _rows(file, facts, icon, now_us))
            self._note_matches(file, facts.yara, now_us)
            has_stopped = bool(facts.yara.stopped)
        stored_files.note_reading(self._database, file, self.read_by)
        return has_stopped

    def _note_matches(self, file: StoredFile, found: YaraResult, now_us: int) -> None:
        """Tags a whole file, whose hashes are verified, with its matches; stops rules that did not
        finish."""
        if found.matches and not file.sensor_id:
            hashes = [digest for digest in (file.md5, file.sha256) if digest]
            matches = [(one.text, one.rule, one.score) for one in found.matches]
            write_yara_tags(self._engine, hashes, matches, now_us)
        digests = {one.name: one.digest for one in self._rules}
        for name in found.stopped:
            problem = (
                f"stopped: exceeded {YARA_RULE_S} s or the memory limit on the file {file.sha256}"
            )
            log.warning("YARA rules are stopped", name=name, sha256=file.sha256)
            yara_rules.stop(self._database, name, digests[name], problem)

    def _store_icon(self, icon: bytes) -> str:
        if not icon:
            return ""
        sha256 = hashlib.sha256(icon).hexdigest()
        self._blobs.put(BlobKey("icons", sha256), [icon])
        return sha256


def note_added(engine: Engine, file: StoredFile) -> None:
    """Stores the record of a file that an operator added, before its reading. An existing reading
    stays."""
    rows = _rows(file, FileFacts(), "", UNREAD_AT)
    write_readings(engine, [row | {"image_format": ""} for row in rows])


def reader_name(trust: str, rules: Sequence[YaraRule]) -> str:
    """Returns a name that changes when copies must be read again: with the reader's version, the
    digest of the trusted certificates, and the YARA rules in force."""
    named = [f"{one.name}:{one.digest}" for one in rules]
    digest = hashlib.sha256("\n".join(named).encode()).hexdigest()[:16] if named else ""
    return f"{READER_VERSION}:{trust}" + (f":{digest}" if digest else "")


def read_icon(blobs: BlobStore, sha256: str) -> bytes | None:
    """Returns the PNG of an icon; None if it is missing or damaged."""
    try:
        with open_verified(blobs, BlobKey("icons", sha256)) as file:
            return file.read()
    except (NotFoundError, DamagedBlobError):
        return None


def _rows(file: StoredFile, facts: FileFacts, icon: str, now_us: int) -> list[dict[str, Any]]:
    """Returns a row for each hash that sightings may identify the file by."""
    signature = facts.signature
    row = {
        "sensor_id": file.sensor_id,
        "read_at": now_us,
        "md5": file.md5,
        "sha256": file.sha256,
        "first_seen": file.stored_us or now_us,
        "added": file.stored_us or now_us,
        **facts.version,
        "imphash": facts.imphash,
        "digsig_result": signature.result,
        "digsig_result_code": signature.result_code,
        "digsig_publisher": signature.publisher,
        "digsig_issuer": signature.issuer,
        "digsig_subject": signature.subject,
        "digsig_prog_name": signature.prog_name,
        "digsig_sign_time": signature.sign_time_us,
        "digsig_countersign_time": signature.countersign_time_us,
        "is_executable_image": int(facts.is_executable_image),
        "is_64bit": int(facts.is_64bit),
        "orig_mod_len": file.size,
        "image_format": facts.format,
        "build_id": facts.build_id,
        "interpreter": facts.interpreter,
        "section_entropy": _entropy_text(facts),
        "read_problems": "\n".join(facts.problems),
        "icon_sha256": icon,
    }
    keys = [key for key in (file.md5, file.sha256) if key]
    # An added file without sightings needs one record of its own.
    is_added = file.added != Added.NO
    return [{**row, "hash": key, "is_added": int(is_added and key == keys[0])} for key in keys]


def _entropy_text(facts: FileFacts) -> str:
    if not facts.sections:
        return ""
    return msgspec.json.encode([[one.name, one.bits] for one in facts.sections]).decode()
