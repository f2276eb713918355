"""Copies of programs that sensors send: offered, received in pieces, verified, stored.

Finished copies are blobs, named by the hash of their bytes. A whole file with verified hashes
serves all sensors. Of a file over 25 MiB only the beginning is copied, which cannot be verified
against the hash of the whole. Such a copy belongs to the sensor that sent it, so that a false
report spoils no other sensor's copy. Unfinished files are in a directory of this server, named
`SENSOR-abcdef...`, each with an `.offer` file that contains the sensor's description.

Users get a copy if they see a sensor that sent it. Naming the MD5 of another group's file, or of a
file that an operator added and did not share, does not suffice. So a group whose sensors never sent
a file is asked for it again, and each sensor may fill only a share of the space.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

import orjson

from vedette import limits
from vedette.blobs.blob_store import BlobKey, BlobStore, open_verified, pieces_of
from vedette.errors import BadRequestError, BusyError, NotFoundError, UnavailableError
from vedette.file_tree import matching
from vedette.limits import Limit
from vedette.model.scope import Scope
from vedette.respond.copies_room import Arrived, CopiesRoom
from vedette.state.db.database import Database
from vedette.state.files import binary_orders, stored_files
from vedette.state.files.binary_orders import OrderedFile
from vedette.state.files.stored_files import Added, StoredFile

COPY_STORES_MAX: Limit[int] = 3
"""Attempts to store a copy whose bytes are concurrently evicted with an older copy. One retry
suffices, unless that happens again."""

COPIES_SORTED_MAX: Limit[int] = 10_000
"""Copies that binary search can sort by `copied_mod_len`: the state database sends their sizes to
the store with the query."""

COPIED_FILES_ARRIVING: Limit[int] = 16
"""Programs that one sensor may send concurrently."""

COPIED_FILE_STALE_S: Limit[int] = 7 * 24 * 3600
"""Age (s) of the last piece after which an unfinished copy is deleted."""


@dataclass(frozen=True, slots=True)
class OfferedFile:
    """A file as described by a sensor; hashes in lower case, "" for unknown."""

    sha256: str
    md5: str
    size: int
    path: str

    @property
    def copied(self) -> int:
        """Number of bytes that are copied."""
        return min(self.size, limits.COPIED_FILE_BYTES_MAX)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A file to send, from byte `offset` on."""

    sha256: str
    offset: int


class WrongOffsetError(Exception):
    """A piece does not follow the previous ones; `received` is the expected offset."""

    def __init__(self, received: int) -> None:
        super().__init__(f"{received} bytes are stored")
        self.received = received


class BinaryCopies:
    """The copies of one server. Safe to share between threads, provided that a sensor sends the
    pieces of a file in sequence to one server."""

    def __init__(
        self, database: Database, blobs: BlobStore, arriving: Path, bytes_max: int
    ) -> None:
        """`arriving` is the directory for unfinished files; `bytes_max` limits all copies of all
        servers."""
        self._database = database
        self._blobs = blobs
        self._arriving = arriving
        self._bytes_max = bytes_max
        self._space = CopiesRoom(database, blobs, bytes_max)

    def offer(self, sensor_id: int, files: list[OfferedFile], now_us: int) -> list[Wanted]:
        """Returns the files that the sensor should send: ordered files, or all files if the group
        collects every program. Excludes files that the group has sent before, and files beyond the
        sensor's remaining room."""
        self._arriving.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not stored_files.sends_all(self._database, sensor_id):
            ordered = binary_orders.ordered_of(self._database, sensor_id, now_us)
            files = [file for file in files if not ordered.isdisjoint((file.md5, file.sha256))]
        known = stored_files.sent_by_group(
            self._database, sensor_id, [file.sha256 for file in files]
        )
        room, refused = self._room(sensor_id), list[OrderedFile]()
        places = COPIED_FILES_ARRIVING - sum(1 for _ in self._of_sensor(sensor_id))
        wanted: dict[str, Wanted] = {}
        for file in files:
            draft = self._draft(sensor_id, file.sha256)
            is_new = not draft.exists()
            if file.sha256 in known or file.sha256 in wanted or not file.size:
                continue
            if is_new and places > 0 and room < file.copied:
                self._space.make(sensor_id, file.copied, self._arrived())
                room = self._room(sensor_id)
            if is_new and (places <= 0 or room < file.copied):
                refused += [OrderedFile(file.md5, file.sha256)] if places > 0 else []
                continue
            if is_new:
                draft.with_suffix(".offer").write_bytes(orjson.dumps(asdict(file)))
                draft.touch(mode=0o600)
                places, room = places - 1, room - file.copied
            received = draft.stat().st_size
            if received >= file.copied:  # the process ended before finishing the file
                os.truncate(draft, 0)
                received = 0
            wanted[file.sha256] = Wanted(file.sha256, received)
        binary_orders.note_no_room(self._database, sensor_id, refused)
        return list(wanted.values())

    def put(self, sensor_id: int, sha256: str, offset: int, piece: bytes, now_us: int) -> int:
        """Appends the next piece and returns the number of received bytes, synced to disk.

        Raises NotFoundError for a file that was not offered, or whose group no longer sends files;
        WrongOffsetError; BadRequestError `hash_mismatch` if the whole file does not match the
        offer, which discards it; BusyError if the room was used up since the offer.
        """
        draft = self._draft(sensor_id, sha256)
        if not binary_orders.may_send(self._database, sensor_id):
            self._drop(draft)
        try:
            offered = OfferedFile(**orjson.loads(draft.with_suffix(".offer").read_bytes()))
        except FileNotFoundError:
            raise NotFoundError(f"file {sha256} was not requested; offer it first") from None
        received = draft.stat().st_size
        if offset != received:
            raise WrongOffsetError(received)
        if received + len(piece) > offered.copied:
            raise BadRequestError(f"{offered.copied} bytes of this file are accepted")
        if len(piece) > self._room(sensor_id):
            self._space.make(sensor_id, len(piece), self._arrived())
        if len(piece) > self._room(sensor_id):
            raise BusyError("no space for more copies of programs")
        with draft.open("ab") as file:
            file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        received += len(piece)
        ordered = OrderedFile(offered.md5, offered.sha256)
        binary_orders.note_received(self._database, sensor_id, ordered, received)
        if received == offered.copied:
            try:
                self._finish(sensor_id, offered, draft, now_us)
            except UnavailableError:
                os.truncate(draft, offset)
                raise
        return received

    def add(self, content: bytes, name: str, now_us: int, *, shared: bool = False) -> StoredFile:
        """Stores a file that no sensor sent. Idempotent. The file is visible to users who see
        everything; `shared` makes it visible to all who see a host that reports it (any host can
        report any hash). Raises BadRequestError for an empty file, BusyError without room,
        UnavailableError."""
        if not content:
            raise BadRequestError("the file is empty")
        key = BlobKey("binaries", hashlib.sha256(content).hexdigest())
        wanted = 0 if stored_files.is_known(self._database, key.sha256) else len(content)
        if wanted and self._space.make_for_all(wanted, self._arrived()) < wanted:
            raise BusyError("no space for more copies of programs")
        md5 = hashlib.md5(content, usedforsecurity=False).hexdigest()
        size = len(content)
        whose = Added.SHARED if shared else Added.FOR_ADMINISTRATORS
        file = StoredFile(key.sha256, 0, md5, name, size, size, key.sha256, now_us, whose)
        for _ in range(COPY_STORES_MAX):
            self._blobs.put(key, [content])
            stored_files.add_by_operator(self._database, file, now_us)
            if self._is_kept(file):
                return file
        raise BusyError("copies of this file are evicted too often")

    def copied(self, digests: Collection[str], scope: Scope) -> dict[str, int]:
        """Maps each file (MD5 or SHA-256, lower case) to the number of bytes that the scope can
        download; omits files without a copy."""
        found: dict[str, int] = {}
        for file, senders in stored_files.copies_of(self._database, digests):
            if _is_visible(file, senders, scope):
                for digest in {file.md5, file.sha256}.intersection(digests):
                    found[digest] = max(found.get(digest, 0), file.copied)
        return found

    def all_copied(self, scope: Scope) -> dict[str, int]:
        """Maps each copy, by MD5 or else SHA-256, to the number of bytes that the scope can
        download. Raises BadRequestError for more copies than `COPIES_SORTED_MAX`."""
        found: dict[str, int] = {}
        copies = stored_files.all_copies(self._database, COPIES_SORTED_MAX + 1)
        if len(copies) > COPIES_SORTED_MAX:
            most = COPIES_SORTED_MAX
            raise BadRequestError(f"sort: with more than {most:,} copies, not by copied_mod_len")
        for file, senders in copies:
            if _is_visible(file, senders, scope):
                name = file.md5 or file.sha256
                found[name] = max(found.get(name, 0), file.copied)
        return found

    def open_copy(self, digest: str, scope: Scope, now_us: int) -> IO[bytes] | None:
        """Opens the whole verified copy with this MD5 or SHA-256, else the beginning of a large
        file; None if no sensor of the scope sent a copy. Copies of older versions, whose sender is
        unknown, are visible to users who see everything. Counts as a download. Raises
        UnavailableError, also for a damaged copy."""
        for file, senders in stored_files.copies_of(self._database, [digest.lower()]):
            if not _is_visible(file, senders, scope):
                continue
            try:
                opened = open_verified(
                    self._blobs, BlobKey("binaries", file.content_sha256 or file.sha256)
                )
            except NotFoundError:  # evicted
                stored_files.forget(self._database, file)
                continue
            stored_files.note_request(self._database, file, now_us)
            return opened
        return None

    def delete_stale(self, now_us: int) -> None:
        """Deletes unfinished files without a new piece for `COPIED_FILE_STALE_S`."""
        before_s = now_us / 1_000_000 - COPIED_FILE_STALE_S
        for path in matching(self._arriving, "*"):
            if path.stat().st_mtime < before_s:
                path.unlink(missing_ok=True)

    def _finish(self, sensor_id: int, offered: OfferedFile, draft: Path, now_us: int) -> None:
        is_whole = offered.copied == offered.size
        sha256, md5 = _hashes(draft)
        if is_whole and (sha256 != offered.sha256 or offered.md5 not in ("", md5)):
            self._drop(draft)
            raise BadRequestError("the file does not match the offer", reason="hash_mismatch")
        stored = StoredFile(
            sha256=offered.sha256,
            sensor_id=0 if is_whole else sensor_id,
            md5=md5 if is_whole else offered.md5,
            path=offered.path,
            size=offered.size,
            copied=offered.copied,
            content_sha256=sha256,
        )
        for _ in range(COPY_STORES_MAX):
            with draft.open("rb") as file:
                self._blobs.put(BlobKey("binaries", sha256), pieces_of(file))
            stored_files.add(self._database, stored, sensor_id, now_us)
            if self._is_kept(stored):
                break
        self._drop(draft)

    def _is_kept(self, file: StoredFile) -> bool:
        """Whether a copy that was just stored still exists: eviction of an older copy with the same
        bytes may have deleted it concurrently."""
        key = BlobKey("binaries", file.content_sha256)
        return self._blobs.size(key) is not None and stored_files.is_noted(self._database, file)

    def _room(self, sensor_id: int) -> int:
        """Returns the bytes that the sensor may still send."""
        return self._space.left(sensor_id, self._arrived())

    def _arrived(self) -> Arrived:
        """Returns the bytes of unfinished files by sensor; tolerates files that another thread
        finishes concurrently."""
        found = Counter[int]()
        for path in matching(self._arriving, "*-*"):
            sensor_id, _, name = path.name.partition("-")
            with suppress(FileNotFoundError):
                found[int(sensor_id)] += path.stat().st_size if "." not in name else 0
        return found

    def _of_sensor(self, sensor_id: int) -> Iterator[Path]:
        return matching(self._arriving, f"{sensor_id}-*.offer")

    def _draft(self, sensor_id: int, sha256: str) -> Path:
        return self._arriving / f"{sensor_id}-{sha256}"

    def _drop(self, draft: Path) -> None:
        draft.unlink(missing_ok=True)
        draft.with_suffix(".offer").unlink(missing_ok=True)


def _is_visible(file: StoredFile, senders: Collection[int], scope: Scope) -> bool:
    """Whether the scope may download a copy. Callers ask only for records that they see, so a
    shared copy is visible to all who see a host that reports the file."""
    is_shared = file.added == Added.SHARED
    return scope.sees_all or is_shared or any(map(scope.allows, senders))


def _hashes(path: Path) -> tuple[str, str]:
    """Returns SHA-256 and MD5 of a file."""
    sha256, md5 = hashlib.sha256(), hashlib.md5(usedforsecurity=False)
    with path.open("rb") as file:
        for piece in pieces_of(file):
            sha256.update(piece)
            md5.update(piece)
    return sha256.hexdigest(), md5.hexdigest()
