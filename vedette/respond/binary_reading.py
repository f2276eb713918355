"""Reads the copies of files in the background, and stores what they say beside the telemetry.

A copy is read once by each reader: when the reader learns more, or the trusted certificates change,
every copy is read again. What a reading says is written before the copy is noted as read, so a
server that is killed between the two reads it once more.
"""

import hashlib
import threading
from typing import Any

import msgspec
import structlog

from vedette.binaries.file_facts import READER_VERSION, FileFacts
from vedette.binaries.file_reader import FileReader
from vedette.blobs.blob_store import BlobKey, BlobStore, DamagedBlobError, open_verified
from vedette.clock import Clock
from vedette.errors import NotFoundError
from vedette.limits import FILES_READ_A_ROUND
from vedette.state.db.database import Database
from vedette.state.sensors import stored_files
from vedette.state.sensors.stored_files import StoredFile
from vedette.store.engine.client import Engine
from vedette.store.write.binary_readings import write_readings

log = structlog.get_logger(__name__)


class BinaryReading:
    """The reading of one server. `run` is for its one thread."""

    def __init__(
        self, engine: Engine, database: Database, blobs: BlobStore, reader: FileReader, clock: Clock
    ) -> None:
        self._engine = engine
        self._database = database
        self._blobs = blobs
        self._reader = reader
        self._clock = clock
        self.stopping = threading.Event()

    @property
    def read_by(self) -> str:
        """Names the reader: its version and what it trusts."""
        return f"{READER_VERSION}:{self._reader.trust.digest}"

    def run(self) -> int:
        """Reads some of the copies that wait; how many."""
        files = stored_files.unread(self._database, self.read_by, FILES_READ_A_ROUND)
        for file in files:
            if self.stopping.is_set():
                break
            self._read(file)
        return len(files)

    def _read(self, file: StoredFile) -> None:
        try:
            with open_verified(
                self._blobs, BlobKey("binaries", file.content_sha256 or file.sha256)
            ) as content:
                facts = self._reader.read(content, file.copied, is_whole=file.copied == file.size)
        except (NotFoundError, DamagedBlobError) as error:
            log.warning("a copy of a program cannot be read", sha256=file.sha256, error=str(error))
        else:
            icon = self._store_icon(facts.icon)
            now_us = self._clock.now_us()
            write_readings(self._engine, _rows(file, facts, icon, now_us))
        stored_files.note_reading(self._database, file, self.read_by)

    def _store_icon(self, icon: bytes) -> str:
        if not icon:
            return ""
        sha256 = hashlib.sha256(icon).hexdigest()
        self._blobs.put(BlobKey("icons", sha256), [icon])
        return sha256


def read_icon(blobs: BlobStore, sha256: str) -> bytes | None:
    """The PNG of an icon; None where it is not stored or damaged."""
    try:
        with open_verified(blobs, BlobKey("icons", sha256)) as file:
            return file.read()
    except (NotFoundError, DamagedBlobError):
        return None


def _rows(file: StoredFile, facts: FileFacts, icon: str, now_us: int) -> list[dict[str, Any]]:
    """A row for each hash that sightings may know the file by."""
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
    return [{**row, "hash": key} for key in keys]


def _entropy_text(facts: FileFacts) -> str:
    if not facts.sections:
        return ""
    return msgspec.json.encode([[one.name, one.bits] for one in facts.sections]).decode()
