"""Backups in a blob store: contents by their hash, and for each backup a list of its files.

A file that did not change since the backup before is not read again, and a content that is stored
already is not stored again. A backup exists once its list does, and the list is written last: a
backup that was interrupted leaves contents that the next one uses. Everything is verified by its
hash when it is read.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from vedette.backup.cipher import Cipher
from vedette.blobs.blob_store import BlobKey, BlobStore, open_verified, pieces_of
from vedette.errors import BadRequestError, NotFoundError
from vedette.limits import BACKUP_PIECE_BYTES

_VERSION: Final = 1


class StoredFile(msgspec.Struct, frozen=True):
    """A file of a backup. `path` is relative to the data directory."""

    path: str
    mode: int
    size: int
    changed_ns: int
    sha256: str
    """Of its content."""
    blob: str
    """Of what is stored: the same, or of the encrypted content."""


class StoredLink(msgspec.Struct, frozen=True):
    """A symbolic link of a backup."""

    path: str
    target: str


class Manifest(msgspec.Struct, frozen=True):
    """What a backup consists of."""

    version: int
    made_us: int
    server_version: str
    files: list[StoredFile]
    links: list[StoredLink]
    folders: list[str]


class _Envelope(msgspec.Struct, frozen=True):
    """The list as it is stored: plain, or encrypted with the key of its hash."""

    sha256: str
    is_encrypted: bool
    content: bytes


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup of a repository."""

    id: str
    """The name of its list: 64 hex digits; the first 12 are enough to name it."""
    made_us: int
    files: int
    size: int
    """Bytes when restored."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What was done for one file."""

    path: str
    size: int
    is_new: bool
    """Whether its content had to be stored."""


class Repository:
    """The backups in one blob store, with or without encryption."""

    def __init__(self, blobs: BlobStore, cipher: Cipher | None) -> None:
        self._blobs = blobs
        self._cipher = cipher

    def create(
        self,
        source: Path,
        made_us: int,
        server_version: str,
        note: Callable[[Progress], None],
        left_out: frozenset[str] = frozenset(),
    ) -> Backup:
        """Stores every file below `source`, which must not change meanwhile, but for those at its
        top that are `left_out`."""
        known = self._newest_files()
        files, links, folders = [], [], []
        for path in sorted(source.rglob("*")):
            name = str(path.relative_to(source))
            if name.partition("/")[0] in left_out:
                continue
            if path.is_symlink():
                links.append(StoredLink(name, str(path.readlink())))
            elif path.is_dir():
                folders.append(name)
            elif path.is_file():
                files.append(self._store(path, name, known, note))
        manifest = Manifest(_VERSION, made_us, server_version, files, links, folders)
        return self._write(manifest)

    def backups(self) -> list[Backup]:
        """Every backup, the oldest first. Raises BadRequestError without the right key."""
        found = [self._read(info.key.sha256) for info in self._blobs.blobs("backup_lists")]
        return sorted((_summary(name, one) for name, one in found), key=lambda one: one.made_us)

    def find(self, wanted: str = "") -> str:
        """The id of a backup by its beginning; the newest for "". Raises NotFoundError."""
        known = self.backups()
        if not wanted and known:
            return known[-1].id
        found = [one.id for one in known if wanted and one.id.startswith(wanted)]
        if len(found) != 1:
            raise NotFoundError(f"there is no backup {wanted!r}, or more than one")
        return found[0]

    def verify(self, backup_id: str) -> int:
        """Reads every file of a backup; how many are whole. Raises UnavailableError or
        NotFoundError for the first that is damaged or missing."""
        _, manifest = self._read(backup_id)
        for file in manifest.files:
            for _ in self._content(file):
                pass
        return len(manifest.files)

    def restore(self, backup_id: str, target: Path, note: Callable[[Progress], None]) -> Backup:
        """Writes a backup into the new directory `target`. Raises as `verify` does, and
        BadRequestError for a list that names places outside."""
        _, manifest = self._read(backup_id)
        target.mkdir(mode=0o700, parents=True)
        for folder in manifest.folders:
            _inside(target, folder).mkdir(mode=0o700, parents=True, exist_ok=True)
        for link in manifest.links:
            _inside(target, str(Path(link.path).parent / link.target))
            _inside(target, link.path).symlink_to(link.target)
        for file in manifest.files:
            path = _inside(target, file.path)
            with path.open("xb") as written:
                for piece in self._content(file):
                    written.write(piece)
            path.chmod(file.mode & 0o700)
            note(Progress(file.path, file.size, True))
        return _summary(backup_id, manifest)

    def forget(self, keep: int) -> int:
        """Removes all backups but the newest `keep`, at least one, and what only they need;
        returns how many backups. Nothing else may use the repository meanwhile."""
        old = self.backups()[: -max(1, keep)]
        for backup in old:
            self._blobs.delete(BlobKey("backup_lists", backup.id))
        needed = {
            file.blob
            for info in self._blobs.blobs("backup_lists")
            for file in self._read(info.key.sha256)[1].files
        }
        for info in list(self._blobs.blobs("backups")):
            if info.key.sha256 not in needed:
                self._blobs.delete(info.key)
        return len(old)

    def _store(
        self,
        path: Path,
        name: str,
        known: Mapping[str, StoredFile],
        note: Callable[[Progress], None],
    ) -> StoredFile:
        status = path.stat()
        before = known.get(name)
        is_same = before is not None and (before.size, before.changed_ns) == (
            status.st_size,
            status.st_mtime_ns,
        )
        if before is not None and is_same and self._has(before.blob):
            note(Progress(name, status.st_size, False))
            return before
        sha256, blob = self._hashes(path)
        is_new = not self._has(blob)
        if is_new:
            self._blobs.put(BlobKey("backups", blob), self._shown(path, sha256))
        note(Progress(name, status.st_size, is_new))
        return StoredFile(
            name, status.st_mode & 0o777, status.st_size, status.st_mtime_ns, sha256, blob
        )

    def _hashes(self, path: Path) -> tuple[str, str]:
        """Of the content, and of what is stored of it."""
        digest = hashlib.sha256()
        for piece in _read_pieces(path):
            digest.update(piece)
        sha256 = digest.hexdigest()
        if self._cipher is None:
            return sha256, sha256
        stored = hashlib.sha256()
        for piece in self._shown(path, sha256):
            stored.update(piece)
        return sha256, stored.hexdigest()

    def _shown(self, path: Path, sha256: str) -> Iterator[bytes]:
        """What is stored of a file."""
        pieces = _read_pieces(path)
        return pieces if self._cipher is None else self._cipher.encrypted(sha256, pieces)

    def _content(self, file: StoredFile) -> Iterator[bytes]:
        """The content of a file, verified; the whole was verified before the first piece."""
        digest = hashlib.sha256()
        with open_verified(self._blobs, BlobKey("backups", file.blob)) as stored:
            pieces = pieces_of(stored)
            if self._cipher is not None:
                pieces = self._cipher.decrypted(file.sha256, pieces)
            for piece in pieces:
                digest.update(piece)
                yield piece
        if digest.hexdigest() != file.sha256:
            raise BadRequestError(f"{file.path}: is not what was backed up")

    def _has(self, blob: str) -> bool:
        return self._blobs.size(BlobKey("backups", blob)) is not None

    def _newest_files(self) -> dict[str, StoredFile]:
        known = self.backups()
        if not known:
            return {}
        return {file.path: file for file in self._read(known[-1].id)[1].files}

    def _write(self, manifest: Manifest) -> Backup:
        content = msgspec.json.encode(manifest)
        sha256 = hashlib.sha256(content).hexdigest()
        if self._cipher is not None:
            content = b"".join(self._cipher.encrypted(sha256, _pieces(content)))
        stored = msgspec.msgpack.encode(_Envelope(sha256, self._cipher is not None, content))
        name = hashlib.sha256(stored).hexdigest()
        self._blobs.put(BlobKey("backup_lists", name), (stored,))
        return _summary(name, manifest)

    def _read(self, backup_id: str) -> tuple[str, Manifest]:
        try:
            with open_verified(self._blobs, BlobKey("backup_lists", backup_id)) as file:
                envelope = msgspec.msgpack.decode(file.read(), type=_Envelope)
        except (ValueError, msgspec.DecodeError):
            raise NotFoundError(f"there is no backup {backup_id[:64]!r}") from None
        content = envelope.content
        if envelope.is_encrypted != (self._cipher is not None):
            wanted = "give its key" if envelope.is_encrypted else "it is read without a key"
            raise BadRequestError(
                f"backup {backup_id[:12]} is {'' if envelope.is_encrypted else 'not '}encrypted: "
                f"{wanted}"
            )
        if self._cipher is not None:
            content = b"".join(self._cipher.decrypted(envelope.sha256, (content,)))
        manifest = msgspec.json.decode(content, type=Manifest)
        if manifest.version != _VERSION:
            raise BadRequestError(f"backup {backup_id[:12]} was made by a newer version")
        return backup_id, manifest


def _summary(name: str, manifest: Manifest) -> Backup:
    size = sum(file.size for file in manifest.files)
    return Backup(name, manifest.made_us, len(manifest.files), size)


def _inside(target: Path, name: str) -> Path:
    """A path below `target`. Raises BadRequestError for one that leads out."""
    path = Path(name)
    depth = 0
    for part in path.parts:
        depth += -1 if part == ".." else 1
        if depth < 0:
            raise BadRequestError(f"the backup names a place outside: {name[:80]!r}")
    if path.is_absolute() or not path.parts:
        raise BadRequestError(f"the backup names a place outside: {name[:80]!r}")
    return target / path


def _read_pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(BACKUP_PIECE_BYTES):
            yield piece


def _pieces(content: bytes) -> Iterator[bytes]:
    for start in range(0, len(content), BACKUP_PIECE_BYTES):
        yield content[start : start + BACKUP_PIECE_BYTES]
