"""Copies of programs that sensors send: offered, fetched in pieces, verified, kept.

Finished copies are blobs, named by the hash of their bytes. A whole file whose hashes were verified
stands for all sensors. Of a file over 25 MiB only the beginning comes, which cannot be verified
against the hash of the whole: it is for the sensor that reported it, so that a false report spoils
no other's copy. Unfinished files lie in a directory of this server, `SENSOR-abcdef...`, each with a
`.offer` that holds what the sensor said of it.

A copy is given to those who see a sensor that sent it: naming the MD5 of another group's file is
not enough. So a group whose sensors never sent a file is asked for it again, and a sensor may fill
only part of the space.
"""

import hashlib
import os
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

import orjson

from vedette import limits
from vedette.blobs.blob_store import BlobKey, BlobStore, open_verified, pieces_of
from vedette.errors import BadRequestError, BusyError, NotFoundError, UnavailableError
from vedette.model.scope import Scope
from vedette.state.db.database import Database
from vedette.state.sensors import stored_files


@dataclass(frozen=True, slots=True)
class OfferedFile:
    """A file as a sensor describes it; hashes in lower case, "" unknown."""

    sha256: str
    md5: str
    size: int
    path: str

    @property
    def copied(self) -> int:
        """Bytes of it that are sent."""
        return min(self.size, limits.COPIED_FILE_BYTES_MAX)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A file to send, from this byte on."""

    sha256: str
    offset: int


class WrongOffsetError(Exception):
    """A piece that does not follow the ones before it; `received` is the offset wanted next."""

    def __init__(self, received: int) -> None:
        super().__init__(f"{received} bytes are there")
        self.received = received


class BinaryCopies:
    """The copies of one server. Safe to share between threads as long as a sensor sends the
    pieces of a file one after the other, to one server."""

    def __init__(
        self, database: Database, blobs: BlobStore, arriving: Path, bytes_max: int
    ) -> None:
        """`arriving` is for unfinished files, `bytes_max` for all copies of all servers."""
        self._database = database
        self._blobs = blobs
        self._arriving = arriving
        self._bytes_max = bytes_max

    def offer(self, sensor_id: int, files: list[OfferedFile]) -> list[Wanted]:
        """Which of the files to send: none that the sensor's group sent before, and no more than
        the room that is left to the sensor."""
        self._arriving.mkdir(mode=0o700, parents=True, exist_ok=True)
        known = stored_files.sent_by_group(
            self._database, sensor_id, [file.sha256 for file in files]
        )
        room = self._room(sensor_id)
        places = limits.COPIED_FILES_ARRIVING - sum(1 for _ in self._of_sensor(sensor_id))
        wanted: dict[str, Wanted] = {}
        for file in files:
            draft = self._draft(sensor_id, file.sha256)
            is_new = not draft.exists()
            if file.sha256 in known or file.sha256 in wanted or not file.size:
                continue
            if is_new and (places <= 0 or room < file.copied):
                continue
            if is_new:
                draft.with_suffix(".offer").write_bytes(orjson.dumps(asdict(file)))
                draft.touch(mode=0o600)
                places, room = places - 1, room - file.copied
            received = draft.stat().st_size
            if received >= file.copied:  # this process ended before it could finish the file
                os.truncate(draft, 0)
                received = 0
            wanted[file.sha256] = Wanted(file.sha256, received)
        return list(wanted.values())

    def put(self, sensor_id: int, sha256: str, offset: int, piece: bytes, now_us: int) -> int:
        """Takes the next piece; returns how many bytes are here, synced.

        Raises NotFoundError for a file that was not offered, WrongOffsetError, BadRequestError
        `hash_mismatch` when the whole is not what was offered: then nothing is kept,
        BusyError when the room was used up since the offer.
        """
        draft = self._draft(sensor_id, sha256)
        try:
            offered = OfferedFile(**orjson.loads(draft.with_suffix(".offer").read_bytes()))
        except FileNotFoundError:
            raise NotFoundError(f"file {sha256} was not asked for: offer it first") from None
        received = draft.stat().st_size
        if offset != received:
            raise WrongOffsetError(received)
        if received + len(piece) > offered.copied:
            raise BadRequestError(f"{offered.copied} bytes of this file are wanted, and no more")
        if len(piece) > self._room(sensor_id):
            raise BusyError("there is no room for more copies of programs")
        with draft.open("ab") as file:
            file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        received += len(piece)
        if received == offered.copied:
            try:
                self._finish(sensor_id, offered, draft, now_us)
            except UnavailableError:
                os.truncate(draft, offset)
                raise
        return received

    def copied(self, md5s: Collection[str], scope: Scope) -> dict[str, int]:
        """How many bytes of these files (MD5, lower case) the scope can download; without those of
        which there is no copy."""
        found: dict[str, int] = {}
        for file, senders in stored_files.copies_of(self._database, md5s):
            if _is_visible(senders, scope):
                found[file.md5] = max(found.get(file.md5, 0), file.copied)
        return found

    def open_copy(self, md5: str, scope: Scope, now_us: int) -> IO[bytes] | None:
        """The whole verified copy with this MD5, else the beginning of a large file; None where
        there is none that a sensor of the scope sent. Copies of older versions, whose sender is
        unknown, are for those who see everything. Counts as a download. Raises UnavailableError,
        also for a copy that is damaged."""
        copies = stored_files.copies_of(self._database, [md5.lower()])
        file = next((file for file, senders in copies if _is_visible(senders, scope)), None)
        if file is None:
            return None
        try:
            opened = open_verified(
                self._blobs, BlobKey("binaries", file.content_sha256 or file.sha256)
            )
        except NotFoundError:
            return None
        stored_files.note_asked(self._database, file, now_us)
        return opened

    def delete_stale(self, now_us: int) -> None:
        """Remove unfinished files that got no piece for a week."""
        before_s = now_us / 1_000_000 - limits.COPIED_FILE_STALE_S
        for path in self._arriving.glob("*") if self._arriving.exists() else ():
            if path.stat().st_mtime < before_s:
                path.unlink(missing_ok=True)

    def _finish(self, sensor_id: int, offered: OfferedFile, draft: Path, now_us: int) -> None:
        is_whole = offered.copied == offered.size
        sha256, md5 = _hashes(draft)
        if is_whole and (sha256 != offered.sha256 or offered.md5 not in ("", md5)):
            self._drop(draft)
            raise BadRequestError("the file is not what was offered", reason="hash_mismatch")
        content = BlobKey("binaries", sha256)
        with draft.open("rb") as file:
            self._blobs.put(content, pieces_of(file))
        stored_files.add(
            self._database,
            stored_files.StoredFile(
                sha256=offered.sha256,
                sensor_id=0 if is_whole else sensor_id,
                md5=md5 if is_whole else offered.md5,
                path=offered.path,
                size=offered.size,
                copied=offered.copied,
                content_sha256=content.sha256,
            ),
            sensor_id,
            now_us,
        )
        self._drop(draft)

    def _room(self, sensor_id: int) -> int:
        """Bytes that the sensor may still send: of all room, and of its own share."""
        used = stored_files.usage(self._database, sensor_id)
        arriving, own = self._arrived("*"), self._arrived(f"{sensor_id}-*")
        sensor_bytes_max = max(
            self._bytes_max // limits.SENSOR_COPIES_SHARE, 2 * limits.COPIED_FILE_BYTES_MAX
        )
        return min(self._bytes_max - used.total - arriving, sensor_bytes_max - used.of_sensor - own)

    def _arrived(self, pattern: str) -> int:
        """Bytes of unfinished files."""
        paths = self._arriving.glob(pattern)
        return sum(path.stat().st_size for path in paths if path.suffix != ".offer")

    def _of_sensor(self, sensor_id: int) -> Iterator[Path]:
        return self._arriving.glob(f"{sensor_id}-*.offer")

    def _draft(self, sensor_id: int, sha256: str) -> Path:
        return self._arriving / f"{sensor_id}-{sha256}"

    def _drop(self, draft: Path) -> None:
        draft.unlink(missing_ok=True)
        draft.with_suffix(".offer").unlink(missing_ok=True)


def _is_visible(senders: Collection[int], scope: Scope) -> bool:
    return scope.sees_all or any(map(scope.allows, senders))


def _hashes(path: Path) -> tuple[str, str]:
    """SHA-256 and MD5 of a file."""
    sha256, md5 = hashlib.sha256(), hashlib.md5(usedforsecurity=False)
    with path.open("rb") as file:
        for piece in pieces_of(file):
            sha256.update(piece)
            md5.update(piece)
    return sha256.hexdigest(), md5.hexdigest()
